"""Claims get volumes."""

import asyncio

import pytest

from mooring.csi.capability import Block, ControllerCapability, Mount, WireMode
from mooring.csi.outcome import Code
from mooring.csi.requests import CreateVolume
from mooring.errors import AlreadyExists, InternalError
from mooring.sidecars.provisioner.options import ProvisionerOptions
from tests.fakes.objects import CLAIMS, CLASSES, VOLUMES, a_class
from tests.scenarios.sidecars.cluster import FINALIZER, INTENT, Cluster
from tests.scenarios.sidecars.driver import NAME, After, Dies, Fails, Makes, Waits

CLAIM = f"{CLAIMS}/data"


async def test_a_claim_is_provisioned_and_bound(cluster: Cluster) -> None:
    await cluster.storage_class(mountOptions=["noatime"], parameters={"kind": "ssd"})
    async with cluster.provisioner():
        claim = await cluster.claim()
    assert await cluster.phase() == "Bound"
    uid = claim["metadata"]["uid"]
    volume = await cluster.volume_of()
    assert volume["metadata"]["finalizers"] == [FINALIZER, "kubernetes.io/pv-protection"]
    assert volume["metadata"]["annotations"] == {
        "pv.kubernetes.io/provisioned-by": NAME,
        "volume.kubernetes.io/provisioner-deletion-secret-name": "",
        "volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
    }
    spec = volume["spec"]
    assert spec["claimRef"]["uid"] == uid
    assert (spec["capacity"], spec["accessModes"]) == ({"storage": "1Gi"}, ["ReadWriteOnce"])
    assert (spec["mountOptions"], spec["storageClassName"]) == (["noatime"], "fast")
    assert spec["persistentVolumeReclaimPolicy"] == "Delete"
    assert spec["csi"]["volumeHandle"] == f"id-of-pvc-{uid}"
    identity = spec["csi"]["volumeAttributes"].pop("storage.kubernetes.io/csiProvisionerIdentity")
    assert identity.endswith(f"-{NAME}")
    assert spec["csi"]["volumeAttributes"] == {"made": "here"}
    (request,) = cluster.driver.requests
    assert isinstance(request, CreateVolume)
    assert request.name == f"pvc-{uid}"
    assert request.parameters == {"kind": "ssd"}
    assert [(each.access, each.mode) for each in request.capabilities] == [
        (Mount("", ("noatime",)), WireMode.SINGLE_NODE_WRITER)
    ]
    assert INTENT not in await cluster.finalizers(CLAIM)
    assert await cluster.told("Provisioning") == [
        'External provisioner is provisioning volume for claim "default/data"'
    ]
    assert await cluster.told("ProvisioningSucceeded") == [
        f"Successfully provisioned volume pvc-{uid}"
    ]


async def test_a_claim_costs_two_writes(cluster: Cluster) -> None:
    """The record, and the volume; the binder takes the record away with the binding."""
    await cluster.storage_class()
    async with cluster.provisioner() as client:
        await cluster.claim()
        assert await cluster.phase() == "Bound"
        assert INTENT not in await cluster.finalizers(CLAIM)
    assert client.calls == ["patch PersistentVolumeClaim", "create PersistentVolume"]


async def test_a_block_volume_has_no_file_system(cluster: Cluster) -> None:
    await cluster.storage_class(parameters={"csi.storage.k8s.io/fstype": "xfs"})
    async with cluster.provisioner():
        await cluster.claim(volumeMode="Block", accessModes=["ReadWriteMany", "ReadOnlyMany"])
    spec = (await cluster.volume_of())["spec"]
    assert (spec["volumeMode"], spec["csi"].get("fsType")) == ("Block", None)
    (request,) = cluster.driver.requests
    assert isinstance(request, CreateVolume)
    assert [(each.access, each.mode) for each in request.capabilities] == [
        (Block(), WireMode.MULTI_NODE_MULTI_WRITER),
        (Block(), WireMode.MULTI_NODE_READER_ONLY),
    ]


