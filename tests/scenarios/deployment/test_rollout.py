"""Deployments: created, rolled out, rolled back, paused, scaled, failed, cleaned up."""

import pytest

from mooring.model.document import Doc
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import DEPLOYMENTS, PODS, REPLICA_SETS, a_pod
from tests.scenarios.deployment.cluster import Workloads

REVISION = "deployment.kubernetes.io/revision"
OLD, NEW = "busybox:1", "busybox:2"


@pytest.fixture
def cluster(api: ApiUnderTest) -> Workloads:
    return Workloads(api)


async def test_a_deployment_has_one_replica_set_whose_pods_become_available(
    cluster: Workloads,
) -> None:
    async with cluster.controllers():
        await cluster.deploy(replicas=3)
        ((_, made),) = (await cluster.sets()).items()
        label = made["metadata"]["labels"]["pod-template-hash"]
        assert made["metadata"]["name"] == f"web-{label}"
        assert made["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": label}
        found = await cluster.pods()
        assert {pod["metadata"]["labels"]["pod-template-hash"] for pod in found} == {label}
        assert (await cluster.condition("Available"))[:2] == ("False", "MinimumReplicasUnavailable")
        await cluster.start_all()
        assert len(await cluster.pods()) == 3
        assert await cluster.condition("Available") == (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
        assert await cluster.condition("Progressing") == (
            "True",
            "NewReplicaSetAvailable",
            f'ReplicaSet "web-{label}" has successfully progressed.',
        )
        stored = await cluster.deployment()
        assert stored["metadata"]["generation"] == 1
        assert stored["metadata"]["annotations"] == {REVISION: "1"}
        counts = {key: value for key, value in stored["status"].items() if key != "conditions"}
        assert counts == {
            "observedGeneration": 1,
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "terminatingReplicas": 0,
        }


async def test_a_new_image_is_rolled_out_one_by_one_and_back_again(cluster: Workloads) -> None:
    async with cluster.controllers():
        await cluster.deploy(replicas=3)
        await cluster.start_all()
        await cluster.set_image(NEW)
        assert await cluster.sizes() == {OLD: 3, NEW: 1}
        for _ in range(20):
            assert len(await cluster.pods()) <= 4
            assert await cluster.ready_pods() >= 3
            if not await cluster.start(1):
                break
        assert await cluster.sizes() == {OLD: 0, NEW: 3}
        assert (await cluster.deployment())["metadata"]["annotations"][REVISION] == "2"
        names = {image: each["metadata"]["name"] for image, each in (await cluster.sets()).items()}
        await cluster.set_image(OLD)
        await cluster.start_all()
        assert await cluster.sizes() == {OLD: 3, NEW: 0}
        sets = await cluster.sets()
        assert {image: each["metadata"]["name"] for image, each in sets.items()} == names
        annotations = sets[OLD]["metadata"]["annotations"]
        assert (annotations[REVISION], annotations[f"{REVISION}-history"]) == ("3", "1")
        assert (await cluster.deployment())["metadata"]["annotations"][REVISION] == "3"
        assert len(await cluster.pods()) == 3


async def test_scaling_is_told_in_events(cluster: Workloads) -> None:
    async with cluster.controllers():
        await cluster.deploy(replicas=1)
        ((_, made),) = (await cluster.sets()).items()
        name = made["metadata"]["name"]
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "/scale")
        assert await cluster.sizes() == {OLD: 3}
        told = [event[1:] for event in await cluster.events("ScalingReplicaSet")]
        assert told == [
            (
                "Deployment/web",
                f"Scaled up replica set {name} from 0 to 1",
                "deployment-controller",
            ),
            (
                "Deployment/web",
                f"Scaled up replica set {name} from 1 to 3",
                "deployment-controller",
            ),
        ]


async def test_with_one_pod_and_no_surge_the_old_one_goes_first(cluster: Workloads) -> None:
    rolling = {"maxSurge": 0, "maxUnavailable": 1}
    async with cluster.controllers():
        await cluster.deploy(replicas=1, strategy={"rollingUpdate": rolling})
        await cluster.start_all()
        await cluster.set_image(NEW)
        assert len(await cluster.pods()) == 1
        assert await cluster.sizes() == {OLD: 0, NEW: 1}


