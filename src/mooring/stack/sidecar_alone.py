"""Sidecars in a process of their own, beside any driver, against any API server."""

import random
from pathlib import Path

import msgspec
import uvloop

from mooring.client.contract import Client
from mooring.clock import Clock, RealClock
from mooring.csi.channel import Connection
from mooring.sidecars.meeting import DriverAt
from mooring.sidecars.registrar.run import Offer
from mooring.sidecars.registrar.run import run as offer_driver
from mooring.stack.alone import Alone, Candidate, run_alone
from mooring.stack.metrics_page import Say
from mooring.stack.role import Role, run_until
from mooring.stack.sidecars import SidecarsRole, Work
from mooring.stack.stopping import stop_asked


def run_sidecars(wanted: Alone, say: Say, work: Work, endpoints: tuple[str, ...]) -> None:
    """For the drivers at these sockets, until SIGTERM or SIGINT.

    Leases are per driver and sidecar (`Work.lease_namespace`), not per process.
    """

    async def build(client: Client, clock: Clock, chance: random.Random) -> Role:
        role = SidecarsRole(client, clock, chance, work)
        for endpoint in endpoints:
            role.add_unnamed(endpoint)
        return role

    names = " and ".join(sorted(work.sidecars))
    candidate = Candidate(SidecarsRole.name, f"mooring sidecar {names} is running", build)
    run_alone(candidate, msgspec.structs.replace(wanted, leader_elect=False), say)


def run_registrar(csi_address: str, directory: Path, seen_as: str, say: Say) -> None:
    """Offer the driver at `csi_address` to the node agent that watches `directory`.

    `seen_as` is where that node agent finds the driver's socket. Raises: RoleDied when it refuses.
    """
    uvloop.run(_registrar(csi_address, directory, seen_as, say))


async def _registrar(csi_address: str, directory: Path, seen_as: str, say: Say) -> None:
    stop = stop_asked()

    async def offer() -> None:
        async with Connection(csi_address) as connection:
            driver = await DriverAt(connection, RealClock()).meet()
        say(f"mooring sidecar registrar offers {driver.name}")
        await offer_driver(Offer(driver.name, seen_as, directory))

    await run_until(stop, {"registrar": offer})
