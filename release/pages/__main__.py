"""`python -m release.pages`: write docs/reference."""

from pathlib import Path

from release.pages import commands, kinds

REFERENCE = Path(__file__).parents[2] / "docs/reference"


def texts() -> dict[str, str]:
    """By file name."""
    return {"commands.md": commands.text(), **kinds.texts()}


def main() -> None:
    REFERENCE.mkdir(exist_ok=True)
    for name, text in texts().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