async def test_recreate_waits_until_the_last_old_pod_is_gone(cluster: Workloads) -> None:
    async with cluster.controllers():
        await cluster.deploy(replicas=2, strategy={"type": "Recreate"})
        for pod in await cluster.pods():
            held = {"metadata": {"finalizers": ["example.com/held"]}}
            await cluster.patch(PODS, pod["metadata"]["name"], held)
        await cluster.start_all()
        await cluster.set_image(NEW)
        assert await cluster.sizes() == {OLD: 0}  # its pods are being deleted, and still there
        leaving = await cluster.pods()
        assert all("deletionTimestamp" in pod["metadata"] for pod in leaving)
        freed: Doc = {"metadata": {"finalizers": []}}
        await cluster.patch(PODS, leaving[0]["metadata"]["name"], freed)
        assert await cluster.sizes() == {OLD: 0}
        await cluster.patch(PODS, leaving[1]["metadata"]["name"], freed)
        assert await cluster.sizes() == {OLD: 0, NEW: 2}


async def test_a_paused_deployment_is_scaled_but_not_rolled_out(cluster: Workloads) -> None:
    async with cluster.controllers():
        await cluster.deploy(replicas=2)
        await cluster.start_all()
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}})
        assert await cluster.condition("Progressing") == (
            "Unknown",
            "DeploymentPaused",
            "Deployment is paused",
        )
        await cluster.set_image(NEW)
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 4}})
        assert await cluster.sizes() == {OLD: 4}
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
        await cluster.start_all()
        assert await cluster.sizes() == {OLD: 0, NEW: 4}
        assert (await cluster.condition("Progressing"))[1] == "NewReplicaSetAvailable"


async def test_without_progress_the_deadline_is_told_and_a_fix_rolls_out(
    cluster: Workloads,
) -> None:
    async with cluster.controllers():
        await cluster.deploy(replicas=2, progressDeadlineSeconds=5)
        await cluster.start_all()
        await cluster.set_image("broken:1")
        assert (await cluster.condition("Progressing"))[0] == "True"
        await cluster.api.clock.advance(8)
        await cluster.settle()
        status, reason, message = await cluster.condition("Progressing")
        assert (status, reason) == ("False", "ProgressDeadlineExceeded")
        assert message.endswith('" has timed out progressing.')
        assert await cluster.ready_pods() == 2  # nothing is undone
        await cluster.set_image(NEW)
        for pod in await cluster.pods():
            if pod["spec"]["containers"][0]["image"] == NEW:
                await cluster.report(pod, ready=True)
        await cluster.start_all()
        assert await cluster.sizes() == {OLD: 0, "broken:1": 0, NEW: 2}
        assert (await cluster.condition("Progressing"))[:2] == ("True", "NewReplicaSetAvailable")


async def test_scaled_while_it_is_rolled_out_all_replica_sets_grow(cluster: Workloads) -> None:
    rolling = {"maxSurge": 3, "maxUnavailable": 2}
    async with cluster.controllers():
        await cluster.deploy(replicas=10, strategy={"rollingUpdate": rolling})
        await cluster.start_all()
        await cluster.set_image(NEW)
        assert await cluster.sizes() == {OLD: 8, NEW: 5}
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 20}})
        assert await cluster.sizes() == {OLD: 14, NEW: 9}
        await cluster.start_all()
        assert await cluster.sizes() == {OLD: 0, NEW: 20}


async def test_old_replica_sets_beyond_the_limit_are_deleted(cluster: Workloads) -> None:
    async with cluster.controllers():
        await cluster.deploy(replicas=1, revisionHistoryLimit=1)
        await cluster.start_all()
        for image in (NEW, "busybox:3"):
            await cluster.set_image(image)
            await cluster.start_all()
        assert await cluster.sizes() == {NEW: 0, "busybox:3": 1}


async def test_a_pod_that_loses_its_label_is_released_and_comes_back_as_surplus(
    cluster: Workloads,
) -> None:
    async with cluster.controllers():
        await cluster.deploy(replicas=1)
        (first,) = await cluster.pods()
        name = first["metadata"]["name"]
        await cluster.patch(PODS, name, {"metadata": {"labels": {"app": "other"}}})
        assert len(await cluster.pods()) == 2
        await cluster.start_all()
        assert "ownerReferences" not in (await cluster.get(PODS, name))["metadata"]
        await cluster.patch(PODS, name, {"metadata": {"labels": {"app": "web"}}})
        assert len(await cluster.pods()) == 1


