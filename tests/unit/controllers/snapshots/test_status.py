"""What a snapshot's status takes over from its content."""

from typing import Any

import pytest

from mooring.controllers.snapshots.status import copied
from mooring.model.document import Doc
from tests.unit.controllers.snapshots.things import a_content, a_snapshot

KNOWN = {"boundVolumeSnapshotContentName": "snapcontent-u", "readyToUse": False}
TAKEN = {"snapshotHandle": "s", "creationTime": 1_700_000_000_999_999_999, "restoreSize": 1 << 30}
TIME = {"creationTime": "2023-11-14T22:13:20Z"}
ERROR = {"message": "no room", "time": "2026-01-02T03:04:05Z"}

CASES: dict[str, tuple[Any, Any, Doc]] = {
    "the name first": (None, None, KNOWN),
    "time and size": (KNOWN, TAKEN, TIME | {"restoreSize": "1Gi"}),
    "they are not written again": (
        KNOWN | {"creationTime": "2020-01-01T00:00:00Z", "restoreSize": "2Gi"},
        TAKEN,
        {},
    ),
    "a size of nothing is": (
        KNOWN | TIME | {"restoreSize": "0"},
        TAKEN,
        {"restoreSize": "1Gi"},
    ),
    "a size of nothing is not repeated": (
        KNOWN | TIME | {"restoreSize": "0"},
        TAKEN | {"restoreSize": 0},
        {},
    ),
    "readiness": (KNOWN, {"readyToUse": True}, {"readyToUse": True}),
    "no readiness": (KNOWN | {"readyToUse": True}, {}, {"readyToUse": False}),
    "an error": (KNOWN, {"error": ERROR}, {"error": ERROR}),
    "the same error": (KNOWN | {"error": ERROR}, {"error": ERROR}, {}),
    "no error": (KNOWN | {"error": ERROR}, {}, {"error": None}),
    "the last nanosecond there is": (
        KNOWN,
        {"creationTime": (1 << 63) - 1},
        {"creationTime": "2262-04-11T23:47:16Z"},
    ),
}


@pytest.mark.parametrize(("old", "new", "change"), CASES.values(), ids=CASES)
def test_copied(old: Any, new: Any, change: Doc) -> None:
    assert copied(a_snapshot(status=old), a_content(status=new)) == change
