"""Claims that wait for their first pod, and volumes made by hand."""

from collections.abc import Sequence

from mooring.controllers.binding.run import BinderSettings
from tests.fakes.objects import (
    CLAIMS,
    CLASSES,
    NODES,
    PODS,
    VOLUMES,
    Doc,
    a_claim,
    a_pod,
)
from tests.scenarios.scheduling.cluster import (
    Cluster,
    a_local_volume,
    a_pod_with,
    a_ready_node,
    a_waiting_class,
)

NOT_HELPFUL = "Preemption is not helpful for scheduling"
SCHEDULED = ("Normal", "Scheduled", "Successfully assigned default/web to n1")


def local(name: str = "data", storage: str = "1Gi", **spec: object) -> Doc:
    return a_claim(name, storage, storageClassName="local", **spec)


def nowhere(why: str, nodes: int = 2) -> str:
    """What a pod says that no node will do for, for this one reason."""
    return (
        f"0/{nodes} nodes are available: {why}. "
        f"preemption: 0/{nodes} nodes are available: {nodes} {NOT_HELPFUL}."
    )


async def set_up(cluster: Cluster, *docs: Doc, nodes: Sequence[str] = ("n1", "n2")) -> None:
    """Nodes, a class that waits, and these volumes and claims; the binder has seen them all."""
    await cluster.nodes(*nodes)
    await cluster.waiting_class()
    for doc in docs:
        await cluster.create(VOLUMES if doc["kind"] == "PersistentVolume" else CLAIMS, doc)
    await cluster.passes(1)


async def one_disk(cluster: Cluster) -> None:
    """A node, its disk and a claim for it; then the binder leaves."""
    async with cluster.binder():
        await set_up(cluster, a_local_volume("disk", "n1"), local(), nodes=["n1"])


async def test_a_claim_waits_for_its_first_pod_and_is_bound_where_that_goes(
    cluster: Cluster,
) -> None:
    async with cluster.both():
        await set_up(cluster, a_local_volume("disk", "n1"), local())
        assert await cluster.claim() == "Pending"
        assert await cluster.volume() == "Available"
        await cluster.create(PODS, a_pod_with("data"))
        assert await cluster.pod() == "n1"
        assert await cluster.claim() == "Bound disk 1Gi"
        assert await cluster.volume() == "Bound ref=data+ BBC"
        assert await cluster.selected_node() == ""
        assert await cluster.said() == [SCHEDULED]
        first, *_ = await cluster.told()
        waits = "waiting for first consumer to be created before binding"
        assert first == ("Normal", "WaitForFirstConsumer", waits)


async def test_the_binder_says_for_which_pods_it_waits(cluster: Cluster) -> None:
    async with cluster.both():
        await set_up(cluster, local())
        await cluster.create(PODS, a_pod_with("data"))
        await cluster.passes(1)
        assert await cluster.told("WaitForPodScheduled") == [
            ("Normal", "WaitForPodScheduled", "waiting for pod web to be scheduled")
        ]
        why = nowhere("2 node(s) didn't find available persistent volumes to bind")
        assert await cluster.pod() == f"Unschedulable: {why}"
        assert await cluster.said() == [("Warning", "FailedScheduling", why)]
        await cluster.create(VOLUMES, a_local_volume("disk", "n2"))
        await cluster.passes(2)
        assert (await cluster.pod(), await cluster.claim()) == ("n2", "Bound disk 1Gi")


async def test_two_claims_of_a_pod_are_bound_by_size_on_the_node_that_has_both(
    cluster: Cluster,
) -> None:
    async with cluster.both():
        await set_up(
            cluster,
            a_local_volume("big", "n1", "5Gi"),
            a_local_volume("small", "n1", "1Gi"),
            a_local_volume("alone", "n2", "5Gi"),
            local("one", "2Gi"),
            local("two", "1Gi"),
        )
        await cluster.create(PODS, a_pod_with("one", "two"))
        assert await cluster.pod() == "n1"
        assert await cluster.claim("one") == "Bound big 5Gi"
        assert await cluster.claim("two") == "Bound small 1Gi"
        assert await cluster.volume("alone") == "Available"


async def test_one_volume_is_not_enough_for_two_claims(cluster: Cluster) -> None:
    async with cluster.both():
        await set_up(cluster, a_local_volume("disk", "n1"), local("one"), local("two"))
        await cluster.create(PODS, a_pod_with("one", "two"))
        why = nowhere("2 node(s) didn't find available persistent volumes to bind")
        assert await cluster.pod() == f"Unschedulable: {why}"
        assert await cluster.volume() == "Available", "nothing is taken for half a pod"


