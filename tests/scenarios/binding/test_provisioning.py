"""Volumes made on demand: by somebody outside, by a plugin, or not at all."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from mooring.errors import AlreadyExists, ServerError
from mooring.model.wellknown import Annotation
from mooring.plugins.contract import PluginError
from tests.fakes.objects import (
    CLAIMS,
    CLASSES,
    CSI_NODES,
    DRIVERS,
    NODES,
    VOLUMES,
    Doc,
    a_claim,
    a_class,
    a_csi_node,
    a_driver,
    a_node,
    a_volume,
)
from tests.scenarios.binding.cluster import FAKE, Cluster

IN_TREE = a_class() | {"provisioner": FAKE}
DELAYED = IN_TREE | {"volumeBindingMode": "WaitForFirstConsumer"}
FAST = a_claim(storageClassName="fast")
FAILED = "ProvisioningFailed"


def waiting_for(name: str) -> tuple[str, str, str]:
    message = (
        f"Waiting for a volume to be created either by the external provisioner '{name}' or "
        "manually by the system administrator. If volume creation is delayed, please verify that "
        "the provisioner is running and correctly registered."
    )
    return ("Normal", "ExternalProvisioning", message)


async def marks(cluster: Cluster) -> dict[str, str]:
    doc = await cluster.find(CLAIMS, "data")
    assert doc is not None
    return dict(doc["metadata"].get("annotations", {}))


async def made_for(cluster: Cluster) -> str:
    """The name of the volume that is made for the claim."""
    doc = await cluster.find(CLAIMS, "data")
    assert doc is not None
    return f"pvc-{doc['metadata']['uid']}"


async def test_a_plugin_makes_a_volume_and_the_claim_is_bound_to_it(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(CLASSES, IN_TREE)
        await cluster.create(CLAIMS, FAST)
        name = await made_for(cluster)
        assert await cluster.claim() == f"Bound {name} 1Gi"
        assert await cluster.volume(name) == "Bound ref=data+ BBC"
        assert await cluster.told() == [
            (
                "Normal",
                "ProvisioningSucceeded",
                f"Successfully provisioned volume {name} using {FAKE}",
            )
        ]
        volume = await cluster.find(VOLUMES, name)
    assert volume is not None
    assert volume["metadata"]["annotations"][Annotation.PROVISIONED_BY] == FAKE
    assert "kubernetes.io/pv-controller" in volume["metadata"]["finalizers"]
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    assert volume["spec"]["storageClassName"] == "fast"
    shown = await marks(cluster)
    assert shown[Annotation.PROVISIONER] == shown[Annotation.PROVISIONER_BETA] == FAKE


CANNOT = {
    "the class is not there": (None, 'storageclass.storage.k8s.io "fast" not found'),
    "the plugin is not there": (
        a_class() | {"provisioner": "kubernetes.io/unknown"},
        "no volume plugin matched name: kubernetes.io/unknown. No CSI driver or plugin "
        f'"kubernetes.io/unknown" is registered; registered are "{FAKE}".',
    ),
    "volumes of the class are made by hand": (
        a_class() | {"provisioner": "kubernetes.io/no-provisioner"},
        "no volume plugin matched name: kubernetes.io/no-provisioner",
    ),
}


@pytest.mark.parametrize(("made", "why"), CANNOT.values(), ids=CANNOT)
async def test_nobody_makes_it(cluster: Cluster, made: Doc | None, why: str) -> None:
    async with cluster.binder():
        if made is not None:
            await cluster.create(CLASSES, made)
        await cluster.create(CLAIMS, FAST)
        assert await cluster.told() == [("Warning", FAILED, why)]
        assert await marks(cluster) == {}


async def test_a_class_that_comes_later_is_noticed(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(CLAIMS, FAST)
        await cluster.create(CLASSES, IN_TREE)
        assert (await cluster.claim()).startswith("Bound pvc-")


async def test_a_failure_is_told_and_tried_again_later(cluster: Cluster) -> None:
    cluster.plugin.failures = [PluginError("no room"), PluginError("no room")]
    async with cluster.binder():
        await cluster.create(CLASSES, IN_TREE)
        await cluster.create(CLAIMS, FAST)
        why = 'Failed to provision volume with StorageClass "fast": no room'
        assert await cluster.told() == [("Warning", FAILED, why)]
        assert (await marks(cluster))[Annotation.PROVISIONER] == FAKE
        await cluster.passes(0.6)
        assert len(cluster.plugin.provisioned) == 2
        await cluster.passes(0.6)
        assert len(cluster.plugin.provisioned) == 2, "the second pause is longer"
        await cluster.passes(0.6)
        assert (await cluster.claim()).startswith("Bound pvc-")


async def test_a_failure_for_one_node_asks_the_scheduler_for_another(cluster: Cluster) -> None:
    cluster.plugin.failures = [PluginError("no room")]
    claim = a_claim(storageClassName="fast")
    claim["metadata"]["annotations"] = {Annotation.SELECTED_NODE: "n1"}
    async with cluster.binder():
        await cluster.create(NODES, a_node("n1"))
        await cluster.create(CLASSES, DELAYED)
        await cluster.create(CLAIMS, claim)
        assert Annotation.SELECTED_NODE not in await marks(cluster)
        assert len(await cluster.told(FAILED)) == 1
        await cluster.passes(10)
        assert len(cluster.plugin.provisioned) == 1, "not before a node is chosen again"


async def test_a_node_that_comes_later_is_noticed(cluster: Cluster) -> None:
    claim = a_claim(storageClassName="fast")
    claim["metadata"]["annotations"] = {Annotation.SELECTED_NODE: "n1"}
    async with cluster.binder():
        await cluster.create(CLASSES, DELAYED)
        await cluster.create(CLAIMS, claim)
        why = 'Failed to get target node: node "n1" not found'
        assert await cluster.told() == [("Warning", FAILED, why)]
        await cluster.create(NODES, a_node("n1"))
        await cluster.passes(1)
        assert (await cluster.claim()).startswith("Bound pvc-")


async def test_the_api_refuses_the_volume_once(cluster: Cluster) -> None:
    cluster.refusals += [ServerError("on fire")]
    async with cluster.binder():
        await cluster.create(CLASSES, IN_TREE)
        await cluster.create(CLAIMS, FAST)
        assert await cluster.claim() == "Pending"
        await cluster.passes(10)
        assert (await cluster.claim()).startswith("Bound pvc-")
        assert cluster.plugin.provisioned == [await made_for(cluster)]


async def test_a_volume_that_the_api_has_already_counts_as_made(cluster: Cluster) -> None:
    cluster.refusals += [AlreadyExists("there")]
    async with cluster.binder():
        await cluster.create(CLASSES, IN_TREE)
        await cluster.create(CLAIMS, FAST)
        assert [told[1] for told in await cluster.told()] == ["ProvisioningSucceeded"]


async def test_the_api_refuses_the_volume_for_good_and_what_was_made_is_deleted(
    cluster: Cluster,
) -> None:
    cluster.refusals += [ServerError("on fire")] * 5
    async with cluster.binder():
        await cluster.create(CLASSES, IN_TREE)
        await cluster.create(CLAIMS, FAST)
        await cluster.passes(51)
        about = "for claim default/data: on fire. Deleting the volume."
        why = f"Error creating provisioned PV object {about}"
        assert await cluster.told() == [("Warning", FAILED, why)]
        assert cluster.plugin.deleted == [await made_for(cluster)]
        assert cluster.plugin.assets == set()


async def test_what_cannot_be_cleaned_up_is_told(cluster: Cluster) -> None:
    cluster.refusals += [ServerError("on fire")] * 5
    async with cluster.binder():
        await cluster.create(CLASSES, IN_TREE)
        await cluster.create(CLAIMS, FAST)
        cluster.plugin.failures = [PluginError("stuck")] * 5
        await cluster.passes(101)
        why = (
            "Error cleaning provisioned volume for claim default/data: stuck. "
            "Please delete manually."
        )
        assert await cluster.told("ProvisioningCleanupFailed") == [
            ("Warning", "ProvisioningCleanupFailed", why)
        ]


async def test_what_was_made_and_somebody_else_tells_of_is_not_deleted(cluster: Cluster) -> None:
    cluster.refusals += [ServerError("on fire")] * 5
    async with cluster.binder():
        await cluster.create(CLASSES, IN_TREE)
        await cluster.create(CLAIMS, FAST)
        name = await made_for(cluster)
        source = {"path": f"/tmp/{name}"}  # noqa: S108 - a name in a document
        found = a_volume("found", csi=None, hostPath=source, storageClassName="other")
        await cluster.create(VOLUMES, found)
        await cluster.passes(51)
        assert cluster.plugin.deleted == []
        assert cluster.plugin.assets == {name}


async def test_a_volume_that_is_there_already_is_not_made_again(cluster: Cluster) -> None:
    cluster.plugin.hangs = asyncio.Event()
    async with cluster.binder():
        await cluster.create(CLAIMS, FAST)
        name = await made_for(cluster)
        await cluster.create(VOLUMES, a_volume(name, "1Mi"))
        await cluster.create(CLASSES, IN_TREE)
        assert cluster.plugin.provisioned == []
        assert await cluster.told("ProvisioningSucceeded") == []


async def test_an_external_provisioner_makes_the_volume(cluster: Cluster) -> None:
    await cluster.create(DRIVERS, a_driver())
    async with cluster.binder():
        await cluster.create(CLASSES, a_class())
        claim = await cluster.create(CLAIMS, FAST)
        shown = await marks(cluster)
        assert shown[Annotation.PROVISIONER] == "d.example.com"
        assert shown[Annotation.PROVISIONER_BETA] == "d.example.com"
        assert await cluster.told() == [waiting_for("d.example.com")]
        reference = {"namespace": "default", "name": "data", "uid": claim["metadata"]["uid"]}
        made = a_volume("made", claimRef=reference, storageClassName="fast")
        await cluster.create(VOLUMES, made)
        assert await cluster.claim() == "Bound made 5Gi"
        assert await cluster.volume("made") == "Bound ref=data+"


async def test_a_provisioner_that_is_not_registered_is_told_with_those_that_are(
    cluster: Cluster,
) -> None:
    await cluster.create(DRIVERS, a_driver("c.example.com"))
    await cluster.create(CSI_NODES, a_csi_node("n1", "quite.different"))
    async with cluster.binder():
        await cluster.create(CLASSES, a_class())
        await cluster.create(CLAIMS, FAST)
        type, reason, message = waiting_for("d.example.com")
        listed = f'"c.example.com", "{FAKE}", "quite.different"'
        message += (
            f' No CSI driver or plugin "d.example.com" is registered; registered are {listed}.'
        )
        assert await cluster.told() == [(type, reason, f'{message} Did you mean "c.example.com"?')]


TOO_LARGE = (
    "no persistent volume is large enough: the claim asks for 9Gi, and the largest that would fit "
    'otherwise, "large", has 5Gi; '
)
BY_HAND = {
    "no class": ("", None, ("Normal", "FailedBinding", f"{TOO_LARGE}no storage class is set")),
    "a class in name only": (
        "fast",
        None,
        ("Warning", FAILED, f'{TOO_LARGE}storageclass.storage.k8s.io "fast" not found'),
    ),
    "a class that makes none": (
        "fast",
        a_class() | {"provisioner": "kubernetes.io/no-provisioner"},
        (
            "Warning",
            FAILED,
            f"{TOO_LARGE}no volume plugin matched name: kubernetes.io/no-provisioner",
        ),
    ),
}


@pytest.mark.parametrize(("name", "made", "said"), BY_HAND.values(), ids=BY_HAND)
async def test_a_claim_too_large_for_all_volumes_made_by_hand_is_told_so(
    cluster: Cluster, name: str, made: Doc | None, said: tuple[str, str, str]
) -> None:
    async with cluster.binder():
        if made is not None:
            await cluster.create(CLASSES, made)
        for volume, size in (("small", "1Gi"), ("large", "5Gi")):
            await cluster.create(VOLUMES, a_volume(volume, size, storageClassName=name))
        await cluster.create(CLAIMS, a_claim(storage="9Gi", storageClassName=name))
        assert await cluster.told() == [said]
        await cluster.create(VOLUMES, a_volume("larger", "10Gi", storageClassName=name))
        assert await cluster.claim() == "Bound larger 10Gi"


async def test_a_class_of_a_plugin_that_a_driver_has_taken_over(cluster: Cluster) -> None:
    driver = "pd.csi.storage.gke.io"
    await cluster.create(CSI_NODES, a_csi_node("n1", driver))
    async with cluster.binder():
        await cluster.create(CLASSES, a_class() | {"provisioner": "kubernetes.io/gce-pd"})
        await cluster.create(CLAIMS, FAST)
        shown = await marks(cluster)
        assert shown == {Annotation.PROVISIONER: driver, Annotation.PROVISIONER_BETA: driver}
        assert await cluster.told() == [waiting_for(driver)]


REFUSED = {
    "a plugin copies no data source": (
        IN_TREE,
        a_claim(storageClassName="fast", dataSource={"kind": "PersistentVolumeClaim", "name": "x"}),
        f'plugin "{FAKE}" is not a CSI plugin. '
        "Only CSI plugin can provision a claim with a datasource",
        False,
    ),
    "a plugin takes no mount options": (
        IN_TREE | {"mountOptions": ["ro", "soft"]},
        FAST,
        "Mount options are not supported by the provisioner but StorageClass "
        '"fast" has mount options [ro soft]',
        True,
    ),
}


@pytest.mark.parametrize(("made", "claim", "why", "marked"), REFUSED.values(), ids=REFUSED)
async def test_a_plugin_cannot_do_it(
    *, cluster: Cluster, made: Doc, claim: Doc, why: str, marked: bool
) -> None:
    async with cluster.binder():
        await cluster.create(CLASSES, made)
        await cluster.create(CLAIMS, claim)
        assert await cluster.told() == [("Warning", FAILED, why)]
        assert (Annotation.PROVISIONER in await marks(cluster)) is marked
        assert cluster.plugin.provisioned == []


async def test_a_delayed_claim_with_a_node_gets_a_volume_of_its_own(cluster: Cluster) -> None:
    claim = a_claim(storageClassName="fast")
    claim["metadata"]["annotations"] = {Annotation.SELECTED_NODE: "n1"}
    async with cluster.binder():
        await cluster.create(NODES, a_node("n1"))
        await cluster.create(CLASSES, DELAYED)
        await cluster.create(VOLUMES, a_volume(storageClassName="fast"))
        await cluster.create(CLAIMS, claim)
        await cluster.passes(1)
        assert await cluster.volume() == "Available"
        assert (await cluster.claim()).startswith("Bound pvc-")


async def test_a_claim_deleted_while_its_volume_is_made_leaves_nothing_behind(
    cluster: Cluster,
) -> None:
    cluster.plugin.hangs = asyncio.Event()
    async with cluster.binder():
        await cluster.create(CLASSES, IN_TREE)
        await cluster.create(CLAIMS, FAST)
        name = await made_for(cluster)
        await cluster.delete(CLAIMS, "data")
        cluster.plugin.hangs.set()
        await cluster.passes(1)
        assert await cluster.volume(name) == "gone"
        assert cluster.plugin.assets == set()


async def test_a_provisioner_that_hangs_holds_up_nobody_else(cluster: Cluster) -> None:
    cluster.plugin.hangs = asyncio.Event()
    async with cluster.binder():
        await cluster.create(CLASSES, IN_TREE)
        await cluster.create(CLAIMS, FAST)
        await cluster.create(VOLUMES, a_volume())
        await cluster.create(CLAIMS, a_claim("other"))
        assert await cluster.claim("other") == "Bound disk 5Gi"


async def test_a_volume_made_by_hand_is_taken_while_the_provisioner_hangs(
    cluster: Cluster,
) -> None:
    cluster.plugin.hangs = asyncio.Event()
    async with cluster.binder():
        await cluster.create(CLASSES, IN_TREE)
        await cluster.create(CLAIMS, FAST)
        name = await made_for(cluster)
        await cluster.create(VOLUMES, a_volume(storageClassName="fast"))
        assert await cluster.claim() == "Bound disk 5Gi"
        cluster.plugin.hangs.set()
        await cluster.passes(1)
        assert await cluster.volume(name) == "gone", "what came too late is deleted again"
        assert cluster.plugin.assets == set()


async def test_host_path_volumes_are_directories(cluster: Cluster, tmp_path: Path) -> None:
    cluster.temporary = tmp_path
    async with cluster.binder():
        await cluster.create(CLASSES, a_class() | {"provisioner": "kubernetes.io/host-path"})
        await cluster.create(CLAIMS, FAST)
        name = await made_for(cluster)
        folder = tmp_path / "hostpath_pv" / name.removeprefix("pvc-")
        await _until(cluster, folder.is_dir)
        await _until_async(cluster, "Bound")
        await cluster.delete(CLAIMS, "data")
        await _until(cluster, lambda: not folder.exists())


async def _until(cluster: Cluster, condition: Callable[[], bool]) -> None:
    """Threads make and remove directories, in their own time."""
    for _ in range(200):
        if condition():
            return
        await cluster.settle()
    raise AssertionError("it never came")


async def _until_async(cluster: Cluster, phase: str) -> None:
    for _ in range(200):
        if (await cluster.claim()).startswith(phase):
            return
        await cluster.settle()
    raise AssertionError("it never came")
