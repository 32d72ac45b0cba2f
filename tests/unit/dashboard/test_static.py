"""The files of the page: nothing inline, nothing from elsewhere, no HTML out of texts."""

import re
from pathlib import Path

import pytest

from mooring.dashboard.assets import load_assets

STATIC = Path(__file__).parents[3] / "src" / "mooring" / "dashboard" / "static"
SCRIPTS = sorted(STATIC.glob("*.js"))
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|"
    r"createContextualFragment|DOMParser|javascript:|https?://(?!www\.w3\.org/2000/svg)"
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_makes_no_html_and_asks_nobody_else(script: Path) -> None:
    assert FORBIDDEN.findall(script.read_text()) == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_what_a_script_imports_is_served(script: Path) -> None:
    served = load_assets()
    for name in re.findall(r'from "\./([\w.]+)"', script.read_text()):
        assert f"/ui/{name}" in served


def test_the_page_has_nothing_inline_and_nothing_from_elsewhere() -> None:
    page = (STATIC / "index.html").read_text()
    assert re.findall(r"<script[^>]*>[^<]", page) == []
    assert re.findall(r"\son\w+=|\sstyle=|<style", page) == []
    served = load_assets()
    for url in re.findall(r'(?:src|href)="([^"#]+)"', page):
        assert url in served


def test_every_file_is_served() -> None:
    assert {f"/ui/{file.name}" for file in STATIC.iterdir()} <= load_assets().keys()
