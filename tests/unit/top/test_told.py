"""Rows as text, JSON and bars."""

import io
import json

import pytest
from rich.console import Console

from mooring.top.live import screen
from mooring.top.rows import Row, Subject
from mooring.top.told import size, table, to_json, unseen_lines

ROWS = (
    Row(
        "data",
        "team",
        nodes=("n1",),
        pods=("team/db", "team/db2"),
        used_bytes=96 << 20,
        capacity_bytes=100 << 20,
        inodes_used=1,
        inodes=10,
    ),
    Row("\x1b[2Jodd [red]x", "team", nodes=(), pods=()),
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0B"),
        (1023, "1023B"),
        (1536, "1.5Ki"),
        (1 << 30, "1Gi"),
        (None, "-"),
        (1 << 70, "1024Ei"),
    ],
)
def test_sizes(value: int | None, text: str) -> None:
    assert size(value) == text


def test_a_table_has_titles_and_no_escape_sequences() -> None:
    lines = table(Subject.PVC, ROWS)
    titles = ["NAMESPACE", "CLAIM", "USED", "SIZE", "USE%", "INODES%", "NODE", "PODS"]
    assert lines[0].split() == titles
    assert lines[1].split() == ["team", "data", "96Mi", "100Mi", "96%", "10%", "n1", "db", "+1"]
    assert "\x1b" not in lines[2]
    assert "?[2Jodd" in lines[2]


@pytest.mark.parametrize("subject", Subject)
def test_every_subject_has_a_table(subject: Subject) -> None:
    assert len(table(subject, ROWS)) == 3


def test_json_has_a_schema_and_every_field() -> None:
    told = json.loads(to_json(Subject.PVC, ROWS, {"n2": "gone"}))
    assert told["schema"] == "mooring.top/v1"
    assert told["items"][0]["usedBytes"] == 96 << 20
    assert told["items"][1]["usedBytes"] is None
    assert told["unseen"] == [{"node": "n2", "why": "gone"}]


def test_bars_show_the_fullest_and_no_markup_of_the_cluster() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=120, color_system="standard")
    console.print(screen(Subject.PVC, ROWS, {"n2": "gone"}, 5, "now"))
    text = out.getvalue()
    assert "█" in text
    assert "96%" in text
    assert "[red]x" in text
    assert "\x1b[2J" not in text
    assert "2 of 2" in text
    assert "node n2: gone" in text


@pytest.mark.parametrize("subject", Subject)
@pytest.mark.parametrize("text", ["x\x1b]0;t\x07", "x\r\n\x9b2J", "\u202egnp.exe", "\u2066x\x00"])
def test_whatever_things_are_called_no_escape_reaches_a_terminal(
    subject: Subject, text: str
) -> None:
    rows = (Row(text, text, nodes=(text,), pods=(f"{text}/{text}", text)),)
    unseen = {text: text}
    out = io.StringIO()
    Console(file=out, width=200).print(screen(subject, rows, unseen, 5, "now"))
    shown = [*table(subject, rows), *unseen_lines(unseen), *out.getvalue().splitlines()]
    assert all(line.isprintable() for line in shown), shown


def test_what_a_node_says_cannot_move_the_cursor() -> None:
    assert unseen_lines({"n\n1": "a\x1b[2Jb"}) == ["node n?1: a?[2Jb"]