async def test_a_pod_goes_to_the_node_of_its_bound_volume(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1", "n2")
        await cluster.create(VOLUMES, a_local_volume("disk", "n2", storageClassName=None))
        await cluster.create(CLAIMS, a_claim(storageClassName=""))
        await cluster.passes(1)
        assert await cluster.claim() == "Bound disk 1Gi"
        await cluster.create(PODS, a_pod_with("data"))
        assert await cluster.pod() == "n2"


async def test_a_volume_out_of_reach_keeps_its_pod_waiting(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1", "n2")
        await cluster.create(VOLUMES, a_local_volume("disk", "n3", storageClassName=None))
        await cluster.create(CLAIMS, a_claim(storageClassName=""))
        await cluster.passes(1)
        await cluster.create(PODS, a_pod_with("data"))
        why = nowhere(
            "2 node(s) didn't match PersistentVolume's node affinity "
            '(volume "disk" is only on node "n3")'
        )
        assert await cluster.pod() == f"Unschedulable: {why}"
        await cluster.nodes("n3")
        await cluster.passes(2)
        assert await cluster.pod() == "n3"


async def test_a_claim_that_is_bound_at_once_is_waited_for_without_a_pause(
    cluster: Cluster,
) -> None:
    async with cluster.both():
        await cluster.nodes("n1")
        await cluster.create(CLAIMS, a_claim(storageClassName=""))
        await cluster.create(PODS, a_pod_with("data"))
        why = nowhere("pod has unbound immediate PersistentVolumeClaims", 1)
        assert await cluster.pod() == f"Unschedulable: {why}"
        await cluster.create(VOLUMES, a_local_volume("disk", "n1", storageClassName=None))
        assert await cluster.pod() == "n1"


async def test_a_claim_that_comes_after_its_pod_is_looked_at_without_a_pause(
    cluster: Cluster,
) -> None:
    async with cluster.both():
        await set_up(cluster, a_local_volume("disk", "n1"), nodes=["n1"])
        await cluster.create(PODS, a_pod_with("data"))
        why = nowhere('persistentvolumeclaim "data" not found', 1)
        assert await cluster.pod() == f"Unschedulable: {why}"
        await cluster.create(CLAIMS, local())
        assert (await cluster.pod(), await cluster.claim()) == ("n1", "Bound disk 1Gi")


async def test_a_claim_that_is_going_has_no_new_pods(cluster: Cluster) -> None:
    async with cluster.scheduler():
        await cluster.nodes("n1")
        await cluster.create(CLAIMS, a_claim())
        await cluster.delete(CLAIMS, "data")  # its finalizer holds it: nobody takes it off here
        await cluster.create(PODS, a_pod_with("data"))
        why = nowhere('persistentvolumeclaim "data" is being deleted', 1)
        assert await cluster.pod() == f"Unschedulable: {why}"


async def test_a_lost_claim(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1")
        await cluster.create(VOLUMES, a_local_volume("disk", "n1", storageClassName=None))
        await cluster.create(CLAIMS, a_claim(storageClassName=""))
        await cluster.passes(1)
        await cluster.patch(VOLUMES, "disk", {"metadata": {"finalizers": None}})
        await cluster.delete(VOLUMES, "disk")
        await cluster.patch(VOLUMES, "disk", {"metadata": {"finalizers": None}})
        await cluster.create(PODS, a_pod_with("data"))
        gone = 'persistentvolumeclaim "data" bound to non-existent persistentvolume "disk"'
        assert await cluster.pod() == f"Unschedulable: {nowhere(gone, 1)}"


async def test_two_pods_do_not_take_one_volume(cluster: Cluster) -> None:
    async with cluster.both():
        disk = a_local_volume("disk", "n1")
        await set_up(cluster, disk, local("one"), local("two"), nodes=["n1"])
        api = cluster.api
        for name in ("one", "two"):  # both are there before the scheduler sees any
            answer = await api.post(PODS, a_pod_with(name, name=f"pod-{name}"))
            assert answer.code == 201
        await cluster.settle()
        assert await cluster.pod("pod-one") == "n1"
        why = nowhere("1 node(s) didn't find available persistent volumes to bind", 1)
        assert await cluster.pod("pod-two") == f"Unschedulable: {why}"
        assert await cluster.claim("two") == "Pending"


async def test_two_pods_share_a_claim_and_its_node(cluster: Cluster) -> None:
    async with cluster.both():
        await set_up(cluster, a_local_volume("disk", "n2"), local())
        for name in ("one", "two"):
            assert (await cluster.api.post(PODS, a_pod_with("data", name=name))).code == 201
        await cluster.passes(3)
        assert (await cluster.pod("one"), await cluster.pod("two")) == ("n2", "n2")
        assert await cluster.claim() == "Bound disk 1Gi"


async def test_a_volume_that_a_user_reserved_is_the_one(cluster: Cluster) -> None:
    reservation = {"namespace": "default", "name": "data"}
    async with cluster.both():
        mine = a_local_volume("mine", "n2", "9Gi", claimRef=reservation)
        await set_up(cluster, a_local_volume("small", "n1"), mine, local())
        await cluster.create(PODS, a_pod_with("data"))
        await cluster.passes(2)
        assert (await cluster.pod(), await cluster.claim()) == ("n2", "Bound mine 9Gi")
        assert await cluster.volume("mine") == "Bound ref=data+"


async def test_a_binder_that_is_away_is_waited_for(cluster: Cluster) -> None:
    await one_disk(cluster)
    async with cluster.scheduler():
        await cluster.create(PODS, a_pod_with("data"))
        await cluster.passes(300)
        assert await cluster.pod() == "", "it has a place, and nothing to complain of yet"
        assert await cluster.volume() == "Available ref=data+ BBC"
        async with cluster.binder():
            await cluster.passes(1)
            assert (await cluster.pod(), await cluster.claim()) == ("n1", "Bound disk 1Gi")


async def test_patience_ends_after_ten_minutes(cluster: Cluster) -> None:
    await one_disk(cluster)
    async with cluster.scheduler():
        await cluster.create(PODS, a_pod_with("data"))
        await cluster.passes(600)
        why = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
        assert await cluster.condition() == f"SchedulerError: {why}"
        assert await cluster.said() == [("Warning", "FailedScheduling", why)]
        async with cluster.binder():
            await cluster.passes(2)
            assert (await cluster.pod(), await cluster.claim()) == ("n1", "Bound disk 1Gi")


async def test_a_reservation_that_somebody_takes_back(cluster: Cluster) -> None:
    cluster.settings = BinderSettings(resync_seconds=1e6)
    await one_disk(cluster)
    async with cluster.scheduler():
        await cluster.create(PODS, a_pod_with("data"))
        await cluster.patch(VOLUMES, "disk", {"spec": {"claimRef": None}})
        why = 'binding volumes: ClaimRef got reset for pv "disk"'
        told = f'SchedulerError: running PreBind plugin "VolumeBinding": {why}'
        assert await cluster.condition() == told
        await cluster.passes(2)
        assert await cluster.volume() == "Available ref=data+ BBC", "it is tried again"


async def test_a_node_that_goes_while_its_volumes_are_bound(cluster: Cluster) -> None:
    await one_disk(cluster)
    async with cluster.scheduler():
        await cluster.create(PODS, a_pod_with("data"))
        await cluster.delete(NODES, "n1")
        why = 'binding volumes: failed to get node "n1": node "n1" not found'
        told = f'SchedulerError: running PreBind plugin "VolumeBinding": {why}'
        assert await cluster.condition() == told
        await cluster.nodes("n1")
        async with cluster.binder():
            await cluster.passes(3)
            assert (await cluster.pod(), await cluster.claim()) == ("n1", "Bound disk 1Gi")


async def test_a_pod_that_goes_while_its_volumes_are_bound(cluster: Cluster) -> None:
    async with cluster.binder():
        await cluster.create(NODES, a_ready_node("n1", pods="1"))
        await cluster.waiting_class()
        await cluster.create(VOLUMES, a_local_volume("disk", "n1"))
        await cluster.create(CLAIMS, local())
        await cluster.passes(1)
    async with cluster.scheduler():
        await cluster.create(PODS, a_pod_with("data"))
        await cluster.create(PODS, a_pod("next"))
        assert (await cluster.pod("next")).startswith("Unschedulable: 0/1 nodes are available: 1 T")
        await cluster.delete(PODS, "web")
        await cluster.passes(2)
        assert await cluster.pod("next") == "n1"


async def test_a_class_that_goes_makes_its_claims_immediate(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1")
        await cluster.create(CLASSES, a_waiting_class())
        await cluster.create(CLAIMS, local())
        await cluster.delete(CLASSES, "local")
        await cluster.create(PODS, a_pod_with("data"))
        why = nowhere("pod has unbound immediate PersistentVolumeClaims", 1)
        assert await cluster.pod() == f"Unschedulable: {why}"
        await cluster.create(VOLUMES, a_local_volume("disk", "n1"))
        await cluster.passes(2)
        assert (await cluster.pod(), await cluster.claim()) == ("n1", "Bound disk 1Gi")
