"""An object that is not as its kind allows hides no other, and is never taken for absent."""

import json

import pytest

from mooring.client.contract import ChangeType, Listing, Unread
from mooring.client.decoding import reader_of
from mooring.errors import ServerError, Unreadable
from mooring.model.claim import Claim
from mooring.model.keys import Key

READER = reader_of(Claim)


def stored(name: str, volume: object = "pv") -> bytes:
    metadata = {"name": name, "namespace": "ns", "resourceVersion": "7"}
    return json.dumps({"metadata": metadata, "spec": {"volumeName": volume}}).encode()


def test_a_page_tells_what_of_it_cannot_be_read() -> None:
    items = [json.loads(stored(name, volume)) for name, volume in (("a", "pv"), ("b", 7))]
    metadata = {"continue": "x", "resourceVersion": "9"}
    page = READER.read_page(json.dumps({"metadata": metadata, "items": items}).encode())
    assert [claim.key.name for claim in page.items or ()] == ["a"]
    assert [claim.kind for claim in page.items or ()] == ["PersistentVolumeClaim"]
    assert [one.key for one in page.unread] == [Key("ns", "b")]
    assert "volumeName" in page.unread[0].why
    assert page.metadata.next == "x"


def test_a_page_that_is_no_page_is_refused() -> None:
    with pytest.raises(ServerError):
        READER.read_page(b'{"items": [{"metadata": {"name": 7}}]}')


def test_stored_objects_are_read_past_one_that_cannot_be() -> None:
    claims, unread = READER.read_all([stored("a"), stored("b", 7), stored("c")])
    assert [claim.key.name for claim in claims] == ["a", "c"]
    assert [one.key.name for one in unread] == ["b"]


CHANGES = {
    "a new object that cannot be read is told with its metadata": (
        ChangeType.ADDED,
        7,
        ChangeType.UNREADABLE,
    ),
    "a changed one too": (ChangeType.MODIFIED, 7, ChangeType.UNREADABLE),
    "a deleted one is gone, whatever it said": (ChangeType.DELETED, 7, ChangeType.DELETED),
    "others are as they were": (ChangeType.ADDED, "pv", ChangeType.ADDED),
}


@pytest.mark.parametrize(("sent", "volume", "told"), CHANGES.values(), ids=CHANGES)
def test_a_change(sent: ChangeType, volume: object, told: ChangeType) -> None:
    change = READER.read_change(sent, stored("b", volume))
    assert change.type is told
    assert change.object.key == Key("ns", "b")
    assert change.object.metadata.resource_version == "7"
    assert ("volumeName" in change.why) == (told is ChangeType.UNREADABLE)


def test_whoever_concludes_something_from_what_is_missing_is_told() -> None:
    listing: Listing[Claim] = Listing([], "7", [Unread(Key("ns", "b"), "no sense")])
    with pytest.raises(Unreadable, match="no sense"):
        listing.items  # noqa: B018  a property
