"""SHA256SUMS, as `sha256sum --check` reads it."""

import hashlib
from pathlib import Path

NAME = "SHA256SUMS"


def write(dist: Path) -> None:
    """Of every file in `dist`."""
    files = sorted(file for file in dist.iterdir() if file.name != NAME)
    lines = [f"{_digest(file)}  {file.name}\n" for file in files]
    (dist / NAME).write_text("".join(lines), encoding="utf-8")


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
