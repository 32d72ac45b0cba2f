"""What every transport promises of get and list."""

from datetime import datetime

import msgspec
import pytest

from mooring.client.contract import Scope
from mooring.errors import BadRequest, NotFound
from mooring.model.claim import Claim, ClaimPhase
from mooring.model.keys import Key
from mooring.model.meta import ApiObject, Resource
from mooring.model.secret import Secret
from mooring.model.secret_value import SecretValue
from mooring.model.storage_class import StorageClass
from tests.fakes.objects import a_class, a_secret
from tests.unit.client.transports import Transport, claim_in, labelled


class Unserved(ApiObject, frozen=True):
    resource = Resource("example.com", "v1", "Unserved", "unserveds", namespaced=True)


async def test_get_reads_an_object_as_its_struct(transport: Transport) -> None:
    made = await transport.client.create(Claim, claim_in(transport, "data", storage="3Gi"))
    found = await transport.client.get(Claim, made.key)
    assert found == made
    assert found.key == Key(transport.namespace, "data")
    assert (found.kind, found.api_version) == ("PersistentVolumeClaim", "v1")
    assert found.spec.resources.requests == {"storage": "3Gi"}
    assert found.status.phase is ClaimPhase.PENDING
    assert found.uid
    assert datetime.fromisoformat(found.metadata.creation_timestamp or "")


async def test_get_of_what_is_not_there_is_not_found(transport: Transport) -> None:
    with pytest.raises(NotFound) as refused:
        await transport.client.get(Claim, Key(transport.namespace, "nothing"))
    assert str(refused.value) == 'persistentvolumeclaims "nothing" not found'
    assert refused.value.details == {"name": "nothing", "kind": "persistentvolumeclaims"}


async def test_a_kind_that_is_not_served_is_not_found(transport: Transport) -> None:
    with pytest.raises(NotFound):
        await transport.client.get(Unserved, Key(transport.namespace, "x"))
    with pytest.raises(NotFound):
        await transport.client.list(Unserved)


async def test_objects_of_the_whole_cluster_have_no_namespace(transport: Transport) -> None:
    name = f"class-of-{transport.namespace}"
    made = await transport.client.create(StorageClass, a_class(name))
    found = await transport.client.get(StorageClass, Key("", name))
    assert found == made
    assert (found.kind, found.api_version) == ("StorageClass", "storage.k8s.io/v1")


async def test_secrets_are_read_without_showing(transport: Transport) -> None:
    doc = a_secret()
    doc["metadata"]["namespace"] = transport.namespace
    made = await transport.client.create(Secret, doc)
    assert made.data == {"key": SecretValue(b"value")}
    assert "value" not in repr(made.data)


async def test_list_has_every_object_and_the_version_to_watch_from(transport: Transport) -> None:
    client = transport.client
    made = [await client.create(Claim, claim_in(transport, f"data-{i}")) for i in range(3)]
    listing = await client.list(Claim, Scope(transport.namespace))
    assert list(listing.items) == made
    assert int(listing.version) >= int(made[-1].metadata.resource_version)
    everywhere = await client.list(Claim)
    assert [each for each in everywhere.items if each.namespace == transport.namespace] == made


async def test_list_of_nothing_is_empty(transport: Transport) -> None:
    listing = await transport.client.list(Claim, Scope(transport.namespace))
    assert not listing.items
    assert int(listing.version) > 0


SELECTED = {
    "a label with a value": (Scope(labels="tier=web"), ["a", "b"]),
    "a label that is absent": (Scope(labels="!tier"), ["d"]),
    "a set of values": (Scope(labels="tier in (db, cache)"), ["c"]),
    "a name": (Scope(fields="metadata.name=b"), ["b"]),
    "labels and fields together": (Scope(labels="tier=web", fields="metadata.name!=b"), ["a"]),
}


@pytest.mark.parametrize(("scope", "names"), SELECTED.values(), ids=SELECTED)
async def test_list_keeps_to_its_selectors(
    transport: Transport, scope: Scope, names: list[str]
) -> None:
    for name, tier in (("a", "web"), ("b", "web"), ("c", "db"), ("d", "")):
        doc = claim_in(transport, name)
        await transport.client.create(Claim, labelled(doc, tier=tier) if tier else doc)
    scope = msgspec.structs.replace(scope, namespace=transport.namespace)
    listing = await transport.client.list(Claim, scope)
    assert [claim.name for claim in listing.items] == names


UNREADABLE = {
    "a label selector that cannot be parsed": Scope(labels="=,"),
    "a field that the kind does not offer": Scope(fields="spec.colour=blue"),
}


@pytest.mark.parametrize("scope", UNREADABLE.values(), ids=UNREADABLE)
async def test_a_selector_that_makes_no_sense_is_refused(
    transport: Transport, scope: Scope
) -> None:
    with pytest.raises(BadRequest):
        await transport.client.list(Claim, scope)
    with pytest.raises(BadRequest):
        async with transport.client.watch(Claim, "1", scope):
            pass
