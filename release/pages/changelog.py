"""The changelog: one sentence for each file of `changes/`, by what kind of change it is."""

from pathlib import Path

CHANGES = Path(__file__).parents[2] / "changes"
KINDS = ("added", "changed", "fixed", "removed")


def text(version: str, changes: Path = CHANGES) -> str:
    """Raises: ValueError for a file whose name does not say what kind of change it is."""
    by_kind: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for file in sorted(changes.glob("*.md")):
        kind = file.stem.rpartition(".")[2]
        if kind not in by_kind:
            raise ValueError(f"{file.name}: call it <what>.<{'|'.join(KINDS)}>.md")
        by_kind[kind].append(" ".join(file.read_text(encoding="utf-8").split()))
    sections = (
        f"\n### {kind.capitalize()}\n\n" + "".join(f"- {note}\n" for note in notes)
        for kind, notes in by_kind.items()
        if notes
    )
    return f"# Changelog\n\n## {version}\n" + "".join(sections)
