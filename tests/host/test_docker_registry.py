"""`mooring image pull`, from Debian's docker-registry, as a person runs it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from mooring.cli import app
from mooring.errors import MooringError
from tests.fakes.image_archives import a_directory, a_file, a_tar, oci_files
from tests.host.docker_registry import PASSWORD, DockerRegistry, docker_registry

BASE = a_tar(a_directory("etc/"), a_file("etc/name", "base"), a_file("etc/long", "x" * 300_000))
TOP = a_tar(a_file("etc/name", "top"))


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerRegistry]:
    if os.geteuid() != 0:
        pytest.skip("only root may unpack images")
    with docker_registry(tmp_path_factory.mktemp("registry")) as made:
        yield made


def mooring(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["image", *map(str, arguments)])


def refusal(*arguments: str | Path) -> str:
    """What is written on standard error."""
    result = mooring(*arguments)
    assert isinstance(result.exception, MooringError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def test_pulled_by_tag_and_digest_listed_and_removed(
    registry: DockerRegistry, tmp_path: Path
) -> None:
    found = registry.push("team/tool", "v1", oci_files([BASE, TOP]))
    creds, place = tmp_path / "config.json", ("--root-dir", tmp_path / "node")
    creds.write_text(registry.docker_config)
    (tmp_path / "node").mkdir()  # else it is said that it is made
    name = f"{registry.host}/team/tool"
    for one in (f"{name}:v1", f"{name}@{found}", f"{name}:v1"):
        pulled = mooring("pull", one, "--creds", creds, *place)
        assert pulled.exit_code == 0, pulled.exception
        assert pulled.output.startswith(f"pulled {one} ("), pulled.output
    listed = mooring("ls", *place).output.splitlines()[1:]
    assert [line.split()[0] for line in listed] == [f"{name}:v1", f"{name}@{found}"]
    assert all(line.endswith(" pulled") for line in listed), listed
    assert list((tmp_path / "node/images/pulls").iterdir()) == []
    layers = sorted((tmp_path / "node/images/layers").glob("*/etc/name"))
    assert sorted(path.read_text() for path in layers) == ["base", "top"]
    mooring("rm", f"{name}:v1", *place)
    mooring("rm", f"{name}@{found}", *place)
    assert list((tmp_path / "node/images/layers").iterdir()) == []


def test_without_credentials_and_without_such_an_image(
    registry: DockerRegistry, tmp_path: Path
) -> None:
    creds, place = tmp_path / "config.json", ("--root-dir", tmp_path / "node")
    creds.write_text(registry.docker_config)
    name = f"{registry.host}/none:v1"
    refused = refusal("pull", name, *place)
    assert refused.startswith(
        f"cannot pull {name}: pull access denied for {registry.host}/none without credentials"
    ), refused
    refused = refusal("pull", name, "--creds", creds, *place)
    assert refused.endswith("/none: not found: manifest unknown"), refused
    creds.write_text("no JSON, but " + PASSWORD)
    refused = refusal("pull", name, "--creds", creds, *place)
    assert "cannot be used: it is no JSON" in refused, refused
    assert PASSWORD not in refused
