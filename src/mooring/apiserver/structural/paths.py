"""The way to a value while a document is walked, spelled out only when there is something to say.

A path spelled at every step would cost the length of its keys for each value below them.
"""

from collections.abc import Iterable

Path = tuple["Path", str] | None
"""Steps, the last one first: `spec`, `.ports`, `[0]`. None: the root."""

MOST_SPELLED = 4_096  # characters, about


def spell(path: Path) -> str:
    """`spec.ports[0]`; a long one is cut."""
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(step)
    return _cut(reversed(steps))


def _cut(steps: Iterable[str]) -> str:
    text = ""
    for step in steps:
        text += step[: MOST_SPELLED + 1]
        if len(text) > MOST_SPELLED:
            return text[:MOST_SPELLED] + "..."
    return text
