"""Pods and nodes, and what stands between them."""

from mooring.model.wellknown import Annotation
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CSI_NODES,
    NODES,
    PODS,
    VOLUMES,
    Doc,
    a_claim,
    a_csi_node,
    a_pod,
    a_volume,
    an_attachment,
)
from tests.scenarios.scheduling.cluster import Cluster, a_pod_with, a_ready_node

RWOP = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod"
)
NO_VICTIMS = "No preemption victims found for incoming pod"


async def test_a_pod_is_put_on_a_node(cluster: Cluster) -> None:
    async with cluster.scheduler():
        await cluster.nodes("n1")
        await cluster.create(PODS, a_pod())
        assert await cluster.pod() == "n1"
        doc = await cluster.find(PODS, "web")
        assert doc is not None
        (condition,) = [c for c in doc["status"]["conditions"] if c["type"] == "PodScheduled"]
        assert condition["status"] == "True"
        assert await cluster.said() == [
            ("Normal", "Scheduled", "Successfully assigned default/web to n1")
        ]


async def test_pods_are_spread(cluster: Cluster) -> None:
    async with cluster.scheduler():
        await cluster.nodes("n1", "n2", "n3")
        for number in range(6):
            await cluster.create(PODS, a_pod(f"web-{number}"))
        places = [await cluster.pod(f"web-{number}") for number in range(6)]
        assert sorted(places) == ["n1", "n1", "n2", "n2", "n3", "n3"]


async def test_without_nodes_a_pod_waits_for_one(cluster: Cluster) -> None:
    async with cluster.scheduler():
        await cluster.create(PODS, a_pod())
        assert await cluster.pod() == "Unschedulable: no nodes available to schedule pods"
        await cluster.nodes("n1")
        await cluster.passes(1)
        assert await cluster.pod() == "n1"


