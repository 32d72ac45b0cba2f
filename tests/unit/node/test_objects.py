"""What a node sees of the API for its pods' volumes."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from mooring.errors import ConnectionLost, Forbidden, NotFound
from mooring.model.config_map import ConfigMap
from mooring.model.container import Container
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodSpec
from mooring.model.pod_volume import (
    ConfigMapSource,
    KeyedProjection,
    PodVolume,
    ProjectedSource,
    Projection,
    SecretSource,
    VolumeMount,
)
from mooring.model.secret import Secret
from mooring.model.selector import SelectorDocument
from mooring.model.trust_bundle import TrustBundle
from mooring.node.objects import ApiObjects
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer

SETTINGS = Key("ns", "settings")
PASSWORD = Key("ns", "password")


class Surroundings:
    def labels(self) -> Mapping[str, str]:
        return {"zone": "a"}

    def allocatable(self) -> Mapping[str, str]:
        return {"memory": "1Gi"}


def a_pod(uid: str, *volumes: PodVolume, used: bool = True) -> Pod:
    mounts = tuple(VolumeMount(volume.name, f"/{volume.name}") for volume in volumes if used)
    return Pod(
        metadata=ObjectMeta(name=uid, namespace="ns", uid=uid),
        spec=PodSpec(volumes=volumes, containers=(Container("main", volume_mounts=mounts),)),
    )


CONFIG = PodVolume(name="config", config_map=ConfigMapSource("settings"))
SECRET = PodVolume(name="secret", secret=SecretSource("password"))
BOTH = PodVolume(
    name="both",
    projected=ProjectedSource(
        sources=(
            Projection(config_map=KeyedProjection("settings")),
            Projection(secret=KeyedProjection("password")),
        )
    ),
)


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.client = FakeClient(self.server, self.clock)
        rng = Random(1)  # noqa: S311  no secret
        self.objects = ApiObjects(self.client, self.clock, rng, Surroundings())
        self.told: list[str] = []
        self.objects.on_change(self.told.append)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self.objects.run())
            await settle()
            yield
            running.cancel()

    def settings(self, colour: str, **body: Any) -> None:
        metadata = {"name": SETTINGS.name, "namespace": SETTINGS.namespace}
        self.server.create(ConfigMap, {"metadata": metadata, "data": {"colour": colour}, **body})

    def password(self) -> None:
        metadata = {"name": PASSWORD.name, "namespace": PASSWORD.namespace}
        self.server.create(Secret, {"metadata": metadata, "data": {"key": "dmFsdWU="}})

    def paint(self, colour: str) -> None:
        seen = self.server.get(ConfigMap, SETTINGS)
        self.server.patch(seen, {"data": {"colour": colour}}, {})

    def remove(self) -> None:
        self.server.delete(self.server.get(ConfigMap, SETTINGS))

    async def colour(self) -> str:
        return (await self.objects.config_map(SETTINGS)).data["colour"]

    @property
    def watches(self) -> int:
        return len(self.client.streams)

    def bundle(self, name: str, signer: str, **labels: str) -> None:
        spec = {"signerName": signer, "trustBundle": f"PEM of {name}"}
        metadata = {"name": name, "labels": labels}
        self.server.create(TrustBundle, {"metadata": metadata, "spec": spec})


async def test_an_object_that_a_pod_refers_to_is_watched_and_no_other() -> None:
    world = World()
    world.settings("blue")
    async with world.running():
        assert world.watches == 0
        world.objects.follow(a_pod("p1", CONFIG))
        await settle()
        assert world.watches == 1
        world.client.calls.clear()
        assert await world.colour() == "blue"
        assert world.client.calls == []


async def test_one_watch_serves_all_pods_and_goes_with_the_last() -> None:
    world = World()
    world.settings("blue")
    async with world.running():
        world.objects.follow(a_pod("p1", CONFIG))
        world.objects.follow(a_pod("p2", CONFIG))
        await settle()
        assert world.watches == 1
        world.objects.unfollow("p1")
        await settle()
        assert world.watches == 1
        world.objects.unfollow("p2")
        await settle()
        assert world.watches == 0


async def test_what_was_followed_before_the_start_is_watched_too() -> None:
    world = World()
    world.objects.follow(a_pod("p1", CONFIG))
    async with world.running():
        assert world.watches == 1


REFERENCES: dict[str, tuple[Pod, int]] = {
    "a config map": (a_pod("p1", CONFIG), 1),
    "a secret": (a_pod("p1", SECRET), 1),
    "both in a projection": (a_pod("p1", BOTH), 2),
    "the same object twice": (a_pod("p1", CONFIG, BOTH), 2),
    "in a volume that no container uses": (a_pod("p1", BOTH, used=False), 0),
}


@pytest.mark.parametrize(("pod", "watches"), REFERENCES.values(), ids=REFERENCES)
async def test_volumes_refer_to(pod: Pod, watches: int) -> None:
    world = World()
    async with world.running():
        world.objects.follow(pod)
        await settle()
        assert world.watches == watches


async def test_a_volume_does_not_wait_for_the_watch() -> None:
    world = World()
    world.settings("blue")
    world.objects.follow(a_pod("p1", CONFIG))  # nothing runs yet
    assert await world.colour() == "blue"


async def test_a_change_is_told_at_once_to_the_pods_that_show_it() -> None:
    world = World()
    world.settings("blue")
    world.password()
    async with world.running():
        world.objects.follow(a_pod("p1", CONFIG))
        world.objects.follow(a_pod("p2", BOTH))
        world.objects.follow(a_pod("p3", SECRET))
        await settle()
        await world.colour()
        await world.objects.secret(PASSWORD)
        world.paint("green")
        await settle()
        assert sorted(world.told) == ["p1", "p2"]
        assert await world.colour() == "green"


async def test_what_no_volume_has_seen_is_no_news() -> None:
    world = World()
    async with world.running():
        world.objects.follow(a_pod("p1", CONFIG))
        await settle()
        world.settings("blue")
        await settle()
        assert world.told == []


async def test_the_first_look_of_the_watch_is_no_news() -> None:
    world = World()
    world.settings("blue")
    world.objects.follow(a_pod("p1", CONFIG))
    await world.colour()
    async with world.running():
        assert world.told == []


async def test_an_object_that_was_missing_is_news_when_it_comes() -> None:
    world = World()
    async with world.running():
        world.objects.follow(a_pod("p1", CONFIG))
        await settle()
        with pytest.raises(NotFound) as refusal:
            await world.colour()
        assert str(refusal.value) == 'configmap "settings" not found'
        world.settings("blue")
        await settle()
        assert world.told == ["p1"]
        assert await world.colour() == "blue"


async def test_an_object_that_goes_is_news_too() -> None:
    world = World()
    world.settings("blue")
    async with world.running():
        world.objects.follow(a_pod("p1", CONFIG))
        await settle()
        await world.colour()
        world.remove()
        await settle()
        assert world.told == ["p1"]
        with pytest.raises(NotFound):
            await world.colour()


async def test_an_immutable_object_is_read_once_and_not_watched() -> None:
    world = World()
    world.settings("blue", immutable=True)
    async with world.running():
        world.objects.follow(a_pod("p1", CONFIG))
        await settle()
        assert world.watches == 0
        world.client.is_offline = True
        assert await world.colour() == "blue"


async def test_an_object_that_becomes_immutable_is_no_longer_watched() -> None:
    world = World()
    world.settings("blue")
    async with world.running():
        world.objects.follow(a_pod("p1", CONFIG))
        await settle()
        seen = world.server.get(ConfigMap, SETTINGS)
        world.server.patch(seen, {"immutable": True}, {})
        await settle()
        assert world.watches == 0


async def test_while_the_api_is_away_the_last_known_state_counts() -> None:
    world = World()
    world.settings("blue")
    async with world.running():
        world.objects.follow(a_pod("p1", CONFIG))
        await settle()
        world.client.cut()
        world.client.is_offline = True
        await settle()
        assert await world.colour() == "blue"


async def test_without_a_last_known_state_the_trouble_is_told() -> None:
    world = World()
    world.objects.follow(a_pod("p1", CONFIG))
    world.client.is_offline = True
    with pytest.raises(ConnectionLost):
        await world.colour()


async def test_an_object_that_a_node_may_not_read() -> None:
    world = World()
    world.objects.follow(a_pod("p1", CONFIG))
    world.client.fail("get", Forbidden("not yours"))
    with pytest.raises(Forbidden):
        await world.colour()


async def test_an_object_that_no_pod_refers_to_is_read_as_it_is_now() -> None:
    world = World()
    world.password()
    async with world.running():
        assert (await world.objects.secret(PASSWORD)).data["key"].reveal() == b"value"
        assert world.watches == 0
        with pytest.raises(NotFound) as refusal:
            await world.objects.secret(Key("ns", "other"))
        assert str(refusal.value) == 'secret "other" not found'


async def test_a_pod_that_is_told_anew_refers_to_what_it_says_now() -> None:
    world = World()
    async with world.running():
        world.objects.follow(a_pod("p1", CONFIG))
        world.objects.follow(a_pod("p1", CONFIG, SECRET))
        await settle()
        assert world.watches == 2
        world.objects.follow(a_pod("p1", SECRET))
        await settle()
        assert world.watches == 1


async def test_the_node_tells_about_itself() -> None:
    objects = World().objects
    assert await objects.node_labels() == {"zone": "a"}
    assert objects.allocatable() == {"memory": "1Gi"}


async def test_a_trust_bundle_by_name() -> None:
    world = World()
    world.bundle("roots", "")
    assert await world.objects.trust_bundle("roots") == "PEM of roots"


async def test_trust_bundles_of_a_signer() -> None:
    world = World()
    world.bundle("a", "example.com/one", level="high")
    world.bundle("b", "example.com/one")
    world.bundle("c", "example.com/two", level="high")

    async def chosen(selector: SelectorDocument | None) -> list[str]:
        return sorted(await world.objects.trust_bundles("example.com/one", selector))

    assert await chosen(SelectorDocument()) == ["PEM of a", "PEM of b"]
    assert await chosen(SelectorDocument(match_labels={"level": "high"})) == ["PEM of a"]
    assert await chosen(None) == []  # a signer without selector matches nothing


MISSING = {
    "the bundle is": (
        NotFound("gone", details={"name": "roots"}),
        'clustertrustbundle.certificates.k8s.io "roots" not found',
    ),
    "the whole kind is": (
        NotFound("the server could not find the requested resource"),
        'clustertrustbundle.certificates.k8s.io "roots": this API server has no '
        "ClusterTrustBundles (certificates.k8s.io/v1beta1)",
    ),
}


@pytest.mark.parametrize(("error", "text"), MISSING.values(), ids=MISSING)
async def test_what_is_missing_when_a_trust_bundle_is(error: NotFound, text: str) -> None:
    world = World()
    world.client.fail("get", error)
    with pytest.raises(NotFound) as refusal:
        await world.objects.trust_bundle("roots")
    assert str(refusal.value) == text