async def test_replica_sets_that_were_orphaned_are_adopted_by_the_next_deployment(
    cluster: Workloads,
) -> None:
    async with cluster.controllers():
        await cluster.deploy(replicas=2)
        await cluster.start_all()
        before = {pod["metadata"]["uid"] for pod in await cluster.pods()}
        answer = await cluster.api.delete(f"{DEPLOYMENTS}/web", {"propagationPolicy": "Orphan"})
        assert answer.code == 200, answer.text
        await cluster.settle()
        assert await cluster.find(DEPLOYMENTS, "web") is None
        ((_, alone),) = (await cluster.sets()).items()
        assert "ownerReferences" not in alone["metadata"]
        made = await cluster.deploy(replicas=2)
        ((_, adopted),) = (await cluster.sets()).items()
        assert adopted["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]
        assert {pod["metadata"]["uid"] for pod in await cluster.pods()} == before


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_deleted_it_takes_its_replica_sets_and_pods_along(
    cluster: Workloads, policy: str
) -> None:
    async with cluster.controllers():
        await cluster.deploy(replicas=2)
        answer = await cluster.api.delete(f"{DEPLOYMENTS}/web", {"propagationPolicy": policy})
        assert answer.code == 200, answer.text
        await cluster.settle()
        assert (await cluster.pods(), await cluster.sets()) == ([], {})
        assert await cluster.find(DEPLOYMENTS, "web") is None


async def test_pods_that_are_refused_are_told_of_as_a_failure_until_they_are_not(
    cluster: Workloads,
) -> None:
    async with cluster.controllers():
        template = {"spec": {"serviceAccountName": "nobody"}}
        await cluster.deploy(replicas=2, paused=True)
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"template": template, "paused": False}})
        status, reason, message = await cluster.condition("ReplicaFailure")
        assert (status, reason) == ("True", "FailedCreate")
        assert 'serviceaccount "nobody" not found' in message
        refused = await cluster.events("FailedCreate")
        assert {event[3] for event in refused} == {"replicaset-controller"}
        account = {"metadata": {"name": "nobody"}}
        await cluster.create("/api/v1/namespaces/default/serviceaccounts", account)
        await cluster.api.clock.advance(60)
        await cluster.settle()
        assert len(await cluster.pods()) == 2
        conditions = (await cluster.deployment())["status"]["conditions"]
        assert {each["type"] for each in conditions} == {"Available", "Progressing"}


async def test_a_name_that_is_taken_is_gone_round(cluster: Workloads) -> None:
    async with cluster.controllers():
        await cluster.deploy(replicas=1)
        ((_, made),) = (await cluster.sets()).items()
        taken = made["metadata"]["name"]
        await cluster.api.delete(f"{DEPLOYMENTS}/web", {"propagationPolicy": "Background"})
        await cluster.settle()
        other = {
            "metadata": {"name": taken, "labels": {"app": "other"}},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "other"}},
                "template": {
                    "metadata": {"labels": {"app": "other"}},
                    "spec": {"containers": [{"name": "c", "image": "other:1"}]},
                },
            },
        }
        await cluster.create(REPLICA_SETS, other)
        await cluster.deploy(replicas=1)
        sets = await cluster.sets()
        assert set(sets) == {OLD, "other:1"}
        assert sets[OLD]["metadata"]["name"] != taken
        assert (await cluster.deployment())["status"]["collisionCount"] == 1


async def test_pods_count_as_available_after_their_time(cluster: Workloads) -> None:
    async with cluster.controllers():
        await cluster.deploy(replicas=2, minReadySeconds=10)
        await cluster.start_all()
        assert (await cluster.deployment())["status"].get("availableReplicas", 0) == 0
        await cluster.api.clock.advance(11)
        await cluster.settle()
        assert (await cluster.deployment())["status"]["availableReplicas"] == 2


async def test_a_lone_pod_that_matches_is_not_adopted_by_the_deployment(
    cluster: Workloads,
) -> None:
    """Its replica set selects by the hash of the template too."""
    lone = a_pod("lone")
    lone["metadata"]["labels"] = {"app": "web"}
    await cluster.create(PODS, lone)
    async with cluster.controllers():
        await cluster.deploy(replicas=1)
        assert "ownerReferences" not in (await cluster.get(PODS, "lone"))["metadata"]
        assert len(await cluster.pods()) == 2


@pytest.mark.parametrize("writes", range(10))
async def test_killed_after_any_write_the_next_one_finishes(
    cluster: Workloads, writes: int
) -> None:
    async with cluster.controllers(writes):
        await cluster.deploy(replicas=2)
        await cluster.start_all()
        await cluster.set_image(NEW)
    async with cluster.controllers():
        await cluster.start_all()
        assert await cluster.sizes() in ({OLD: 0, NEW: 2}, {NEW: 2})
        assert len(await cluster.pods()) == 2
        assert cluster.most_pods <= 3
        status = (await cluster.deployment())["status"]
        assert (status["updatedReplicas"], status["availableReplicas"]) == (2, 2)
