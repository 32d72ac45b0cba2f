"""Images from registries, as pods see it: policies, events, back-off, credentials."""

import base64
import json

import msgspec

from mooring.model.document import Doc
from tests.fakes.objects import PODS, SECRETS
from tests.scenarios.pods.cluster import BUSYBOX, Cluster, a_container, a_pod

TOOL = "registry.example/tool:2"


async def test_an_image_is_pulled_and_the_container_runs(cluster: Cluster) -> None:
    registry = cluster.registry(TOOL)
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(image=TOOL)))
        assert cluster.runtime.running() == ["main"]
        assert registry.asked == [TOOL]
        assert await cluster.events("Pulling", "Pulled") == [
            f'Pulling: Pulling image "{TOOL}"',
            f'Pulled: Successfully pulled image "{TOOL}" in 1.5s (0s including waiting). '
            "Image size: 1000 bytes.",
        ]


async def test_a_failed_pull_is_tried_again_later_each_time(cluster: Cluster) -> None:
    registry = cluster.registry()
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(image=TOOL)))
        waiting = (await cluster.container())["state"]["waiting"]
        assert waiting == {"reason": "ErrImagePull", "message": registry.refusal}
        await cluster.passes(1)
        waiting = (await cluster.container())["state"]["waiting"]
        assert waiting == {
            "reason": "ImagePullBackOff",
            "message": f'Back-off pulling image "{TOOL}": ErrImagePull: {registry.refusal}',
        }
        assert await cluster.events() == [
            f'Pulling: Pulling image "{TOOL}"',
            f'Failed: Failed to pull image "{TOOL}": {registry.refusal}',
            "Failed: Error: ErrImagePull",
            f'BackOff: Back-off pulling image "{TOOL}"',
            "Failed: Error: ImagePullBackOff",
        ]
        for seconds, tries in ((8, 1), (1, 2), (19, 2), (1, 3), (39, 3), (1, 4), (80, 5)):
            await cluster.passes(seconds)
            assert len(registry.asked) == tries, seconds
        for _ in range(4):
            await cluster.passes(300)
        assert 7 <= len(registry.asked) <= 9
        registry.has[TOOL] = BUSYBOX
        await cluster.passes(300)
        assert cluster.runtime.running() == ["main"]


async def test_another_pod_does_not_wait_for_the_back_off_of_the_first(cluster: Cluster) -> None:
    registry = cluster.registry()
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(image=TOOL)))
        await cluster.passes(2)
        registry.has[TOOL] = BUSYBOX
        await cluster.create(PODS, a_pod("other", a_container("second", image=TOOL)))
        assert cluster.runtime.running() == ["second"]


async def test_always_asks_the_registry_and_if_not_present_does_not(cluster: Cluster) -> None:
    registry = cluster.registry(TOOL)
    always = a_container("one", image=TOOL, imagePullPolicy="Always")
    present = a_container("two", image=TOOL, imagePullPolicy="IfNotPresent")
    async with cluster.node():
        await cluster.create(PODS, a_pod("first", always))
        await cluster.create(PODS, a_pod("second", present))
        assert registry.asked == [TOOL]
        await cluster.create(PODS, a_pod("third", always | {"name": "three"}))
        assert registry.asked == [TOOL, TOOL]
        assert sorted(cluster.runtime.running()) == ["one", "three", "two"]


async def test_an_imported_image_is_not_pulled_over(cluster: Cluster) -> None:
    registry = cluster.registry()
    async with cluster.node():
        container = a_container(image="busybox:1", imagePullPolicy="Always")
        await cluster.create(PODS, a_pod("web", container))
        assert cluster.runtime.running() == ["main"]
        assert registry.asked == []


async def test_never(cluster: Cluster) -> None:
    registry = cluster.registry(TOOL)
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(image=TOOL, imagePullPolicy="Never")))
        waiting = (await cluster.container())["state"]["waiting"]
        assert waiting["reason"] == "ErrImageNeverPull"
        assert registry.asked == []


async def test_the_hosts_root_stands_in_only_for_names_without_a_registry(
    cluster: Cluster,
) -> None:
    registry = cluster.registry(TOOL)
    cluster.host_rootfs()
    containers = (a_container("one", image="nginx"), a_container("two", image=TOOL))
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", *containers))
        assert sorted(cluster.runtime.running()) == ["one", "two"]
        assert cluster.spec("one").image is None
        assert cluster.spec("two").image is not None
        assert registry.asked == [TOOL]


async def test_a_pod_that_goes_gives_its_pull_up(cluster: Cluster) -> None:
    registry = cluster.registry(TOOL)
    registry.gate.clear()
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(image=TOOL)))
        assert registry.asked == [TOOL]
        await cluster.delete(PODS, "web")
        await cluster.passes(60)
        assert registry.given_up == 1
        assert await cluster.find(PODS, "web") is None


