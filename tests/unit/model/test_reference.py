"""References: when a volume's pointer means a given claim."""

import pytest

from mooring.model.keys import Key
from mooring.model.reference import ClaimRef

CLAIM = Key("ns", "data")

REFS = {
    "the same claim": (ClaimRef(namespace="ns", name="data", uid="u1"), True),
    "reserved by name": (ClaimRef(namespace="ns", name="data"), True),
    "a claim of the same name that is gone": (
        ClaimRef(namespace="ns", name="data", uid="u0"),
        False,
    ),
    "another namespace": (ClaimRef(namespace="other", name="data", uid="u1"), False),
    "another name": (ClaimRef(namespace="ns", name="logs"), False),
}


@pytest.mark.parametrize(("ref", "answer"), REFS.values(), ids=REFS)
def test_points_at(ref: ClaimRef, answer: bool) -> None:  # noqa: FBT001 - a column
    assert ref.points_at(CLAIM, "u1") is answer
