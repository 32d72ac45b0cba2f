"""Guides of `docs`, typed command by command."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tests.clients.kubectl import Kubectl

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Typed(msgspec.Struct, frozen=True):
    line: str
    shown: tuple[str, ...]  # how lines of the answer begin; none: whatever it says


def code_in(guide: str, language: str, section: str = "") -> Iterator[str]:
    """Its blocks, or those of a section, whatever the level of its title."""
    text = (ROOT / "docs" / guide).read_text(encoding="utf-8")
    if section:
        (text,) = re.findall(rf"^##+ {section}\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    for found, block in _BLOCK.findall(text):
        if found == language:
            yield block


def typed_in(guide: str, section: str = "") -> Iterator[Typed]:
    """Lines that begin with `> ` go on with the command before them."""
    for block in code_in(guide, "console", section):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *others = step.splitlines()
            further = [line.removeprefix("> ") for line in others if line.startswith("> ")]
            shown = tuple(line for line in others if line and not line.startswith("> "))
            yield Typed("\n".join((first, *further)), shown)


def type_steps(steps: Iterable[Typed], kubectl: Kubectl, place: Path = ROOT) -> None:
    """Every command ends well, and says what the guide shows."""
    for step in steps:
        ran = kubectl.shell(step.line, place)
        said = f"{step.line}\n{ran.out}{ran.err}"
        assert ran.code == 0, said
        lines = ran.out.splitlines()
        for shown in step.shown:
            assert any(line.startswith(shown) for line in lines), f"no {shown!r} in: {said}"
