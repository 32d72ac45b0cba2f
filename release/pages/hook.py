"""What MkDocs calls: adds the changelog, and files of the repository that pages link to.

Pages are written to be read in the repository too, where `../examples/...` is a neighbour. On the
site such files are below the root.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from mooring import __version__
from release.pages import changelog

ROOT = Path(__file__).parents[2]
SHIPPED = ("examples", "deploy")
_OUTSIDE = re.compile(r"\]\((?P<up>(?:\.\./)+)(?P<path>(?:examples|deploy)/[^)#]*)")


def on_files(files: Files, *, config: Any) -> Files:
    files.append(File.generated(config, "changelog.md", content=_changes()))
    files.append(File.generated(config, "decisions/index.md", content=decisions()))
    for folder in SHIPPED:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                name = str(file.relative_to(ROOT))
                files.append(File.generated(config, _asset(name), abs_src_path=str(file)))
    return files


def _changes() -> str:
    """Notes are written to be read from the root of the repository."""
    return changelog.text(__version__).replace("](docs/", "](")


def decisions() -> str:
    """The table of them, by their titles."""
    lines = ["# Decisions", "", "Choices that a reader would question, and what was weighed.", ""]
    for file in sorted((ROOT / "docs/decisions").glob("0*.md")):
        title = file.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        lines.append(f"- [{file.name[:4]}: {title}]({file.name})")
    return "\n".join(lines)


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    deep = page.file.src_uri.count("/")

    def inside(found: re.Match[str]) -> str:
        if found["up"].count("../") != deep + 1:
            return found[0]
        path = _asset(found["path"])
        return f"]({'../' * deep}{path}"

    return _OUTSIDE.sub(inside, markdown).replace("](decisions/)", "](decisions/index.md)")


def _asset(path: str) -> str:
    """A Markdown file among the examples is shown as it is, not made a page of."""
    return f"{path}.txt" if path.endswith(".md") else path
