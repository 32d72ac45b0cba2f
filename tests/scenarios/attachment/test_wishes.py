"""Which pods want which volumes."""

from typing import Any

import pytest

from mooring.model.pod import Pod
from mooring.model.volume import Volume
from tests.fakes.objects import ATTACHMENTS, CLAIMS, DRIVERS, NODES, PODS, a_claim, a_pod
from tests.scenarios.attachment.cluster import DRIVER, MANAGED, Cluster

Doc = dict[str, Any]


def container(**state: Doc) -> Doc:
    return {
        "name": "main",
        "image": "busybox:1",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": state,
    }


async def world(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.volume("pv1")


async def test_a_pod_without_a_node_wants_nothing_yet(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller():
        await cluster.pod(node="")
        assert await cluster.attachments() == []
        binding = {"target": {"kind": "Node", "name": "n1"}}
        named = {"metadata": {"name": "web"}, "apiVersion": "v1", "kind": "Binding"}
        await cluster.create(f"{PODS}/web/binding", named | binding)
        await cluster.settle()
        assert await cluster.attachments() == ["pv1 n1 attached"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_finished_pod_wants_nothing(cluster: Cluster, phase: str) -> None:
    await world(cluster)
    async with cluster.controller():
        await cluster.pod()
        await cluster.status("web", phase=phase)
        await cluster.passes(1)
        assert await cluster.attachments() == []


ENDING: dict[str, tuple[str, Doc, bool]] = {
    "a container runs": ("containerStatuses", container(running={}), True),
    "an init container runs": ("initContainerStatuses", container(running={}), True),
    "an ephemeral container runs": ("ephemeralContainerStatuses", container(running={}), True),
    "all have ended": ("containerStatuses", container(terminated={"exitCode": 0}), False),
    "none has begun": ("containerStatuses", container(waiting={"reason": "x"}), False),
}


@pytest.mark.parametrize(("field", "status", "stays"), ENDING.values(), ids=ENDING)
async def test_a_pod_that_is_deleted_wants_it_while_it_may_run(
    cluster: Cluster, field: str, status: Doc, *, stays: bool
) -> None:
    await world(cluster)
    async with cluster.controller():
        await cluster.pod()
        await cluster.status("web", **{field: [status]})
        await cluster.terminate("web")
        await cluster.passes(1)
        assert bool(await cluster.attachments()) is stays


async def test_a_pod_that_is_deleted_without_any_status_wants_nothing(
    cluster: Cluster,
) -> None:
    await world(cluster)
    async with cluster.controller():
        await cluster.pod()
        await cluster.terminate("web")
        await cluster.passes(1)
        assert await cluster.attachments() == []


async def test_a_claim_that_becomes_bound_brings_its_volume(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.claim("pv1")
    async with cluster.controller():
        await cluster.pod()
        await cluster.passes(1)
        assert await cluster.attachments() == []
        await cluster.bind("pv1")
        assert await cluster.attachments() == ["pv1 n1 attached"]


async def test_a_volume_that_is_seen_after_its_claim_is_brought_at_once(
    cluster: Cluster,
) -> None:
    """Upstream finds it three minutes later."""
    await cluster.node()
    await cluster.claim("pv1")
    async with cluster.controller() as running:
        await cluster.pod()
        running.client.hold(Volume)
        await cluster.bind("pv1")
        assert await cluster.attachments() == []
        running.client.let_go()
        await cluster.settle()
        assert await cluster.attachments() == ["pv1 n1 attached"]


async def test_a_volume_that_is_anothers_is_never_brought(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.claim("pv1")
    await cluster.bind("pv1", uid="somebody-elses")
    async with cluster.controller():
        await cluster.pod()
        await cluster.passes(600)
        assert await cluster.attachments() == []


@pytest.mark.parametrize("is_owner", [True, False], ids=["its own", "somebody else's"])
async def test_the_claim_of_an_ephemeral_volume_must_be_the_pods(
    cluster: Cluster, *, is_owner: bool
) -> None:
    await cluster.node()
    template = {"spec": a_claim("x", storageClassName="")["spec"]}
    doc = a_pod("web", "n1")
    doc["spec"]["volumes"] = [{"name": "own", "ephemeral": {"volumeClaimTemplate": template}}]
    pod = await cluster.create(PODS, doc)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web", "controller": is_owner}
    claim = a_claim("web-own", storageClassName="")
    claim["metadata"]["ownerReferences"] = [owner | {"uid": pod["metadata"]["uid"]}]
    await cluster.create(CLAIMS, claim)
    async with cluster.controller():
        await cluster.bind("web-own")
        await cluster.passes(600)
        assert bool(await cluster.attachments()) is is_owner


async def test_a_pod_that_left_while_nobody_watched_is_missed_no_longer(
    cluster: Cluster,
) -> None:
    await world(cluster)
    async with cluster.controller() as running:
        await cluster.pod()
        running.client.hold(Pod)
        await cluster.gone()
        await cluster.pod(volume="")  # another of the same name
        assert await cluster.attachments() == ["pv1 n1 attached"]
        running.client.let_go()
        await cluster.passes(1)
        assert await cluster.attachments() == []


async def test_a_driver_that_no_longer_attaches_has_its_volumes_detached(
    cluster: Cluster,
) -> None:
    await world(cluster)
    await cluster.driver(attachRequired=True)
    async with cluster.controller():
        await cluster.pod()
        assert await cluster.attachments() == ["pv1 n1 attached"]
        await cluster.delete(f"{DRIVERS}/{DRIVER}")
        await cluster.driver(attachRequired=False)
        await cluster.passes(1)
        assert await cluster.attachments() == []
        assert await cluster.reported("n1") == []
        await cluster.delete(f"{DRIVERS}/{DRIVER}")
        await cluster.passes(1)
        assert await cluster.attachments() == ["pv1 n1 attached"]


async def test_a_driver_that_does_not_attach_has_no_attachments(cluster: Cluster) -> None:
    await world(cluster)
    await cluster.driver(attachRequired=False)
    async with cluster.controller():
        await cluster.pod()
        await cluster.passes(600)
        assert await cluster.attachments() == []


async def test_inline_volumes_of_a_driver_are_not_attached(cluster: Cluster) -> None:
    await cluster.node()
    async with cluster.controller():
        doc = a_pod("web", "n1")
        doc["spec"]["volumes"] = [{"name": "own", "csi": {"driver": DRIVER}}]
        await cluster.create(PODS, doc)
        await cluster.passes(600)
        assert await cluster.attachments() == []


async def test_volumes_of_other_kinds_are_not_attached(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.claim("pv1")
    host: Doc = {"csi": None, "hostPath": {"path": "/tmp/x"}}  # noqa: S108  never looked at
    await cluster.bind("pv1", **host)
    async with cluster.controller():
        doc = a_pod("web", "n1", "pv1")
        doc["spec"]["volumes"].append({"name": "scratch", "emptyDir": {}})
        await cluster.create(PODS, doc)
        await cluster.passes(600)
        assert await cluster.attachments() == []


async def test_a_node_that_attaches_for_itself_is_left_alone_until_it_does_not(
    cluster: Cluster,
) -> None:
    own = [{"name": "kubernetes.io/other/thing", "devicePath": "/dev/x"}]
    await cluster.node(is_managed=False, volumesAttached=own)
    await cluster.volume("pv1")
    async with cluster.controller() as running:
        await cluster.pod()
        await cluster.passes(600)
        assert running.calls == []
        await cluster.patch(f"{NODES}/n1", {"metadata": {"annotations": {MANAGED: "true"}}})
        await cluster.passes(1)
        assert await cluster.reported("n1") == ["pv1", "kubernetes.io/other/thing"]


async def test_a_pod_on_a_node_that_is_not_there_yet_waits_for_it(cluster: Cluster) -> None:
    await cluster.volume("pv1")
    async with cluster.controller():
        await cluster.pod()
        await cluster.passes(600)
        assert await cluster.attachments() == []
        await cluster.node()
        assert await cluster.attachments() == ["pv1 n1 attached"]


async def test_a_claim_that_gets_lost_takes_nothing_from_its_pod(cluster: Cluster) -> None:
    await world(cluster)
    async with cluster.controller():
        await cluster.pod()
        await cluster.patch(f"{CLAIMS}/pv1/status", {"status": {"phase": "Lost"}})
        await cluster.passes(600)
        assert await cluster.attachments() == ["pv1 n1 attached"]


async def test_a_migrated_volume_goes_by_its_drivers_name(cluster: Cluster) -> None:
    await cluster.node()
    await cluster.claim("pv1")
    await cluster.bind("pv1", csi=None, gcePersistentDisk={"pdName": "disk-1"})
    handle = cluster.handles["pv1"] = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk-1"
    async with cluster.controller() as running:
        await cluster.pod()
        status = (await cluster.find(f"{NODES}/n1") or {})["status"]
        name = f"kubernetes.io/csi/pd.csi.storage.gke.io^{handle}"
        assert [one["name"] for one in status["volumesAttached"]] == [name]
        assert (
            running.count(
                "storage_operation_duration_seconds_count",
                volume_plugin="kubernetes.io/csi:pd.csi.storage.gke.io",
                operation_name="volume_attach",
                status="success",
                migrated="true",
            )
            == 1
        )
    async with cluster.controller() as running:
        await cluster.passes(1)
        assert running.calls == []
        await cluster.gone()
        await cluster.passes(1)
        assert await cluster.attachments() == []


async def test_a_migrated_inline_volume_says_that_it_holds_a_file_system(cluster: Cluster) -> None:
    await cluster.node()
    async with cluster.controller():
        doc = a_pod("web", "n1")
        doc["spec"]["volumes"] = [{"name": "disk", "gcePersistentDisk": {"pdName": "disk-1"}}]
        await cluster.create(PODS, doc)
        await cluster.passes(1)
        (made,) = (await cluster.api.get(ATTACHMENTS)).doc["items"]
        assert made["spec"]["source"]["inlineVolumeSpec"]["volumeMode"] == "Filesystem"
