import msgspec

from mooring.apiserver.documents.published import Shelf, publish, publish_bytes
from tests.unit.apiserver.small_api import POD, SECRET, small_kinds


def test_a_document_is_encoded_and_tagged_by_its_content() -> None:
    published = publish({"kind": "Thing"})
    assert msgspec.json.decode(published.body) == {"kind": "Thing"}
    assert published.content_type == "application/json"
    assert published.etag == f'"{published.digest}"'
    assert published == publish({"kind": "Thing"})
    assert published.etag != publish({"kind": "Other"}).etag


def test_bytes_are_published_as_they_are() -> None:
    assert publish_bytes(b"\x00", "application/x").body == b"\x00"


def test_a_thing_is_made_once_and_again_only_after_a_kind_joined() -> None:
    kinds = small_kinds()
    shelf: Shelf[str, int] = Shelf(kinds)
    made: list[str] = []

    def make() -> int:
        made.append("once more")
        return len(made)

    assert [shelf.get("a", make), shelf.get("a", make), shelf.get("b", make)] == [1, 1, 2]
    kinds.add(SECRET)
    assert [shelf.get("a", make), shelf.get("a", make)] == [3, 3]
    kinds.add(POD)
    assert shelf.get("a", make) == 4
