"""The API server itself is stopped and started again on its database, with controllers at work.

Real files and real threads: what is waited for here is waited for, not settled.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.tokens import open_role_tokens
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.apiserver.server import assemble
from mooring.apiserver.store.sqlite import SqliteStore
from mooring.client.contract import Client
from mooring.client.local import LocalClient
from mooring.clock import RealClock
from mooring.controllers.binding.in_tree_plugins import InTreePlugins
from mooring.controllers.binding.run import add_binder
from mooring.model.claim import Claim
from mooring.model.volume import Volume
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from tests.fakes.objects import a_claim, a_volume
from tests.fakes.waiting import until
from tests.scenarios.faults.trouble import Troubled
from tests.scenarios.neighbours import FOREVER

PAIRS, ALL = 60, 65


class Server:
    def __init__(self, pki: Pki, directory: Path) -> None:
        clock = RealClock()
        self._store = SqliteStore.open(directory / "state.db", clock)
        tokens = open_role_tokens(directory / "tokens.json")
        rng = random.SystemRandom()
        self._parts = assemble(self._store, clock, rng, pki, tokens, "127.0.0.1:6443")
        self.client = LocalClient(InProcessApi(self._parts.backend, CONTROLLERS))

    async def start(self) -> None:
        await self._parts.namespaces.create_first()

    async def stop(self) -> None:
        await self._store.close()


class Moving(Troubled):
    """A client of whichever server is there now."""

    def moves_to(self, server: Client) -> None:
        self._client = server
        self.come_back()


@asynccontextmanager
async def a_binder(client: Client) -> AsyncIterator[Informer[Claim]]:
    clock, rng = RealClock(), random.SystemRandom()

    loops = Loops("controllers", client, clock, rng)
    claims = loops.informer(Claim)
    add_binder(loops, InTreePlugins())
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(loops.run())
        yield claims
        running.cancel()


async def create_pairs(client: Client, numbers: range) -> None:
    for i in numbers:
        await client.create(Volume, a_volume(f"v{i}", storage=f"{i + 1}Gi"))
        claim = a_claim(f"c{i}", storage=f"{i + 1}Gi")
        claim["metadata"]["namespace"] = "default"
        await client.create(Claim, claim)


def bound(claims: Informer[Claim], count: int) -> Callable[[], bool]:
    return lambda: sum(claim.is_bound for claim in claims.all()) >= count


async def test_pairs_are_bound_one_to_one_over_a_restart(pki: Pki, tmp_path: Path) -> None:
    server = Server(pki, tmp_path)
    await server.start()
    client = Moving(server.client, FOREVER)
    async with a_binder(client) as claims:
        await create_pairs(server.client, range(PAIRS))
        await until(bound(claims, PAIRS // 4))
        client.go_down()
        await server.stop()
        server = Server(pki, tmp_path)
        await server.start()
        client.moves_to(server.client)
        await create_pairs(server.client, range(PAIRS, ALL))
        await until(bound(claims, ALL))
    listed = (await server.client.list(Claim)).items
    volumes = {volume.name: volume for volume in (await server.client.list(Volume)).items}
    await server.stop()
    assert {claim.name: claim.spec.volume_name for claim in listed} == {
        f"c{i}": f"v{i}" for i in range(ALL)
    }
    for claim in listed:
        reference = volumes[claim.spec.volume_name].spec.claim_ref
        assert reference is not None
        assert reference.uid == claim.uid