async def test_the_intent_is_written_before_the_driver_is_asked(cluster: Cluster) -> None:
    await cluster.storage_class()
    gate = asyncio.Event()
    cluster.driver.next("create", Waits(gate))
    async with cluster.provisioner():
        await cluster.claim()
        assert cluster.driver.count("create") == 1
        assert INTENT in await cluster.finalizers(CLAIM)
        gate.set()
        await cluster.settle()
    assert INTENT not in await cluster.finalizers(CLAIM)


async def test_a_driver_that_dies_after_the_deed_makes_one_volume(cluster: Cluster) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", After(Fails(Code.UNAVAILABLE)))
    async with cluster.provisioner():
        await cluster.claim()
        assert INTENT in await cluster.finalizers(CLAIM)
        await cluster.passes(1)
    first, second = cluster.driver.requests
    assert first == second
    assert len(cluster.driver.volumes) == 1
    assert await cluster.phase() == "Bound"


async def test_a_slow_driver_is_asked_again_in_the_same_words(cluster: Cluster) -> None:
    await cluster.storage_class()
    late = After(Fails(Code.DEADLINE_EXCEEDED, "context deadline exceeded"))
    cluster.driver.next("create", late, late)
    async with cluster.provisioner():
        await cluster.claim()
        await cluster.passes(1)
        assert await cluster.phase() == "Pending"
        await cluster.passes(2)
    assert len({str(request) for request in cluster.driver.requests}) == 1
    assert len(cluster.driver.volumes) == len(await cluster.volumes()) == 1
    assert await cluster.told("ProvisioningFailed") == [
        "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    ]


async def test_a_claim_deleted_meanwhile_leaves_nothing(cluster: Cluster) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", After(Fails(Code.DEADLINE_EXCEEDED)))
    async with cluster.provisioner():
        await cluster.claim()
        await cluster.delete(CLAIM)
    assert await cluster.phase() == "gone"
    assert not cluster.driver.volumes
    assert not await cluster.volumes()


async def test_a_claim_taken_away_by_force_leaves_nothing(cluster: Cluster) -> None:
    await cluster.storage_class()
    gate = asyncio.Event()
    cluster.driver.next("create", After(Fails(Code.DEADLINE_EXCEEDED)))
    async with cluster.provisioner():
        await cluster.claim()
        cluster.driver.next("create", Waits(gate))
        await cluster.delete(CLAIM)
        await cluster.patch(CLAIM, {"metadata": {"finalizers": None}})
        assert await cluster.phase() == "gone"
        gate.set()
        await cluster.passes(5)
    assert not cluster.driver.volumes


@pytest.mark.parametrize("done", [True, False], ids=["the deed was done", "nothing was done"])
async def test_a_restart_forgets_no_volume_of_a_deleted_claim(
    cluster: Cluster, *, done: bool
) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", After(Dies()) if done else Dies())
    async with cluster.provisioner():
        await cluster.claim()
    assert len(cluster.driver.volumes) == int(done)
    await cluster.delete(CLAIM)
    assert await cluster.phase() == "Pending", "the intent holds it"
    async with cluster.provisioner():
        await cluster.settle()
    assert await cluster.phase() == "gone"
    assert not cluster.driver.volumes
    assert not await cluster.volumes()


async def test_aborted_is_tried_again_with_growing_pauses(cluster: Cluster) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", *[Fails(Code.ABORTED)] * 3)
    async with cluster.provisioner():
        await cluster.claim()
        for pause, calls in ((0.9, 1), (0.1, 2), (1.9, 2), (0.1, 3), (3.9, 3)):
            await cluster.passes(pause)
            assert cluster.driver.count("create") == calls
        assert not await cluster.told("ProvisioningSucceeded")
        await cluster.passes(0.1)
    assert await cluster.phase() == "Bound"


async def test_no_room_with_immediate_binding_is_tried_again(cluster: Cluster) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", Fails(Code.RESOURCE_EXHAUSTED, "full"))
    async with cluster.provisioner():
        await cluster.claim()
        assert INTENT not in await cluster.finalizers(CLAIM), "nothing can exist"
        await cluster.passes(1)
    assert await cluster.phase() == "Bound"
    assert await cluster.told("ProvisioningFailed") == [
        "rpc error: code = ResourceExhausted desc = full"
    ]


async def test_an_impossible_wish_waits_five_minutes(cluster: Cluster) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", Fails(Code.INVALID_ARGUMENT, "what?"))
    async with cluster.provisioner():
        await cluster.claim()
        assert await cluster.told("ProvisioningFailed") == [
            "Volume provisioning failed with infeasible error. Retries will be delayed."
            " rpc error: code = InvalidArgument desc = what?"
        ]
        await cluster.passes(299)
        assert cluster.driver.count("create") == 1
        await cluster.passes(1)
    assert await cluster.phase() == "Bound"


async def test_a_new_class_of_the_name_ends_the_wait(cluster: Cluster) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", Fails(Code.INVALID_ARGUMENT))
    async with cluster.provisioner():
        await cluster.claim()
        await cluster.delete(f"{CLASSES}/fast")
        await cluster.create(CLASSES, a_class("fast", parameters={"kind": "ssd"}))
    assert await cluster.phase() == "Bound"


async def test_too_small_a_volume_is_deleted_and_asked_for_anew(cluster: Cluster) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", Makes({"capacity_bytes": 5}))
    async with cluster.provisioner():
        await cluster.claim()
        assert not cluster.driver.volumes
        assert await cluster.told("ProvisioningFailed") == [
            "created volume capacity 5 less than requested capacity 1073741824"
        ]
        await cluster.passes(1)
    assert await cluster.phase() == "Bound"
    assert [call.split()[0] for call in cluster.driver.calls] == ["create", "delete", "create"]


async def test_a_volume_that_cannot_be_deleted_again_is_told_of(cluster: Cluster) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", Makes({"capacity_bytes": 5}))
    cluster.driver.next("delete", *[Fails(Code.INTERNAL, "no")] * 5)
    async with cluster.provisioner():
        claim = await cluster.claim()
    name = f"pvc-{claim['metadata']['uid']}"
    assert cluster.driver.count("delete") == 5
    assert await cluster.told("ProvisioningFailed") == [
        "created volume capacity 5 less than requested capacity 1073741824."
        f" Cleanup of volume {name} failed, volume is orphaned:"
        " rpc error: code = Internal desc = no"
    ]
    assert INTENT in await cluster.finalizers(CLAIM), "it is on record"


async def test_a_volume_that_cannot_be_told_of_is_not_made_twice(cluster: Cluster) -> None:
    await cluster.storage_class()
    async with cluster.provisioner() as client:
        client.refusals["create PersistentVolume"] = [
            *[InternalError("the database is away") for _ in range(20)],
            AlreadyExists("it exists"),
        ]
        await cluster.claim()
        for _ in range(25):
            await cluster.passes(10)
    assert client.calls.count("create PersistentVolume") == 21
    assert cluster.driver.count("create") == 1
    assert len(await cluster.told("ProvisioningSucceeded")) == 1


async def test_a_claim_deleted_before_its_volume_was_told_of_leaves_nothing(
    cluster: Cluster,
) -> None:
    await cluster.storage_class()
    async with cluster.provisioner() as client:
        client.refusals["create PersistentVolume"] = [InternalError("no")]
        await cluster.claim()
        await cluster.delete(CLAIM)
    assert await cluster.phase() == "gone"
    assert not cluster.driver.volumes


async def test_a_thousand_claims_at_once_starve_no_delete(cluster: Cluster) -> None:
    await cluster.storage_class()
    await cluster.storage_class("kept")
    gate = asyncio.Event()
    async with cluster.provisioner():
        await cluster.claim("old")
        cluster.driver.next("create", *[Waits(gate)] * 150)
        for number in range(150):
            await cluster.api.post(CLAIMS, _claim(f"new-{number}"))
        await cluster.settle()
        assert cluster.driver.busiest == 100, "workers"
        await cluster.delete(f"{CLAIMS}/old")
        assert cluster.driver.count("delete") == 1
        gate.set()
        for _ in range(10):
            await cluster.settle()
    assert len(await cluster.volumes()) == len(cluster.driver.volumes) == 150


def _claim(name: str) -> dict[str, object]:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    meta = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {"name": name}}
    return {**meta, "spec": spec}


