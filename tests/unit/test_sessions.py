"""What pages show is typed by a test, or tests/clients/sessions.py says why not; commands exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.sessions import NOT_TYPED, TYPED

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
GENERATED = ROOT / "docs" / "reference"
FENCE = re.compile(r"^\s*```(\w*)")
TITLE = re.compile(r"^#+ (.*)")
LANGUAGES = {"console", "sh", "bash", "python"}
COMMAND = re.compile(r"^ *(?:\$ )?(mooring (?!\S+ (?:is|are|at) |is ).*)")
END = re.compile(r" (?:[|;>]|&&|&$|# )")
ROW = re.compile(r"^\| (`.*?`) \|", re.MULTILINE)
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
FREE = {"why", "explain", "install-service"}  # they parse their words themselves
FLAGS = {
    name: frozenset(flag for row in ROW.findall(body) for flag in FLAG.findall(row))
    for name, body in re.findall(
        r"^## mooring (.*?)\n(.*?)(?=^## |\Z)",
        (GENERATED / "commands.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
}


def sections_with_sessions(page: Path) -> Iterator[str]:
    title, inside = "", False
    for line in page.read_text(encoding="utf-8").splitlines():
        if fence := FENCE.match(line):
            if not inside and fence[1] in LANGUAGES:
                yield f"{page.relative_to(ROOT)}#{title}"
            inside = not inside
        elif not inside and (heading := TITLE.match(line)):
            title = heading[1]


def test_every_session_is_typed_or_it_is_said_why_not() -> None:
    shown = {section for page in PAGES for section in sections_with_sessions(page)}
    assert shown - TYPED.keys() - NOT_TYPED.keys() == set()
    assert (TYPED.keys() | NOT_TYPED.keys()) - shown == set()
    assert TYPED.keys() & NOT_TYPED.keys() == set()


@pytest.mark.parametrize("section", TYPED)
def test_the_test_that_types_it_reads_its_page(section: str) -> None:
    page, _, title = section.partition("#")
    test = (ROOT / TYPED[section]).read_text(encoding="utf-8")
    assert Path(page).name in test
    whole_page = f'typed_in("{Path(page).name}")' in test or "code_in" in test
    assert whole_page or f'"{title}"' in test


def shown_commands(page: Path) -> Iterator[str]:
    """Lines that are a command of `mooring`, with those that go on after a backslash."""
    text = re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8"))
    inside = False
    for line in text.splitlines():
        if FENCE.match(line):
            inside = not inside
        elif (inside or line.startswith("    ")) and (found := COMMAND.match(line)):
            yield END.split(found[1])[0]


SHOWN = [
    pytest.param(command, id=f"{page.relative_to(ROOT)}: {command}")
    for page in PAGES
    if GENERATED not in page.parents
    for command in shown_commands(page)
]


@pytest.mark.parametrize("command", SHOWN)
def test_a_command_that_is_shown_exists_with_its_flags(command: str) -> None:
    assert unknown_in(command) == []


def unknown_in(command: str) -> list[str]:
    """Of its words, as docs/reference/commands.md has them, which a test keeps true."""
    _, *words = shlex.split(command)
    name = next((name for name in FLAGS if words[: len(name.split())] == name.split()), None)
    if name is None:
        return words[:1]
    if name in FREE:
        return []
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    own = options[: options.index("--")] if "--" in options else options
    return [option for option in own if option not in FLAGS[name]]


@pytest.mark.parametrize("command", ["mooring mend", "mooring up --quickly", "mooring csi ask"])
def test_a_command_that_does_not_exist_is_found(command: str) -> None:
    assert unknown_in(command)
