"""Sidecars in a process of their own, beside any driver, against any API server."""

from pathlib import Path

import msgspec
import uvloop

from mooring.clock import RealClock
from mooring.csi.channel import Connection
from mooring.csi.registrar import Offer
from mooring.csi.registrar import run as offer_driver
from mooring.reconcile.loops import Loops
from mooring.reconcile.role import Role
from mooring.sidecars.driver_connection import DriverConnection
from mooring.stack.metrics_page import Say
from mooring.stack.process import run_until, stop_asked
from mooring.stack.sidecars import SidecarsRole, Work
from mooring.stack.standalone import Candidate, Standalone, run_standalone


def run_sidecars(wanted: Standalone, say: Say, work: Work, endpoints: tuple[str, ...]) -> None:
    """For the drivers at these sockets, until SIGTERM or SIGINT.

    Leases are per driver and sidecar (`Work.lease_namespace`), not per process.
    """

    async def build(loops: Loops) -> Role:
        role = SidecarsRole(loops.client, loops.clock, loops.chance, work)
        for endpoint in endpoints:
            role.add_unnamed(endpoint)
        return role

    names = " and ".join(sorted(work.sidecars))
    candidate = Candidate(SidecarsRole.name, f"mooring sidecar {names} is running", build)
    run_standalone(candidate, msgspec.structs.replace(wanted, leader_elect=False), say)


def run_registrar(csi_address: str, directory: Path, seen_as: str, say: Say) -> None:
    """Offer the driver at `csi_address` to the node agent that watches `directory`.

    `seen_as` is where that node agent finds the driver's socket. Raises: RoleDied when it refuses.
    """
    uvloop.run(_registrar(csi_address, directory, seen_as, say))


async def _registrar(csi_address: str, directory: Path, seen_as: str, say: Say) -> None:
    stop = stop_asked()

    async def offer() -> None:
        async with Connection(csi_address) as connection:
            driver = await DriverConnection(connection, RealClock()).wait_ready()
        say(f"mooring sidecar registrar offers {driver.name}")
        await offer_driver(Offer(driver.name, seen_as, directory))

    await run_until(stop, {"registrar": offer})
