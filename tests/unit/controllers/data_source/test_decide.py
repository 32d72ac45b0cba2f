"""What the data-source validator says of a claim."""

import pytest
from msgspec.structs import replace

from mooring.controllers.data_source.decide import MESSAGE, decide
from mooring.controllers.data_source.plan import UNRECOGNIZED, Count, Result
from mooring.controllers.data_source.view import ClaimView
from mooring.model.claim import Claim, ClaimSpec
from mooring.model.meta import ObjectMeta
from mooring.model.populator import SourceKind
from mooring.model.reference import TypedObjectReference
from mooring.model.steps import Emit

BOOK = SourceKind("example.com", "Book")


def a_claim(kind: str, group: str | None = None, **spec: str) -> Claim:
    source = TypedObjectReference(kind=kind, name="x", api_group=group)
    metadata = ObjectMeta(name="data", namespace="default", uid="u")
    return Claim(metadata=metadata, spec=replace(ClaimSpec(data_source_ref=source), **spec))


CLAIM = a_claim("Book", "example.com")
CASES = {
    "no source": (ClaimView(Claim(), frozenset()), Result.EMPTY, False),
    "a claim": (ClaimView(a_claim("PersistentVolumeClaim"), frozenset()), Result.CLAIM, False),
    "a snapshot": (
        ClaimView(a_claim("VolumeSnapshot", "snapshot.storage.k8s.io"), frozenset()),
        Result.SNAPSHOT,
        False,
    ),
    "a snapshot of another group is no snapshot": (
        ClaimView(a_claim("VolumeSnapshot", "example.com"), frozenset()),
        Result.INVALID,
        True,
    ),
    "a kind with a populator": (ClaimView(CLAIM, frozenset({BOOK})), Result.POPULATOR, False),
    "a kind without one": (ClaimView(CLAIM, frozenset()), Result.INVALID, True),
    "a kind of another group": (
        ClaimView(CLAIM, frozenset({SourceKind("example.org", "Book")})),
        Result.INVALID,
        True,
    ),
    "people know it already": (ClaimView(CLAIM, frozenset(), BOOK), Result.INVALID, False),
    "it has its volume": (
        ClaimView(a_claim("Book", "example.com", volume_name="pv"), frozenset()),
        Result.INVALID,
        False,
    ),
}


@pytest.mark.parametrize(("view", "result", "warns"), CASES.values(), ids=CASES)
def test_a_claim(view: ClaimView, result: Result, *, warns: bool) -> None:
    count, *events = decide(view).steps
    assert count == Count(result)
    assert [(each.reason, each.message) for each in events if isinstance(each, Emit)] == (
        [(UNRECOGNIZED, MESSAGE)] if warns else []
    )
