"""Who holds a lease of the same name in another namespace, on virtual time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import SIDECARS
from mooring.client.local import LocalClient
from mooring.reconcile.loops import Loops
from mooring.sidecars.lease_holders import LeaseHolders
from tests.api.conftest import api, pki  # noqa: F401  fixtures
from tests.fakes.api import ApiUnderTest
from tests.fakes.clock import settle
from tests.fakes.objects import a_lease

NAME = "d-example-com"
TURNS = 100


def leases_in(namespace: str) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


@asynccontextmanager
async def watching(api: ApiUnderTest) -> AsyncIterator[LeaseHolders]:  # noqa: F811  the fixture
    client = LocalClient(InProcessApi(api.parts.backend, SIDECARS, check=api.parts.access.check))
    loops = Loops("sidecars", client, api.clock, Random(1))  # noqa: S311  no secret
    holders = LeaseHolders(loops, "default")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(loops.run())
        await settle(TURNS)
        yield holders
        running.cancel()


async def renew(api: ApiUnderTest, holder: str, namespace: str = "kube-system") -> None:  # noqa: F811
    path = f"{leases_in(namespace)}/{NAME}"
    spec = {"spec": {"holderIdentity": holder, "leaseTransitions": int(api.clock.monotonic())}}
    answer = await api.patch(path, spec)
    assert answer.code == 200, answer.text
    await settle(TURNS)


async def test_a_lease_is_free_when_it_was_not_renewed_for_its_duration(
    api: ApiUnderTest,  # noqa: F811  the fixture
) -> None:
    await api.post(leases_in("kube-system"), a_lease(NAME, "them"))
    async with watching(api) as holders, asyncio.TaskGroup() as tasks:
        free = tasks.create_task(holders.wait_free(NAME))
        for _ in range(3):
            await api.clock.advance(10)
            await settle(TURNS)
            assert not free.done()
            await renew(api, "them")
        await api.clock.advance(14.9)
        await settle(TURNS)
        assert not free.done()
        await api.clock.advance(0.2)
        await settle(TURNS)
        assert free.done()


async def test_a_lease_that_is_given_back_is_free_at_once(
    api: ApiUnderTest,  # noqa: F811  the fixture
) -> None:
    await api.post(leases_in("kube-system"), a_lease(NAME, "them"))
    async with watching(api) as holders, asyncio.TaskGroup() as tasks:
        free = tasks.create_task(holders.wait_free(NAME))
        await settle(TURNS)
        await renew(api, "")
        await free
        taken = tasks.create_task(holders.wait_taken(NAME))
        await settle(TURNS)
        assert not taken.done()
        await renew(api, "them")
        await taken


async def test_leases_of_other_names_and_in_the_own_namespace_are_not_looked_at(
    api: ApiUnderTest,  # noqa: F811  the fixture
) -> None:
    await api.post(leases_in("default"), a_lease(NAME, "them"))
    await api.post(leases_in("kube-system"), a_lease("external-attacher-leader-x", "them"))
    async with watching(api) as holders:
        await holders.wait_free(NAME)