async def test_a_claim_of_another_driver_is_left_alone(cluster: Cluster) -> None:
    await cluster.create(CLASSES, {**a_class("other"), "provisioner": "other.example.com"})
    async with cluster.provisioner():
        await cluster.claim(storageClassName="other")
    assert not cluster.driver.calls


async def test_a_claim_with_a_selector_is_refused(cluster: Cluster) -> None:
    await cluster.storage_class()
    async with cluster.provisioner():
        await cluster.claim(selector={"matchLabels": {"a": "b"}})
    assert await cluster.told("ProvisioningFailed") == ["claim Selector is not supported"]
    assert not cluster.driver.calls


async def test_a_driver_that_cannot_create_says_so(cluster: Cluster) -> None:
    await cluster.storage_class()
    cluster.driver.without(ControllerCapability.CREATE_DELETE_VOLUME)
    async with cluster.provisioner():
        await cluster.claim()
    assert await cluster.told("ProvisioningFailed") == [
        "CSI driver does not support dynamic provisioning:"
        " controller CREATE_DELETE_VOLUME capability is not reported"
    ]


async def test_drivers_are_told_names_when_asked_to(cluster: Cluster) -> None:
    cluster.options = ProvisionerOptions(
        extra_create_metadata=True, controller_publish_readonly=True
    )
    await cluster.storage_class()
    async with cluster.provisioner():
        claim = await cluster.claim(accessModes=["ReadOnlyMany"])
    (request,) = cluster.driver.requests
    assert isinstance(request, CreateVolume)
    assert request.parameters == {
        "csi.storage.k8s.io/pvc/name": "data",
        "csi.storage.k8s.io/pvc/namespace": "default",
        "csi.storage.k8s.io/pv/name": f"pvc-{claim['metadata']['uid']}",
    }
    assert (await cluster.volume_of())["spec"]["csi"]["readOnly"] is True


