"""To which size a volume grows, for every state that a claim can be in."""

import pytest

from mooring.model.claim import Claim
from mooring.model.quantity import parse
from mooring.model.volume import Volume
from mooring.sidecars.resizer.decide.target import find_target
from tests.unit.sidecars.resizer.claims import ABLE, NODE_ONLY, a_claim, a_view, a_volume, told

FAILED = (told("Resizing"), told("ControllerResizeError"))
RENEWED = (told("Resizing", at="2026-01-02T03:05:00Z"), told("ControllerResizeError"))
PENDING = (told("FileSystemResizePending"),)
CONTROLLER, IMPOSSIBLE = "ControllerResizeInProgress", "ControllerResizeInfeasible"
NODE_IMPOSSIBLE = "NodeResizeInfeasible"

ROWS: dict[str, tuple[Claim, Volume, str]] = {
    # the volume is smaller than the request
    "nothing has begun": (a_claim("3Gi"), a_volume(), "3Gi"),
    "an earlier growth is over": (a_claim("3Gi", "2Gi", allocated="2Gi"), a_volume("2Gi"), "3Gi"),
    "under way": (a_claim("3Gi", allocated="3Gi", at=CONTROLLER), a_volume(), "3Gi"),
    "under way, then lowered": (a_claim("2Gi", allocated="3Gi", at=CONTROLLER), a_volume(), "3Gi"),
    "under way, then raised": (a_claim("4Gi", allocated="3Gi", at=CONTROLLER), a_volume(), "3Gi"),
    "failed, then lowered": (
        a_claim("2Gi", allocated="3Gi", at=CONTROLLER, conditions=FAILED),
        a_volume(),
        "2Gi",
    ),
    "failed, and begun anew by upstream's resizer": (
        a_claim("2Gi", allocated="3Gi", at=CONTROLLER, conditions=RENEWED),
        a_volume(),
        "3Gi",
    ),
    "impossible": (a_claim("3Gi", allocated="3Gi", at=IMPOSSIBLE), a_volume(), "3Gi"),
    "impossible, then lowered": (a_claim("2Gi", allocated="3Gi", at=IMPOSSIBLE), a_volume(), "2Gi"),
    "impossible on the node, then raised": (
        a_claim("4Gi", allocated="3Gi", at=NODE_IMPOSSIBLE),
        a_volume("3Gi"),
        "3Gi",
    ),
    "the node's turn, then raised": (
        a_claim("4Gi", allocated="3Gi", at="NodeResizePending"),
        a_volume("3Gi"),
        "",
    ),
    "the node's turn, but the volume does not say so": (
        a_claim("4Gi", allocated="3Gi", at="NodeResizeInProgress"),
        a_volume("2Gi"),
        "3Gi",
    ),
    # the volume is as large, or larger
    "grown, but not on record": (
        a_claim("3Gi", allocated="3Gi", at=CONTROLLER),
        a_volume("3Gi"),
        "3Gi",
    ),
    "grown, not on record, then lowered": (
        a_claim("2Gi", allocated="3Gi", at=CONTROLLER),
        a_volume("3Gi"),
        "3Gi",
    ),
    "the node waits": (
        a_claim("3Gi", allocated="3Gi", at="NodeResizePending"),
        a_volume("3Gi"),
        "",
    ),
    "the node is at it": (
        a_claim("3Gi", allocated="3Gi", at="NodeResizeInProgress"),
        a_volume("3Gi"),
        "",
    ),
    "impossible on the node": (
        a_claim("3Gi", allocated="3Gi", at=NODE_IMPOSSIBLE),
        a_volume("3Gi"),
        "3Gi",
    ),
    "impossible on the node, then lowered": (
        a_claim("2Gi", allocated="3Gi", at=NODE_IMPOSSIBLE),
        a_volume("3Gi"),
        "3Gi",
    ),
    "impossible once more, then lowered": (
        a_claim("2Gi", allocated="3Gi", at=IMPOSSIBLE),
        a_volume("3Gi"),
        "2Gi",
    ),
    "no state, but a size": (a_claim("2Gi", allocated="3Gi"), a_volume("3Gi"), "3Gi"),
    "no state, an old size": (a_claim("2Gi", allocated="1Gi"), a_volume("3Gi"), "2Gi"),
    "nothing on record": (a_claim("3Gi"), a_volume("3Gi"), "3Gi"),
    "an old resizer's node step": (a_claim("3Gi", conditions=PENDING), a_volume("3Gi"), ""),
    "a state that nobody knows": (a_claim("3Gi", allocated="3Gi", at="Odd"), a_volume(), ""),
}


@pytest.mark.parametrize(("claim", "volume", "target"), ROWS.values(), ids=ROWS)
def test_the_size_that_is_asked_for(claim: Claim, volume: Volume, target: str) -> None:
    found = find_target(a_view(claim, volume), volume)
    assert found == (parse(target) if target else None)


@pytest.mark.parametrize(("abilities", "target"), [(ABLE, "3Gi"), (NODE_ONLY, "2Gi")])
def test_without_a_back_end_a_lower_request_counts_after_the_node_gave_up(
    abilities: object, target: str
) -> None:
    claim, volume = a_claim("2Gi", allocated="3Gi", at=NODE_IMPOSSIBLE), a_volume("3Gi")
    assert find_target(a_view(claim, volume, abilities=abilities), volume) == parse(target)
