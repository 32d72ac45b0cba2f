"""How the block ranges of a snapshot are printed."""

import json

import pytest

from mooring.cli.snapshot import _Json, _Table
from mooring.csi.snapshot_metadata import BlockRange
from mooring.stack.changed_blocks import Found, Wish

WISH = Wish("default", "tuesday", "monday")


@pytest.mark.parametrize("printer", [_Table, _Json])
def test_a_refusal_leaves_no_half_document(
    printer: type[_Table | _Json], capsys: pytest.CaptureFixture[str]
) -> None:
    printer(WISH)
    assert capsys.readouterr().out == ""


def test_a_table_has_one_head_and_a_sum(capsys: pytest.CaptureFixture[str]) -> None:
    table = _Table(WISH)
    for offset in (0, 8192):
        table.take(Found(65536, (BlockRange(offset, 4096),)))
    table.end()
    told = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert told[:3] == [["OFFSET", "SIZE"], ["0", "4096"], ["8192", "4096"]]
    assert " ".join(told[3]) == "8192 of 65536 bytes changed since monday, in 2 ranges"


@pytest.mark.parametrize("messages", [0, 1, 2])
def test_json_is_one_document(messages: int, capsys: pytest.CaptureFixture[str]) -> None:
    document = _Json(WISH)
    for number in range(messages):
        document.take(Found(65536, (BlockRange(number * 8192, 4096),)))
    document.end()
    found = json.loads(capsys.readouterr().out)
    assert (found["base"], len(found["ranges"])) == ("monday", messages)
    assert found["totalBytes"] == messages * 4096