async def test_a_claim_that_was_given_another_volume_leaves_none_behind(cluster: Cluster) -> None:
    await cluster.storage_class()
    cluster.driver.next("create", After(Fails(Code.DEADLINE_EXCEEDED)))
    async with cluster.provisioner():
        await cluster.claim()
        await cluster.static_volume("mine", persistentVolumeReclaimPolicy="Retain")
        await cluster.patch(f"{VOLUMES}/mine", {"spec": {"storageClassName": "fast"}})
        await cluster.patch(CLAIM, {"spec": {"volumeName": "mine"}})
        await cluster.passes(5)
    assert await cluster.phase() == "Bound"
    assert not cluster.driver.volumes
    assert INTENT not in await cluster.finalizers(CLAIM)


async def test_a_bound_claims_volume_is_never_deleted_for_a_record_left_behind(
    cluster: Cluster,
) -> None:
    """The record of an intent survived a crash, and the volume's object was taken away by force."""
    await cluster.storage_class(reclaimPolicy="Retain")
    async with cluster.provisioner():
        await cluster.claim()
    name = (await cluster.volume_of())["metadata"]["name"]
    await cluster.patch(CLAIM, {"metadata": {"finalizers": [INTENT]}})
    await cluster.delete(f"{VOLUMES}/{name}")
    await cluster.patch(f"{VOLUMES}/{name}", {"metadata": {"finalizers": None}})
    assert not await cluster.volumes()
    async with cluster.provisioner():
        await cluster.delete(CLAIM)
    assert await cluster.phase() == "gone"
    assert len(cluster.driver.volumes) == 1
