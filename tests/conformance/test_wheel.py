"""The wheel, in an environment that has nothing else, under every CPython that is here."""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mooring import __version__
from release import distributions

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("x86_64", "aarch64")


def ran(command: Sequence[str | Path], **environment: str) -> str:
    done = subprocess.run(  # noqa: S603  commands of this file
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "CC": "/bin/false", "CXX": "/bin/false", **environment},
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return distributions.build(ROOT, tmp_path_factory.mktemp("dist"), epoch=1_700_000_000)


def find_python(version: str) -> Path | None:
    """On PATH, or of pyenv, or of uv."""
    home = Path.home()
    places = [Path(found)] if (found := shutil.which(f"python{version}")) else []
    places += home.glob(f".pyenv/versions/{version}.*/bin/python{version}")
    places += home.glob(f".local/share/uv/python/cpython-{version}.*/bin/python{version}")
    for place in places:
        asked = subprocess.run([place, "--version"], capture_output=True, check=False)  # noqa: S603
        if asked.returncode == 0:  # a shim of pyenv is there, and may lead nowhere
            return place
    return None


@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_serves_an_api_in_an_empty_environment(
    version: str, wheel: Path, tmp_path: Path
) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here: uv python install {version}")
    ran([python, "-m", "venv", tmp_path / "venv"])
    home = tmp_path / "venv/bin"
    ran([home / "pip", "install", "--quiet", "--only-binary=:all:", wheel])
    said = ran([home / "mooring", "version"])
    assert said.startswith(f"mooring {__version__} ")
    assert f"Python {version}." in said
    script = "import mooring.stack.up, mooring.sidecars.role, mooring.driver, mooring.node.role"
    ran([home / "python", "-W", "error", "-c", script])
    running = subprocess.Popen(  # noqa: S603  a command of this file
        [home / "mooring", "up", "--no-node", "--data-dir", tmp_path / "data", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout is not None
        first = running.stdout.readline()
        assert re.match(r"mooring is ready at https://127\.0\.0\.1:\d+ ", first), first
    finally:
        running.terminate()
        running.wait()
        assert running.stdout is not None
        running.stdout.close()


@pytest.mark.parametrize("machine", PLATFORMS)
@pytest.mark.parametrize("version", PYTHONS)
def test_every_dependency_has_a_wheel_for_the_machine(
    version: str, machine: str, wheel: Path, tmp_path: Path
) -> None:
    """pip judges `python_version < '3.14'` by the Python that runs it, so that one is asked."""
    python = find_python(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here: uv python install {version}")
    ran([python, "-m", "venv", tmp_path / "venv"])
    platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in (34, 28, 17)]
    pip = str(tmp_path / "venv/bin/pip")
    wanted = ("download", "--quiet", "--only-binary=:all:", f"--dest={tmp_path / 'wheels'}")
    ran([pip, *wanted, *platforms, wheel])


def test_the_wheel_is_the_same_when_it_is_built_again(wheel: Path, tmp_path: Path) -> None:
    again = distributions.build(ROOT, tmp_path, epoch=1_700_000_000)
    assert again.read_bytes() == wheel.read_bytes()
    assert again.name.endswith("-py3-none-any.whl")


def test_the_source_distribution_installs_too(tmp_path: Path) -> None:
    distributions.build(ROOT, tmp_path, epoch=1_700_000_000)
    (source,) = tmp_path.glob("*.tar.gz")
    ran([sys.executable, "-m", "venv", tmp_path / "venv"])
    ran([tmp_path / "venv/bin/pip", "install", "--quiet", source])
    assert __version__ in ran([tmp_path / "venv/bin/mooring", "version"])
