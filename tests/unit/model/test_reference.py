"""References: when a volume's pointer means a given claim."""

import pytest

from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.reference import ClaimRef, ObjectReference

CLAIM = Key("ns", "data")


def test_a_pointer_at_an_object_says_which_version_was_meant() -> None:
    claim = Claim(metadata=ObjectMeta(name="data", namespace="ns", uid="u1", resource_version="7"))
    reference = ClaimRef.to(claim)
    assert reference == ClaimRef(
        kind="PersistentVolumeClaim",
        api_version="v1",
        namespace="ns",
        name="data",
        uid="u1",
        resource_version="7",
    )
    assert reference.points_at(claim.key, claim.uid)
    assert isinstance(ObjectReference.to(claim), ObjectReference)


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
