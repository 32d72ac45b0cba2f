"""`mooring image`: tables, and refusals in one line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from mooring.cli import app
from mooring.errors import MooringError, UsageError
from mooring.node.home import Homes
from mooring.oci.contract import ImageConfig
from mooring.oci.index import Image, Index, StoredLayer, write
from mooring.oci.refused import ImageRefused

ONE, TWO = (f"sha256:{digit * 64}" for digit in "12")
TOP, BASE = "a" * 64, "b" * 64


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with two images, one of them without a name."""
    images = tmp_path / "node" / "images"
    images.mkdir(parents=True)
    index = Index(
        layers={TOP: StoredLayer(4_260_000), BASE: StoredLayer(1_200)},
        images={ONE: Image((TOP, BASE), ImageConfig()), TWO: Image((BASE,), ImageConfig())},
        names={"docker.io/library/busybox:latest": ONE, "quay.io/x:1": ONE},
        pulled=("quay.io/x:1",),
    )
    write(images / "images.json", index, images / "draft")
    return tmp_path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["image", *map(str, arguments)])


@pytest.mark.parametrize("flag", ["--data-dir", "--root-dir"])
def test_a_table(data: Path, flag: str) -> None:
    result = run("ls", flag, data if flag == "--data-dir" else data / "node")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "NAME                               ID             LAYERS   SIZE     SOURCE",
        "<none, in use>                     222222222222   1        1.2kB",
        "docker.io/library/busybox:latest   111111111111   2        4.26MB   imported",
        "quay.io/x:1                        111111111111   2        4.26MB   pulled",
    ]


def test_nothing_imported_yet_is_no_error(tmp_path: Path) -> None:
    result = run("ls", "--data-dir", tmp_path / "none")
    assert result.output == "NAME   ID   LAYERS   SIZE   SOURCE\n"
    assert not (tmp_path / "none").exists()


def refused(result: Result, error: type[MooringError]) -> str:
    assert isinstance(result.exception, error)
    assert "\n" not in str(result.exception)
    return str(result.exception)


def test_both_directories(tmp_path: Path) -> None:
    result = run("ls", "--data-dir", tmp_path, "--root-dir", tmp_path)
    assert "give one of them" in refused(result, UsageError)


def test_no_such_image(data: Path) -> None:
    told = refused(run("rm", "none", "--data-dir", data), ImageRefused)
    assert told.startswith("cannot remove none: there is no such image; `mooring image ls`")


def test_removed(data: Path) -> None:
    result = run("rm", "busybox", "--data-dir", data)
    assert result.output == "removed docker.io/library/busybox:latest\n"
    assert "busybox" not in run("ls", "--data-dir", data).output


def test_removed_by_id(data: Path) -> None:
    assert run("rm", "1" * 12, "--data-dir", data).output.splitlines() == [
        "removed docker.io/library/busybox:latest",
        "removed quay.io/x:1",
    ]
    # Without a name, and no longer in use, the other one has gone along.
    assert run("ls", "--data-dir", data).output.count("\n") == 1


def test_removed_one_that_has_no_name(data: Path) -> None:
    assert run("rm", "2" * 12, "--data-dir", data).output == f"removed {'2' * 12}\n"


def test_not_as_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    result = run("import", "x", tmp_path, "--data-dir", tmp_path / "data")
    assert "needs root" in refused(result, ImageRefused)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(("flag", "called"), [("--data-dir", "data"), ("--root-dir", "root")])
def test_a_directory_that_was_not_there_is_made_and_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str, called: str
) -> None:
    monkeypatch.setattr("mooring.node.home.usual_homes", lambda: Homes(tmp_path / "homes"))
    files, typed = tmp_path / "files", tmp_path / "typo"
    files.mkdir()
    first = run("import", "x", files, flag, typed)
    said = f"mooring: {typed} was not there: a new {called} directory is made"
    assert [line for line in first.output.splitlines() if "mooring:" in line] == [said]
    assert typed.is_dir()
    assert "was not there" not in run("import", "x", files, flag, typed).output


def test_a_damaged_list_names_the_remedy(data: Path) -> None:
    (data / "node" / "images" / "images.json").write_text("{")
    told = refused(run("ls", "--data-dir", data), ImageRefused)
    assert "move it away and import all images again" in told
