"""What every transport promises of create, patch and delete."""

from copy import deepcopy

import pytest

from mooring.client.contract import Part
from mooring.errors import AlreadyExists, ApiError, BadRequest, Conflict, Invalid, NotFound
from mooring.model.claim import Claim, ClaimPhase
from mooring.model.document import Doc
from mooring.model.meta import ObjectMeta
from mooring.model.storage_class import StorageClass
from tests.fakes.objects import a_claim, a_class
from tests.unit.client.transports import Transport, claim_in

BOUND: Doc = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}


async def made(transport: Transport, name: str = "data") -> Claim:
    return await transport.client.create(Claim, claim_in(transport, name))


async def replaced(transport: Transport, seen: Claim) -> Claim:
    """Another claim of the same name; the finalizer that admission gave it goes first."""
    client = transport.client
    seen = await client.patch(seen, {"metadata": {"finalizers": None}})
    await client.delete(seen)
    return await made(transport, seen.name)


async def test_create_returns_what_the_server_made_of_it(transport: Transport) -> None:
    claim = await made(transport)
    assert claim.metadata.resource_version
    assert claim.metadata.finalizers == ("kubernetes.io/pvc-protection",)  # by admission
    assert claim.status.phase is ClaimPhase.PENDING  # by default


async def test_create_leaves_the_document_alone(transport: Transport) -> None:
    doc = claim_in(transport, "data")
    before = deepcopy(doc)
    await transport.client.create(Claim, doc)
    assert doc == before


async def test_create_fills_in_the_kind(transport: Transport) -> None:
    doc = claim_in(transport, "data")
    del doc["kind"], doc["apiVersion"]
    assert (await transport.client.create(Claim, doc)).name == "data"


async def test_create_makes_names(transport: Transport) -> None:
    doc = claim_in(transport, "")
    doc["metadata"] = {"generateName": "data-", "namespace": transport.namespace}
    first, second = [await transport.client.create(Claim, doc) for _ in range(2)]
    assert first.name.startswith("data-")
    assert first.name != second.name


async def test_create_of_what_exists_is_refused(transport: Transport) -> None:
    await made(transport)
    with pytest.raises(AlreadyExists):
        await made(transport)


async def test_create_of_nonsense_is_invalid_and_says_where(transport: Transport) -> None:
    doc = claim_in(transport, "data", accessModes=["Sometimes"])
    with pytest.raises(Invalid) as refused:
        await transport.client.create(Claim, doc)
    assert refused.value.details["causes"][0]["field"] == "spec.accessModes"
    assert refused.value.details["name"] == "data"


async def test_create_of_another_type_is_refused(transport: Transport) -> None:
    doc = claim_in(transport, "data", accessModes="ReadWriteOnce")
    with pytest.raises(BadRequest, match="accessModes"):
        await transport.client.create(Claim, doc)


async def test_create_without_the_namespace_it_needs_is_refused(transport: Transport) -> None:
    with pytest.raises(ApiError):
        await transport.client.create(Claim, a_claim())


async def test_patch_changes_what_it_says_and_nothing_else(transport: Transport) -> None:
    claim = await made(transport)
    change: Doc = {"metadata": {"annotations": {"a": "1", "b": "2"}}, "spec": {"volumeName": "v"}}
    after = await transport.client.patch(claim, change)
    assert after.metadata.annotations == {"a": "1", "b": "2"}
    assert after.spec.volume_name == "v"
    assert after.spec.resources == claim.spec.resources
    assert after.metadata.finalizers == claim.metadata.finalizers
    assert after == await transport.client.get(Claim, claim.key)


async def test_null_in_a_patch_removes(transport: Transport) -> None:
    claim = await made(transport)
    claim = await transport.client.patch(claim, {"metadata": {"annotations": {"a": "1", "b": "2"}}})
    claim = await transport.client.patch(claim, {"metadata": {"annotations": {"a": None}}})
    assert claim.metadata.annotations == {"b": "2"}
    claim = await transport.client.patch(claim, {"metadata": {"annotations": {"b": None}}})
    assert claim.metadata.annotations == {}


async def test_patch_leaves_its_arguments_alone(transport: Transport) -> None:
    claim = await made(transport)
    change: Doc = {"status": {"phase": "Bound", "conditions": [{"type": "Resizing", "status": ""}]}}
    before = deepcopy(change)
    await transport.client.patch(claim, change, Part.STATUS)
    assert change == before


async def test_status_is_a_part_of_its_own(transport: Transport) -> None:
    claim = await made(transport)
    ignored = await transport.client.patch(claim, BOUND)
    assert ignored.status.phase is ClaimPhase.PENDING
    bound = await transport.client.patch(ignored, BOUND, Part.STATUS)
    assert bound.status.phase is ClaimPhase.BOUND
    assert bound.status.capacity == {"storage": "1Gi"}


async def test_a_kind_without_status_has_none_to_patch(transport: Transport) -> None:
    seen = await transport.client.create(StorageClass, a_class(f"no-status-{transport.namespace}"))
    with pytest.raises(NotFound):
        await transport.client.patch(seen, {"status": {}}, Part.STATUS)


async def test_a_patch_that_changes_nothing_writes_nothing(transport: Transport) -> None:
    nothing: Doc = {"spec": {"volumeMode": "Filesystem"}}
    # Kubernetes itself writes once more after a creation, for it stores new objects in another way.
    claim = await transport.client.patch(await made(transport), nothing)
    assert await transport.client.patch(claim, nothing) == claim


