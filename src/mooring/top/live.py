"""Rows with bars, drawn again and again in a terminal."""

from collections.abc import Mapping, Sequence

from rich.bar import Bar
from rich.console import Group
from rich.table import Table
from rich.text import Text

from mooring.top.rows import Row, Subject
from mooring.top.told import COLUMNS, FIGURES, PLACE, figures, names, place, unseen_lines

BAR = 20  # characters
WARM, HOT = 0.75, 0.9  # of the capacity


def screen(
    subject: Subject, rows: Sequence[Row], unseen: Mapping[str, str], most: int, when: str
) -> Group:
    """As many rows as `most`, the fullest ones, and a line that says how many there are."""
    columns = (*COLUMNS[subject], *FIGURES, *PLACE[subject])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns[: len(COLUMNS[subject])]:
        table.add_column(column.title, justify="right" if column.is_number else "left")
    table.add_column("", width=BAR)
    for column in columns[len(COLUMNS[subject]) :]:
        table.add_column(column.title, justify="right" if column.is_number else "left")
    for row in rows[:most]:
        # Text, not str: nothing in the cluster's texts is markup.
        before = map(Text, names(subject, row))
        after = map(Text, (*figures(row), *place(subject, row)))
        table.add_row(*before, _bar(row), *after)
    shown = min(len(rows), most)
    foot = Text(f"{shown} of {len(rows)}, the fullest first; {when}. Ctrl-C ends it.", style="dim")
    troubles = [Text(line, style="yellow") for line in unseen_lines(unseen)]
    return Group(table, *troubles, foot)


def _bar(row: Row) -> Bar | Text:
    share = row.share
    if share is None:
        return Text("not measured", style="dim")
    colour = "red" if share >= HOT else "yellow" if share >= WARM else "green"
    return Bar(size=1.0, begin=0.0, end=share, width=BAR, color=colour, bgcolor="bright_black")
