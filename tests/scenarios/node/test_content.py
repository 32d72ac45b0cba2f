"""Volumes that show objects of the API, and keep up with them."""

from pathlib import Path

import pytest

from mooring.node.resync import JITTER, NET_SECONDS
from tests.fakes.certificates import a_certificate
from tests.fakes.objects import (
    CONFIG_MAPS,
    PODS,
    SECRETS,
    TRUST_BUNDLES,
    a_config_map,
    a_secret,
    a_trust_bundle,
)
from tests.fakes.plugins import Outcome
from tests.scenarios.node.cluster import Cluster, a_pod, config, scratch

HOUR = 3600
TOKEN = {
    "name": "access",
    "projected": {
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": HOUR}},
            {"configMap": {"name": "settings"}},
        ]
    },
}
LABELS = {
    "name": "about",
    "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]},
}


BUNDLE = "example.com:one:v1"
TRUSTED = {
    "one by name": {"name": BUNDLE},
    "those of a signer": {
        "signerName": "example.com/one",
        "labelSelector": {"matchLabels": {"use": "web"}},
    },
}


def trusting(**source: object) -> dict[str, object]:
    projection = {"clusterTrustBundle": {"path": "ca.crt", **source}}
    return {"name": "trust", "projected": {"sources": [projection]}}


async def directory(cluster: Cluster, plugin: str, volume: str) -> Path:
    return cluster.layout.volume(await cluster.uid(), plugin, volume)


async def colour(cluster: Cluster) -> str:
    found = await directory(cluster, "kubernetes.io/configmap", "settings")
    return (found / "colour").read_text()


async def test_a_change_of_a_config_map_shows_at_once(cluster: Cluster) -> None:
    await cluster.create(CONFIG_MAPS, a_config_map(colour="blue"))
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", config()))
        assert await colour(cluster) == "blue"
        await cluster.patch(CONFIG_MAPS, "settings", {"data": {"colour": "green"}})
        assert await colour(cluster) == "green"


async def test_a_config_map_that_comes_late_is_not_waited_for_any_longer(
    cluster: Cluster,
) -> None:
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", config()))
        await cluster.passes(60)  # by now the next try is far away
        assert (
            "Warning",
            "FailedMount",
            'MountVolume.SetUp failed for volume "settings" : configmap "settings" not found',
        ) in await cluster.said()
        await cluster.create(CONFIG_MAPS, a_config_map(colour="blue"))
        assert await colour(cluster) == "blue"
        assert cluster.containers.started == [("web", ("settings",))]


async def test_a_config_map_that_goes_leaves_its_files(cluster: Cluster) -> None:
    await cluster.create(CONFIG_MAPS, a_config_map(colour="blue"))
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", config()))
        await cluster.delete(CONFIG_MAPS, "settings")
        await cluster.passes(100)
        assert await colour(cluster) == "blue"
        assert any(reason == "FailedMount" for _, reason, _ in await cluster.said())


async def test_an_optional_secret_shows_when_it_comes(cluster: Cluster) -> None:
    volume = {"name": "key", "secret": {"secretName": "password", "optional": True}}
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", volume))
        shown = await directory(cluster, "kubernetes.io/secret", "key")
        assert [path.name for path in shown.iterdir() if not path.name.startswith("..")] == []
        await cluster.create(SECRETS, a_secret())
        assert (shown / "key").read_bytes() == b"value"


async def test_the_pod_itself_may_be_the_news(cluster: Cluster) -> None:
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", LABELS))
        shown = await directory(cluster, "kubernetes.io/downward-api", "about") / "labels"
        assert shown.read_text() == ""
        await cluster.patch(PODS, "web", {"metadata": {"labels": {"colour": "blue"}}})
        assert shown.read_text() == 'colour="blue"'


async def test_a_token_is_exchanged_before_it_is_too_old(cluster: Cluster) -> None:
    await cluster.create(CONFIG_MAPS, a_config_map(colour="blue"))
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", TOKEN))
        shown = await directory(cluster, "kubernetes.io/projected", "access") / "token"
        first = shown.read_text()
        await cluster.passes(0.7 * HOUR)
        assert shown.read_text() == first
        await cluster.passes(0.21 * HOUR)  # a tenth of its life is left
        assert shown.read_text() != first


