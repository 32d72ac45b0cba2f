"""A timeline as a waterfall: one SVG file without scripts, fonts or links. Pure."""

from collections.abc import Iterator
from datetime import datetime
from html import escape

from mooring.timeline.show import printable, seconds_text
from mooring.timeline.steps import Step, StepState, Timeline

LABEL, BARS, NOTES = 330, 520, 130  # pixels of the three columns
ROW, TOP, BOTTOM = 26, 56, 34
LEAST = 3  # pixels of a bar, also of a moment
TICKS = 5
LONGEST_NAME = 26  # characters of an object's name

_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.dim { fill: #59636e; } .title { font-size: 15px; font-weight: 600; }
.grid { stroke: #d1d9e0; } .back { fill: #ffffff; }
.done { fill: #1f7a4d; } .running { fill: #9a6700; } .failing { fill: #cf222e; }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc; } .dim { fill: #9198a1; } .grid { stroke: #3d444d; } .back { fill: #0d1117; }
.done { fill: #3fb950; } .running { fill: #d29922; } .failing { fill: #f85149; }
}
"""
_CLASSES = {StepState.DONE: "done", StepState.ENDED: "done", StepState.FAILING: "failing"}


def waterfall(timeline: Timeline) -> str:
    """Each step a bar from its begin to its end; one without an end goes on until now."""
    width = LABEL + BARS + NOTES
    height = TOP + ROW * len(timeline.steps) + BOTTOM
    total = max(timeline.seconds, 1e-3)
    title = f"{printable(timeline.subject)}: {seconds_text(timeline.seconds)}"
    if timeline.end is None:
        title += " so far"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">',
        f"<style>{_STYLE}</style>",
        f'<rect class="back" width="{width}" height="{height}"/>',
        f'<text class="title" x="12" y="24">{escape(title)}</text>',
        *_grid(total, height),
    ]
    for number, step in enumerate(timeline.steps):
        parts += _row(step, TOP + ROW * number, timeline, total)
    return "\n".join((*parts, "</svg>\n"))


def _grid(total: float, height: int) -> Iterator[str]:
    for tick in range(TICKS + 1):
        x = LABEL + BARS * tick / TICKS
        y1, y2 = TOP - 8, height - BOTTOM
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{y1}" y2="{y2}"/>'
        text = seconds_text(total * tick / TICKS)
        yield f'<text class="dim" x="{x:.1f}" y="{height - 12}" text-anchor="middle">{text}</text>'


def _row(step: Step, y: int, timeline: Timeline, total: float) -> Iterator[str]:
    middle = y + ROW * 0.65
    name = step.object if len(step.object) <= LONGEST_NAME else step.object[:LONGEST_NAME] + "…"
    yield "<g>"
    yield f"<title>{escape(_hint(step))}</title>"
    yield f'<text x="12" y="{middle:.1f}">{escape(step.name.value)}</text>'
    yield f'<text class="dim" x="130" y="{middle:.1f}">{escape(printable(name))}</text>'
    first = step.began or step.ended
    is_before = timeline.is_before(step)
    if first is not None and timeline.start is not None and timeline.counts(step):
        x = LABEL + BARS * _share(first.at, timeline.start, total)
        last = step.ended.at if step.ended is not None else (timeline.end or timeline.now)
        end = LABEL + BARS * _share(last, timeline.start, total)
        bar = _CLASSES.get(step.state, "running")
        place = f'x="{x:.1f}" y="{y + 5}" width="{max(end - x, LEAST):.1f}" height="{ROW - 10}"'
        yield f'<rect class="{bar}" {place}/>'
    note = step.state.value
    if is_before:
        note = "before"
    elif step.state is StepState.DONE and step.seconds is not None:
        note = seconds_text(step.seconds, is_exact=step.is_exact)
    yield f'<text class="dim" x="{LABEL + BARS + 8}" y="{middle:.1f}">{escape(note)}</text>'
    yield "</g>"


def _share(at: datetime, start: datetime, total: float) -> float:
    return min(1.0, max(0.0, (at - start).total_seconds() / total))


def _hint(step: Step) -> str:
    told = f"{step.name.value} {step.object}: {step.state.value}"
    if step.tries > 1:
        told += f", {step.tries} tries"
    if step.code:
        told += f", {step.code}"
    return printable(f"{told}; {step.source}" if step.source else told)