async def test_a_condition_tells_why_and_since_when(cluster: Cluster) -> None:
    async with cluster.scheduler():
        await cluster.create(PODS, a_pod())
        doc = await cluster.find(PODS, "web")
        assert doc is not None
        (condition,) = doc["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
        assert condition["lastTransitionTime"] == "2026-01-02T03:04:05Z"
        assert condition["observedGeneration"] == 1
        assert doc["status"]["phase"] == "Pending"
        await cluster.passes(30)
        await cluster.create(NODES, a_ready_node("n1", pods="0"))
        await cluster.passes(10)
        doc = await cluster.find(PODS, "web")
        assert doc is not None
        (condition,) = doc["status"]["conditions"]
        assert condition["message"].startswith("0/1 nodes are available: 1 Too many pods.")
        assert condition["lastTransitionTime"] == "2026-01-02T03:04:05Z", "it is False since then"


async def test_a_full_node_has_room_when_a_pod_goes(cluster: Cluster) -> None:
    async with cluster.scheduler():
        await cluster.create(NODES, a_ready_node("n1", pods="1"))
        await cluster.create(PODS, a_pod("first"))
        await cluster.create(PODS, a_pod())
        assert await cluster.pod() == (
            "Unschedulable: 0/1 nodes are available: 1 Too many pods. "
            f"preemption: 0/1 nodes are available: 1 {NO_VICTIMS}."
        )
        await cluster.delete(PODS, "first", grace=0)
        await cluster.passes(1)
        assert await cluster.pod() == "n1"


async def test_a_pod_that_has_ended_makes_room(cluster: Cluster) -> None:
    async with cluster.scheduler():
        await cluster.create(NODES, a_ready_node("n1", pods="1"))
        await cluster.create(PODS, a_pod("first"))
        await cluster.create(PODS, a_pod())
        await cluster.patch(PODS, "first", {"status": {"phase": "Succeeded"}}, "/status")
        await cluster.passes(1)
        assert await cluster.pod() == "n1"


async def test_a_node_that_is_opened(cluster: Cluster) -> None:
    async with cluster.scheduler():
        await cluster.nodes("n1")
        await cluster.patch(NODES, "n1", {"spec": {"unschedulable": True}})
        await cluster.create(PODS, a_pod())
        assert "1 node(s) were unschedulable." in await cluster.pod()
        await cluster.passes(60)
        assert len(await cluster.said()) == 1, "nothing happened: nobody looks again"
        await cluster.patch(NODES, "n1", {"spec": {"unschedulable": None}})
        assert await cluster.pod() == "n1"


async def test_a_pod_that_comes_to_tolerate_a_taint(cluster: Cluster) -> None:
    async with cluster.scheduler():
        await cluster.nodes("n1")
        taint = {"key": "gpu", "effect": "NoSchedule"}
        await cluster.patch(NODES, "n1", {"spec": {"taints": [taint]}})
        await cluster.create(PODS, a_pod())
        assert "1 node(s) had untolerated taint(s)." in await cluster.pod()
        doc = await cluster.find(PODS, "web")
        assert doc is not None
        more = [*doc["spec"]["tolerations"], {"key": "gpu", "operator": "Exists"}]
        await cluster.patch(PODS, "web", {"spec": {"tolerations": more}})
        await cluster.passes(1)
        assert await cluster.pod() == "n1"


async def test_a_gated_pod_is_left_alone(cluster: Cluster) -> None:
    async with cluster.scheduler():
        await cluster.nodes("n1")
        doc = a_pod()
        doc["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
        await cluster.create(PODS, doc)
        assert (await cluster.condition()).startswith("SchedulingGated: ")
        assert await cluster.said() == []
        await cluster.patch(PODS, "web", {"spec": {"schedulingGates": None}})
        assert await cluster.pod() == "n1"


async def test_pods_of_other_schedulers_are_theirs(cluster: Cluster) -> None:
    async with cluster.scheduler():
        await cluster.nodes("n1")
        doc = a_pod()
        doc["spec"]["schedulerName"] = "another"
        await cluster.create(PODS, doc)
        await cluster.passes(5)
        assert await cluster.pod() == ""


async def test_pods_that_others_place_count(cluster: Cluster) -> None:
    async with cluster.scheduler():
        await cluster.create(NODES, a_ready_node("n1", pods="1"))
        await cluster.create(PODS, a_pod("other", node="n1"))
        await cluster.create(PODS, a_pod())
        assert "1 Too many pods." in await cluster.pod()


async def test_what_a_pod_asks_for(cluster: Cluster) -> None:
    def asking(name: str, cpu: str) -> Doc:
        doc = a_pod(name)
        doc["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
        return doc

    async with cluster.scheduler():
        await cluster.nodes("n1")
        for name in ("a", "b"):
            await cluster.create(PODS, asking(name, "2"))
        await cluster.create(PODS, asking("c", "1m"))
        await cluster.create(PODS, a_pod("d"))
        assert [await cluster.pod(name) for name in "abd"] == ["n1", "n1", "n1"]
        assert "1 Insufficient cpu." in await cluster.pod("c")


async def test_a_claim_for_one_pod_is_for_one_pod(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1", "n2")
        only: Doc = {"accessModes": ["ReadWriteOncePod"]}
        await cluster.create(VOLUMES, a_volume(**only))
        await cluster.create(CLAIMS, a_claim(**only, storageClassName=""))
        await cluster.passes(1)
        for name in ("one", "two"):
            assert (await cluster.api.post(PODS, a_pod_with("data", name=name))).code == 201
        await cluster.settle()
        assert await cluster.pod("one") == "n1"
        assert await cluster.pod("two") == (
            f"Unschedulable: 0/2 nodes are available: 2 {RWOP}. "
            f"preemption: 0/2 nodes are available: 2 {NO_VICTIMS}."
        )
        await cluster.delete(PODS, "one", grace=0)
        await cluster.passes(2)
        assert await cluster.pod("two") == "n1"


async def test_a_driver_attaches_so_many_volumes(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1")
        limited = a_csi_node("n1", "d.example.com")
        limited["spec"]["drivers"][0]["allocatable"] = {"count": 1}
        await cluster.create(CSI_NODES, limited)
        for name in ("a", "b"):
            source = {"driver": "d.example.com", "volumeHandle": name}
            await cluster.create(VOLUMES, a_volume(f"pv-{name}", csi=source))
            await cluster.create(CLAIMS, a_claim(name, storageClassName=""))
        await cluster.passes(1)
        await cluster.create(PODS, a_pod_with("a", name="one"))
        claim = await cluster.find(CLAIMS, "a")
        assert claim is not None
        volume = claim["spec"]["volumeName"]
        await cluster.create(ATTACHMENTS, an_attachment(volume=volume))
        await cluster.create(PODS, a_pod_with("b", name="two"))
        assert "1 node(s) exceed max volume count." in await cluster.pod("two")
        await cluster.delete(PODS, "one", grace=0)
        await cluster.passes(2)
        assert "1 node(s) exceed max volume count." in await cluster.pod("two"), "still attached"
        await cluster.delete(ATTACHMENTS, "link")
        await cluster.passes(5)
        assert await cluster.pod("two") == "n1"


async def test_a_zone_keeps_a_pod_with_its_volume(cluster: Cluster) -> None:
    async with cluster.both():
        for name, zone in (("n1", "a"), ("n2", "b")):
            await cluster.create(NODES, a_ready_node(name, **{"topology.kubernetes.io/zone": zone}))
        volume = a_volume()
        volume["metadata"]["labels"] = {"topology.kubernetes.io/zone": "b"}
        await cluster.create(VOLUMES, volume)
        await cluster.create(CLAIMS, a_claim(storageClassName=""))
        await cluster.passes(1)
        await cluster.create(PODS, a_pod_with("data"))
        assert await cluster.pod() == "n2"


async def test_an_ephemeral_claim_is_waited_for(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1")
        pod = a_pod()
        wanted = a_claim(storageClassName="")["spec"]
        template = {"volumeClaimTemplate": {"spec": wanted}}
        pod["spec"]["volumes"] = [{"name": "scratch", "ephemeral": template}]
        made = await cluster.create(PODS, pod)
        assert await cluster.pod() == (
            "Unschedulable: 0/1 nodes are available: waiting for ephemeral volume controller to "
            'create the persistentvolumeclaim "web-scratch". preemption: 0/1 nodes are available: '
            "1 Preemption is not helpful for scheduling."
        )
        claim = a_claim("web-scratch", storageClassName="")
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "web", "controller": True}
        claim["metadata"]["ownerReferences"] = [owner | {"uid": made["metadata"]["uid"]}]
        await cluster.create(VOLUMES, a_volume())
        await cluster.create(CLAIMS, claim)
        await cluster.passes(5)
        assert await cluster.pod() == "n1"


async def test_a_pod_that_is_going_is_not_placed(cluster: Cluster) -> None:
    pod = a_pod()
    pod["metadata"]["finalizers"] = ["example.com/keep"]
    await cluster.create(PODS, pod)
    await cluster.delete(PODS, "web")
    async with cluster.scheduler():
        await cluster.nodes("n1")
        await cluster.passes(1)
        skipped = "skip schedule deleting pod: default/web"
        assert await cluster.said() == [("Warning", "FailedScheduling", skipped)]


async def test_pauses_grow_and_a_slow_look_remains_as_a_net(cluster: Cluster) -> None:
    async with cluster.scheduler() as client:
        await cluster.nodes("n1")
        await cluster.patch(NODES, "n1", {"spec": {"unschedulable": True}})
        await cluster.create(PODS, a_pod())
        assert "unschedulable" in await cluster.pod()
        before = client.left
        await cluster.passes(299)
        assert client.left == before
        await cluster.passes(10)
        assert client.left == before - 1, "one event: told again, counted"


async def test_marks_of_others_stay(cluster: Cluster) -> None:
    async with cluster.both():
        await cluster.nodes("n1")
        await cluster.waiting_class(name="fast", provisioner="d.example.com")
        claim = a_claim(storageClassName="fast")
        claim["metadata"]["annotations"] = {"example.com/note": "keep"}
        await cluster.create(CLAIMS, claim)
        await cluster.create(PODS, a_pod_with("data"))
        doc = await cluster.find(CLAIMS, "data")
        assert doc is not None
        marks = doc["metadata"]["annotations"]
        assert marks["example.com/note"] == "keep"
        assert marks[Annotation.SELECTED_NODE] == "n1"