async def test_patch_of_what_somebody_wrote_meanwhile_is_a_conflict(transport: Transport) -> None:
    seen = await made(transport)
    newer = await transport.client.patch(seen, {"metadata": {"labels": {"a": "1"}}})
    with pytest.raises(Conflict, match="the object has been modified"):
        await transport.client.patch(seen, BOUND, Part.STATUS)
    assert await transport.client.get(Claim, seen.key) == newer


async def test_patch_of_what_was_replaced_is_a_conflict(transport: Transport) -> None:
    seen = await made(transport)
    await replaced(transport, seen)
    with pytest.raises(Conflict):
        await transport.client.patch(seen, BOUND, Part.STATUS)


async def test_patch_of_what_is_gone_is_not_found(transport: Transport) -> None:
    seen = await made(transport)
    seen = await transport.client.patch(seen, {"metadata": {"finalizers": None}})
    await transport.client.delete(seen)
    with pytest.raises(NotFound):
        await transport.client.patch(seen, BOUND, Part.STATUS)


BIND: Doc = {"metadata": {"annotations": {"bound": "yes"}}, "spec": {"volumeName": "v"}}
BOTH: dict[str, tuple[Doc, Doc, tuple[str, ClaimPhase]]] = {
    "both": (BIND, BOUND["status"], ("v", ClaimPhase.BOUND)),
    "the object alone": (BIND, {}, ("v", ClaimPhase.PENDING)),
    "the status alone": ({}, BOUND["status"], ("", ClaimPhase.BOUND)),
    "neither": ({}, {}, ("", ClaimPhase.PENDING)),
}


@pytest.mark.parametrize(("main", "status", "then"), BOTH.values(), ids=BOTH)
async def test_an_object_and_its_status_change_together(
    transport: Transport, main: Doc, status: Doc, then: tuple[str, ClaimPhase]
) -> None:
    seen = await made(transport)
    after = await transport.client.patch_both(seen, main, status)
    assert (after.spec.volume_name, after.status.phase) == then
    assert after == await transport.client.get(Claim, seen.key)


async def test_neither_is_changed_when_somebody_wrote_meanwhile(transport: Transport) -> None:
    seen = await made(transport)
    newer = await transport.client.patch(seen, {"metadata": {"labels": {"a": "1"}}})
    with pytest.raises(Conflict):
        await transport.client.patch_both(seen, BIND, BOUND["status"])
    assert await transport.client.get(Claim, seen.key) == newer


REFUSED: dict[str, tuple[Doc, type[ApiError]]] = {
    "a value of another type": ({"spec": {"volumeName": 7}}, Invalid),
    "a value that the kind does not allow": ({"spec": {"volumeMode": "Tape"}}, Invalid),
    "a field that cannot change": ({"spec": {"accessModes": ["ReadOnlyMany"]}}, Invalid),
    "another name": ({"metadata": {"name": "other"}}, BadRequest),
    "another namespace": ({"metadata": {"namespace": "other"}}, BadRequest),
}


@pytest.mark.parametrize(("change", "refusal"), REFUSED.values(), ids=REFUSED)
async def test_patches_are_judged_like_any_write(
    transport: Transport, change: Doc, refusal: type[ApiError]
) -> None:
    seen = await made(transport)
    with pytest.raises(refusal):
        await transport.client.patch(seen, change)
    assert await transport.client.get(Claim, seen.key) == seen


async def test_removing_the_last_finalizer_of_a_deleted_object_ends_it(
    transport: Transport,
) -> None:
    seen = await made(transport)
    await transport.client.delete(seen)
    dying = await transport.client.get(Claim, seen.key)
    assert dying.is_deleting
    last = await transport.client.patch(dying, {"metadata": {"finalizers": None}})
    assert last.name == "data"
    with pytest.raises(NotFound):
        await transport.client.get(Claim, seen.key)


async def test_delete_means_the_object_that_was_seen(transport: Transport) -> None:
    seen = await made(transport)
    another = await replaced(transport, seen)
    with pytest.raises(Conflict, match="UID in the precondition"):
        await transport.client.delete(seen)
    assert await transport.client.get(Claim, seen.key) == another


async def test_delete_does_not_mind_newer_versions(transport: Transport) -> None:
    seen = await made(transport)
    await transport.client.patch(seen, {"metadata": {"labels": {"a": "1"}}})
    await transport.client.delete(seen)
    assert (await transport.client.get(Claim, seen.key)).is_deleting


async def test_delete_of_what_is_gone_is_not_found(transport: Transport) -> None:
    seen = await made(transport)
    seen = await transport.client.patch(seen, {"metadata": {"finalizers": None}})
    await transport.client.delete(seen)
    with pytest.raises(NotFound):
        await transport.client.delete(seen)


async def test_writes_need_an_object_that_was_read(transport: Transport) -> None:
    made_up = Claim(metadata=ObjectMeta(name="data", namespace=transport.namespace))
    with pytest.raises(ValueError, match="no resourceVersion"):
        await transport.client.patch(made_up, BOUND, Part.STATUS)
    with pytest.raises(ValueError, match="no uid"):
        await transport.client.delete(made_up)
