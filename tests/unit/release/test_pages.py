"""Pages written from the sources are not stale, and links between pages lead somewhere."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.pages import changelog
from release.pages.__main__ import REFERENCE, texts

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
BY_THE_BUILD = {"changelog.md", "decisions/index.md"}
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
IDENTIFIER = re.compile(r'<a id="([^"]+)">')


def test_generated_pages_are_those_of_the_sources() -> None:
    written = {file.name: file.read_text(encoding="utf-8") for file in REFERENCE.glob("*.md")}
    assert written == texts(), "run `make docs-generated`"


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def slug(title: str) -> str:
    plain = re.sub(r"<[^>]*>|`|\[([^\]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


@cache
def anchors(page: Path) -> frozenset[str]:
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return frozenset({*map(slug, HEADING.findall(prose)), *IDENTIFIER.findall(text)})


def broken(page: Path, text: str) -> Iterator[str]:
    for target in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        if not (found.exists() and leads(found, anchor)):
            yield target


def leads(page: Path, anchor: str) -> bool:
    return not anchor or page.suffix != ".md" or anchor in anchors(page)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert list(broken(page, page.read_text(encoding="utf-8"))) == []


def test_a_broken_link_is_found() -> None:
    text = "[a](nowhere.md) [b](faq.md) [c](faq.md#nothing) `[d](code.md)` [e](https://x.example)"
    assert list(broken(DOCS / "index.md", text)) == ["nowhere.md", "faq.md#nothing"]


def test_every_page_of_the_navigation_is_there() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    missing = [page for page in _leaves(nav) if not (DOCS / page).exists()]
    assert set(missing) == BY_THE_BUILD


def _leaves(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for one in nav.values() if isinstance(nav, dict) else nav:
            yield from _leaves(one)


def test_notes_become_a_changelog_by_kind(tmp_path: Path) -> None:
    (tmp_path / "b.added.md").write_text("A thing.\n")
    (tmp_path / "a.added.md").write_text("Another,\non two lines.\n")
    (tmp_path / "c.fixed.md").write_text("A bug.\n")
    assert changelog.text("1.0", tmp_path) == (
        "# Changelog\n\n## 1.0\n\n### Added\n\n- Another, on two lines.\n- A thing.\n"
        "\n### Fixed\n\n- A bug.\n"
    )


def test_a_note_that_does_not_say_its_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("A thing.\n")
    with pytest.raises(ValueError, match=r"b\.md: call it"):
        changelog.text("1.0", tmp_path)


def test_every_note_of_the_repository_says_its_kind() -> None:
    assert changelog.text("1.0").count("\n- ") == len(list(changelog.CHANGES.glob("*.md")))
