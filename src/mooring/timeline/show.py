"""A timeline as rows of a table, and as JSON. Pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from mooring.timeline.moments import Moment
from mooring.timeline.steps import Step, Timeline

HEAD = ("STEP", "OBJECT", "STATE", "AT", "SINCE START", "TOOK", "SOURCE")


def rows(timeline: Timeline) -> list[Sequence[str]]:
    """The head, then one row for each step."""
    return [HEAD, *(_row(step, timeline) for step in timeline.steps)]


def lines(timeline: Timeline) -> list[str]:
    """For a terminal: the rows in columns, then how long it took."""
    table = [[printable(cell) for cell in cells] for cells in rows(timeline)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    padded = (
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        for cells in table
    )
    so_far = "" if timeline.end is not None else " so far"
    return [*padded, f"{printable(timeline.subject)}: {seconds_text(timeline.seconds)}{so_far}"]


def printable(text: str) -> str:
    """Without what could move a terminal's cursor, turn text round, or is nothing that XML has."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def seconds_text(seconds: float, *, is_exact: bool = True) -> str:
    """With a tilde where only whole seconds are known."""
    if not is_exact:
        return f"~{seconds:.0f}s"
    return f"{seconds * 1000:.0f}ms" if seconds < 1 else f"{seconds:.2f}s"


def document(timeline: Timeline) -> dict[str, Any]:
    """A stable schema: docs/timeline.md describes it."""
    return {
        "object": timeline.subject,
        "uid": timeline.uid,
        "start": _time(timeline.start),
        "end": _time(timeline.end),
        "seconds": round(timeline.seconds, 6),
        "steps": [
            {
                **_step(step),
                "before": timeline.is_before(step),
                "counts": timeline.counts(step),
            }
            for step in timeline.steps
        ],
        "unseen": list(timeline.unseen),
    }


def _row(step: Step, timeline: Timeline) -> tuple[str, ...]:
    at, start = step.ended or step.began, timeline.start
    when = offset = "-"
    if at is not None and start is not None:
        when = at.at.strftime("%H:%M:%S.%f")[:-3] if at.is_exact else at.at.strftime("%H:%M:%S")
        if at.at.date() != start.date():
            when = f"{at.at.date()} {when}"
        offset = seconds_text((at.at - start).total_seconds(), is_exact=at.is_exact)
        if timeline.is_before(step):
            offset = "before"
    took = "-"
    if step.seconds is not None and step.began != step.ended:
        took = seconds_text(step.seconds, is_exact=step.is_exact)
    state = step.state.value
    if step.code:
        state = f"{state} ({step.code})"
    if step.tries > 1:
        took = f"{took} in {step.tries} tries"
    return (step.name.value, step.object, state, when, offset, took, step.source or "-")


def _step(step: Step) -> dict[str, Any]:
    seconds = step.seconds
    return {
        "step": step.name.value,
        "object": step.object,
        "state": step.state.value,
        "began": _moment(step.began),
        "ended": _moment(step.ended),
        "seconds": None if seconds is None else round(seconds, 6),
        "tries": step.tries,
        "code": step.code,
    }


def _moment(moment: Moment | None) -> dict[str, Any] | None:
    if moment is None:
        return None
    return {"at": _time(moment.at), "exact": moment.is_exact, "source": moment.source}


def _time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")
