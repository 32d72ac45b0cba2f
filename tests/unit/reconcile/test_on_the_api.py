"""The same parts on the real API server, in this process: do its rules suit what they write?"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.contract import EVERYTHING, Client
from mooring.client.local import LocalClient
from mooring.model.claim import Claim
from mooring.model.event import Event
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.model.reference import ObjectReference
from mooring.reconcile.lease import LeaderElection
from mooring.reconcile.recorder import Recorder, reference_to
from mooring.reconcile.reflector import Reflector
from tests.fakes.api import ApiUnderTest, make_pki, running_api
from tests.fakes.clock import settle
from tests.fakes.objects import a_claim

LEASE = Key("kube-system", "binder")


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def api(pki: Pki, tmp_path: Path) -> AsyncIterator[ApiUnderTest]:
    async with running_api(pki, tmp_path) as running:
        yield running


@pytest.fixture
def client(api: ApiUnderTest) -> Client:
    return LocalClient(InProcessApi(api.parts.backend, CONTROLLERS))


@pytest.fixture
def rng() -> Random:
    return Random(1)  # noqa: S311 - repeatable, not secret


@asynccontextmanager
async def running(part: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(part)
    await settle()
    yield
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()


def claim(name: str) -> dict[str, Any]:
    doc = a_claim(name)
    doc["metadata"]["namespace"] = "default"
    return doc


async def test_an_informer_follows_the_server(
    api: ApiUnderTest, client: Client, rng: Random
) -> None:
    first = await client.create(Claim, claim("first"))
    informer = Reflector(client, Claim, EVERYTHING, api.clock, rng)
    told: list[str] = []
    informer.on_change(lambda old, new: told.append(f"{old and old.name} {new and new.name}"))
    async with running(informer.run()):
        second = await client.create(Claim, claim("second"))
        informer.fold(second)
        informer.fold(await client.patch(first, {"metadata": {"labels": {"a": "1"}}}))
        informer.fold(await client.patch(second, {"metadata": {"finalizers": None}}))
        newest = informer.get(second.key)
        assert newest is not None
        await client.delete(newest)
        await settle()
        assert told == ["None first", "None second", "first first", "second second", "second None"]
        assert list(informer.all()) == [await client.get(Claim, first.key)]


async def test_the_server_takes_events_and_counts(
    api: ApiUnderTest, client: Client, rng: Random
) -> None:
    about = reference_to(await client.create(Claim, claim("data")))
    volume = ObjectReference(kind="PersistentVolume", api_version="v1", name="pv", uid="u")
    recorder = Recorder(client, api.clock, rng, "binder", "n1")
    async with running(recorder.run()):
        for _ in range(3):
            recorder.record(about, "Normal", "WaitForFirstConsumer", "waiting for a pod")
        recorder.record(volume, "Warning", "VolumeFailedDelete", "busy")
        await api.clock.advance(1)
    events = {e.reason: e for e in (await client.list(Event)).items}
    assert events["WaitForFirstConsumer"].count == 3
    assert events["WaitForFirstConsumer"].involved_object == about
    assert events["VolumeFailedDelete"].namespace == "default"


async def test_the_server_takes_leases(api: ApiUnderTest, client: Client, rng: Random) -> None:
    async def lead() -> None:
        await asyncio.Event().wait()

    election = LeaderElection(client, api.clock, rng, LEASE, "me")
    async with running(election.run(lead)):
        taken = (await client.get(Lease, LEASE)).spec
        await api.clock.advance(5)
        renewed = (await client.get(Lease, LEASE)).spec
    released = (await client.get(Lease, LEASE)).spec
    assert (taken.holder_identity, renewed.holder_identity) == ("me", "me")
    assert taken.renew_time == "2026-01-02T03:04:05.000000Z"
    assert renewed.renew_time == "2026-01-02T03:04:09.000000Z"
    assert renewed.acquire_time == taken.acquire_time
    assert (released.holder_identity, released.lease_duration_seconds) == ("", 1)
