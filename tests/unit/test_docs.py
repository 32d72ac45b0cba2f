"""Every path that the guides name is there."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "mooring"
GUIDES = ("docs/contributing.md", "docs/architecture.md")

BASES = (SOURCES, ROOT)
NAMED = re.compile(r"`([^`\s]+)`")
FILE = re.compile(r"\.(py|md|schema|proto|toml)$")
FIRST = re.compile(r"[\w-]+|\.\w+")  # `kubernetes.io/csi` is no path
OF_API = {"pods/exec"}
MADE = {".cache", "dist"}  # by make: a fresh clone has neither


def paths_in(section: str) -> Iterator[str]:
    """What looks like a path; `<kind>` in it stands for any name."""
    for token in NAMED.findall(section):
        first, slash, _ = token.partition("/")
        is_path = FILE.search(token) or (slash and FIRST.fullmatch(first))
        if is_path and token not in OF_API and first not in MADE:
            yield token


def is_there(path: str, folders: set[PurePosixPath]) -> bool:
    """Below the sources or the repository, or in a folder that was named before."""
    pattern = re.sub(r"<\w+>", "*", path).rstrip("/")
    return any(
        any(base.glob(str(folder / pattern)))
        for base in BASES
        for folder in ({PurePosixPath()} | folders)
    )


def missing(text: str) -> Iterator[str]:
    for section in re.split(r"^##+ ", text, flags=re.MULTILINE):
        folders: set[PurePosixPath] = set()
        for path in paths_in(section):
            if is_there(path, folders):
                named = PurePosixPath(path)
                folders |= {named.parent, named} if "/" in path else set()
            else:
                yield path


@pytest.mark.parametrize("guide", GUIDES)
def test_every_path_is_there(guide: str) -> None:
    assert list(missing((ROOT / guide).read_text(encoding="utf-8"))) == []


def test_a_path_that_is_gone_is_found() -> None:
    named = "`dist/`, `node/role.py`, `root.py`, `kubernetes.io/csi`"
    text = f"## A\n{named}\n## B\n`root.py` `stack/alone.py`"
    assert list(missing(text)) == ["root.py", "stack/alone.py"]


BY_NAME = re.compile(
    r"pipx? install (?:-\S+ )*['\"]?mooring(?![\w-])"
)  # on indexes: another program


def test_nobody_is_told_to_install_mooring_by_its_name() -> None:
    places = (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *SOURCES.rglob("*.py"))
    examples = (ROOT / "examples").rglob("*.py")
    told = [place for place in (*places, *examples) if BY_NAME.search(place.read_text("utf-8"))]
    assert told == []


@pytest.mark.parametrize(
    "line", ["pip install mooring", "pip install --upgrade mooring", "pipx install 'mooring[otel]'"]
)
def test_an_installation_by_name_is_found(line: str) -> None:
    assert BY_NAME.search(line)
    assert not BY_NAME.search("pip install ./mooring-0.1.0-py3-none-any.whl")
