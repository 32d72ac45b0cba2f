"""Stored bytes: what they say of the version of a custom object, and what clients see of them."""

import json
from typing import Any

import msgspec
import pytest

from mooring.apiserver.custom.kinds_of import DefinedKinds, kinds_of
from mooring.apiserver.documents.document import (
    decode,
    decode_as_stored,
    joined_items,
    metadata_of,
    stored_version,
    to_put,
    wire,
    written_by,
)
from mooring.apiserver.store.contract import Entry
from mooring.errors import ServerError
from tests.fakes.definitions import Doc, a_definition, a_version

WEBHOOK = {
    "strategy": "Webhook",
    "webhook": {
        "clientConfig": {"url": "https://example.com/convert"},
        "conversionReviewVersions": ["v2", "v1beta1", "v1"],
    },
}


def defined(stored: list[str], conversion: Doc | None = None) -> DefinedKinds:
    versions = [a_version("v1"), a_version("v2", storage=False)]
    definition = a_definition(versions=versions)
    definition["spec"]["conversion"] = conversion or {"strategy": "None"}
    definition["status"] = {
        "acceptedNames": definition["spec"]["names"],
        "storedVersions": stored,
    }
    return kinds_of(definition, msgspec.json.encode(definition), "digest")


def an_entry(version: str = "", **spec: object) -> Entry:
    doc = {"metadata": {"name": "w", "uid": "u"}, "spec": {"size": 1, "color": "red", **spec}}
    if version:
        doc["apiVersion"] = f"example.com/{version}"
    put = to_put(doc, is_marked=bool(version))
    return Entry("example.com/widgets", "default/w", put.stamp(7), 7)


def test_the_version_stands_at_the_end_of_the_stored_bytes() -> None:
    entry = an_entry("v1")
    assert entry.value.startswith(b'{"metadata":{"resourceVersion":"7",')
    assert entry.value.endswith(b',"apiVersion":"example.com/v1"}')
    assert metadata_of(entry)["uid"] == "u"


UNSAID = {
    "one version": (["v1"], "example.com/v1"),
    "the oldest of several": (["v2", "v1"], "example.com/v2"),
    "one that is no more": (["v0", "v2", "v1"], "example.com/v2"),
    "none": ([], "example.com/v1"),
}


@pytest.mark.parametrize(("stored", "expected"), UNSAID.values(), ids=UNSAID)
def test_an_object_that_does_not_say_its_version_is_of_the_oldest_stored_one(
    stored: list[str], expected: str
) -> None:
    kind = defined(stored).stored
    assert kind.stored_as is not None
    assert stored_version(kind.stored_as, an_entry()) == expected
    assert decode_as_stored(kind, an_entry())["apiVersion"] == expected
    assert stored_version(kind.stored_as, an_entry("v1")) == "example.com/v1"


TRICKS = {
    "in a text": {"word": ',"apiVersion":"example.com/v9"}'},
    "in an object below": {"apiVersion": "example.com/v9"},
    "in a text at the end": {"word": ',"apiVersion":"example.com/v9"'},
}


@pytest.mark.parametrize("spec", TRICKS.values(), ids=TRICKS)
def test_nothing_below_passes_for_the_version(spec: dict[str, Any]) -> None:
    kind = defined(["v1"]).stored
    assert kind.stored_as is not None
    assert stored_version(kind.stored_as, an_entry(**spec)) == "example.com/v1"
    assert stored_version(kind.stored_as, an_entry("v2", **spec)) == "example.com/v2"


@pytest.mark.parametrize("mark", ["", "v1"])
def test_clients_see_kind_and_version_once_and_first(mark: str) -> None:
    kind = defined(["v1"]).stored
    entry = an_entry(mark)
    for _ in range(2):  # the second time it is known to be current
        shown = wire(kind, entry)
        assert shown.startswith(b'{"kind":"Widget","apiVersion":"example.com/v1","metadata":{')
        assert shown.count(b'"apiVersion"') == 1
        assert json.loads(shown) == decode(kind, entry)


def test_a_list_joins_objects_with_and_without_their_version() -> None:
    kind = defined(["v1"]).stored
    entries = [an_entry(), an_entry("v1"), an_entry("v1"), an_entry()]
    for entry in entries:
        written_by(kind, entry)
    body = b"".join(joined_items(kind, entries, b"[", b"]"))
    assert json.loads(body) == [json.loads(wire(kind, entry)) for entry in entries]
    assert body.count(b'"apiVersion"') == len(entries)


def test_without_a_webhook_only_the_version_is_another() -> None:
    kind = next(kind for kind in defined(["v1"]).served if kind.version == "v2")
    doc = decode(kind, an_entry("v1"))
    assert (doc["apiVersion"], doc["spec"]) == ("example.com/v2", {"size": 1, "color": "red"})


def test_with_a_webhook_nothing_is_shown_that_was_not_converted() -> None:
    kind = next(kind for kind in defined(["v1"], WEBHOOK).served if kind.version == "v2")
    with pytest.raises(ServerError, match=r"is not converted to example\.com/v2"):
        decode(kind, an_entry("v1"))
    assert decode(kind, an_entry("v2"))["apiVersion"] == "example.com/v2"


def test_the_first_review_that_is_known_is_sent() -> None:
    stored = defined(["v1"], WEBHOOK).stored.stored_as
    assert stored is not None
    assert stored.webhook is not None
    assert stored.webhook.review == "v1beta1"