@pytest.mark.parametrize("source", TRUSTED.values(), ids=TRUSTED)
async def test_a_trust_bundle_shows_and_its_update_follows(
    cluster: Cluster, source: dict[str, object]
) -> None:
    old, new = a_certificate("old"), a_certificate("new")
    await cluster.create(TRUST_BUNDLES, a_trust_bundle(BUNDLE, pem=old, use="web"))
    await cluster.create(TRUST_BUNDLES, a_trust_bundle("example.com:one:v2", use="mail"))
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", trusting(**source)))
        shown = await directory(cluster, "kubernetes.io/projected", "trust") / "ca.crt"
        assert shown.read_text() == old
        await cluster.patch(TRUST_BUNDLES, BUNDLE, {"spec": {"trustBundle": new}})
        await cluster.passes(100)
        assert shown.read_text() == new
        assert await cluster.said("FailedMount") == []


async def test_a_pod_waits_for_the_trust_bundle_it_needs(cluster: Cluster) -> None:
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", trusting(name=BUNDLE)))
        assert (
            "Warning",
            "FailedMount",
            'MountVolume.SetUp failed for volume "trust" : while getting ClusterTrustBundle: '
            f'clustertrustbundle.certificates.k8s.io "{BUNDLE}" not found',
        ) in await cluster.said()
        assert cluster.containers.started == []
        await cluster.create(TRUST_BUNDLES, a_trust_bundle(BUNDLE))
        await cluster.passes(10)
        assert cluster.containers.started == [("web", ("trust",))]


async def test_all_of_it_goes_with_the_pod(cluster: Cluster) -> None:
    await cluster.create(CONFIG_MAPS, a_config_map(colour="blue"))
    async with cluster.node(real=True):
        await cluster.create(PODS, a_pod("web", config(), TOKEN, LABELS, scratch()))
        assert len(cluster.mounts.mounted()) == 2
        await cluster.delete(PODS, "web")
        assert cluster.mounts.mounted() == ()
        assert list(cluster.layout.pods.iterdir()) == []
        assert await cluster.find(PODS, "web") is None


async def test_content_that_is_watched_is_looked_at_now_and_then_nevertheless(
    cluster: Cluster,
) -> None:
    await cluster.create(CONFIG_MAPS, a_config_map())
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", config(), scratch()))
        uid = await cluster.uid()
        cluster.backend.calls.clear()
        reached = 0
        for _ in range(60):
            await cluster.passes(90)
            reached += len(node.volumes.reach(uid))
        assert set(cluster.did()) == {f"set_up settings {uid}"}
        assert 6 <= len(cluster.did()) <= 9  # in an hour and a half
        assert reached == 2 * 60  # it was mounted throughout


async def test_a_refresh_that_fails_leaves_the_pod_its_volume(cluster: Cluster) -> None:
    await cluster.create(CONFIG_MAPS, a_config_map())
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", config()))
        uid = await cluster.uid()
        cluster.backend.script("set_up", *[Outcome.FINAL] * 3)
        before = len(cluster.did("set_up"))
        await cluster.passes(NET_SECONDS * (1 + JITTER))
        assert len(cluster.did("set_up")) > before
        assert list(node.volumes.reach(uid)) == ["settings"]
        assert cluster.did("tear_down") == []


async def test_news_that_come_during_a_set_up_are_not_lost(cluster: Cluster) -> None:
    cluster.backend.script("set_up", Outcome.HANG)
    async with cluster.node() as node:
        await cluster.create(PODS, a_pod("web", config()))
        uid = await cluster.uid()
        assert len(cluster.did("set_up")) == 1
        node.volumes.refresh(uid)
        await cluster.settle()
        assert len(cluster.did("set_up")) == 1
        cluster.backend.release()
        await cluster.settle()
        assert len(cluster.did("set_up")) == 2
        assert list(node.volumes.reach(uid)) == ["settings"]


async def test_a_pod_whose_status_changes_is_no_news(cluster: Cluster) -> None:
    async with cluster.node():
        await cluster.create(PODS, a_pod("web", config()))
        assert len(cluster.did("set_up")) == 1
        await cluster.patch(PODS, "web", {"status": {"message": "hello"}}, "/status")
        assert len(cluster.did("set_up")) == 1
        await cluster.patch(PODS, "web", {"metadata": {"annotations": {"a": "b"}}})
        assert len(cluster.did("set_up")) == 2