async def test_a_pod_past_its_deadline_gives_its_pull_up(cluster: Cluster) -> None:
    registry = cluster.registry(TOOL)
    registry.gate.clear()
    async with cluster.node():
        pod = a_pod("web", a_container(image=TOOL), activeDeadlineSeconds=5)
        await cluster.create(PODS, pod)
        await cluster.passes(6)
        assert registry.given_up == 1
        assert await cluster.phase() == "Failed"
        assert (await cluster.status())["reason"] == "DeadlineExceeded"


async def test_a_long_pull_is_told_now_and_then(cluster: Cluster) -> None:
    registry = cluster.registry(TOOL)
    registry.gate.clear()
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", a_container(image=TOOL)))
        await cluster.passes(30)
        told = f'Pulling: Pulling image "{TOOL}": 1kB of 4kB came, 2 layers'
        assert told in await cluster.events("Pulling")
        registry.gate.set()
        await cluster.settle()
        assert cluster.runtime.running() == ["main"]


async def test_credentials_come_from_the_pods_secrets(cluster: Cluster) -> None:
    registry = cluster.registry(TOOL)
    async with cluster.node():
        await cluster.create(SECRETS, a_pull_secret("mine", "registry.example", "bob", "s3cret"))
        await cluster.create(
            PODS, a_pod("web", a_container(image=TOOL), imagePullSecrets=[{"name": "mine"}])
        )
        (found,) = registry.logins
        assert [(one.username, one.password.reveal()) for one in found] == [("bob", b"s3cret")]
        assert "s3cret" not in repr(found)
        assert cluster.runtime.running() == ["main"]
        assert "s3cret" not in "".join(await cluster.events())


async def test_credentials_come_from_the_secrets_of_its_service_account(cluster: Cluster) -> None:
    registry = cluster.registry(TOOL)
    account = {
        "kind": "ServiceAccount",
        "apiVersion": "v1",
        "metadata": {"name": "robot"},
        "imagePullSecrets": [{"name": "mine"}],
    }
    async with cluster.node():
        await cluster.create(SECRETS, a_pull_secret("mine", "registry.example", "bob", "s3cret"))
        await cluster.create(SECRETS.replace("secrets", "serviceaccounts"), account)
        pod = a_pod("web", a_container(image=TOOL), serviceAccountName="robot")
        await cluster.create(PODS, pod)
        assert [[one.username for one in found] for found in registry.logins] == [["bob"]]


async def test_a_secret_that_is_missing_is_told_and_the_pull_is_tried(cluster: Cluster) -> None:
    registry = cluster.registry(TOOL)
    async with cluster.node():
        opaque = {
            "kind": "Secret",
            "apiVersion": "v1",
            "metadata": {"name": "opaque"},
            "stringData": {"password": "s3cret"},
        }
        await cluster.create(SECRETS, opaque)
        secrets = [{"name": "opaque"}, {"name": "none"}]
        pod = a_pod("web", a_container(image=TOOL), imagePullSecrets=secrets)
        await cluster.create(PODS, pod)
        assert registry.logins == [()]
        assert cluster.runtime.running() == ["main"]
        assert await cluster.events("FailedToRetrieveImagePullSecret") == [
            "FailedToRetrieveImagePullSecret: Unable to retrieve some image pull secrets "
            "(opaque, none); attempting to pull the image may not succeed."
        ]


async def test_an_image_volume_is_pulled(cluster: Cluster) -> None:
    registry = cluster.registry()
    volume = {"name": "code", "image": {"reference": TOOL, "pullPolicy": "IfNotPresent"}}
    container = a_container(volumeMounts=[{"name": "code", "mountPath": "/code"}])
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", container, volumes=[volume]))
        waiting = (await cluster.container())["state"]["waiting"]
        assert waiting == {"reason": "ErrImagePull", "message": registry.refusal}
        failed = f'Failed: Failed to pull image "{TOOL}": {registry.refusal}'
        assert failed in await cluster.events("Failed")
        layer = cluster.layout.root / "layer"
        layer.mkdir()
        registry.has[TOOL] = msgspec.structs.replace(BUSYBOX, layers=(layer,))
        await cluster.passes(11)
        assert cluster.runtime.running() == ["main"]


def a_pull_secret(name: str, host: str, username: str, password: str) -> Doc:
    pair = base64.b64encode(f"{username}:{password}".encode()).decode()
    content = json.dumps({"auths": {host: {"auth": pair}}}).encode()
    return {
        "kind": "Secret",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64.b64encode(content).decode()},
    }
