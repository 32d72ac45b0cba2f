"""`mooring csi run`: a driver, served by a running `mooring up` while the command runs.

In order: a directory, the driver, its registration with the node (whose process then serves its
sidecars), its API objects. At the end all of it is undone in the opposite order.
"""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import msgspec
import uvloop

from mooring.client.connect import connect
from mooring.client.contract import Client
from mooring.clock import Clock, RealClock
from mooring.csi import registrar
from mooring.csi.call_log import CallLog
from mooring.csi.channel import Connection
from mooring.errors import (
    AlreadyExists,
    ApiError,
    ConnectionLost,
    HostError,
    NotFound,
    UsageError,
)
from mooring.host.blocking import in_thread
from mooring.host.tree import remove_path
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.names import dns_subdomain
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.node.home import find_home
from mooring.plugins.layout import Layout
from mooring.sidecars.driver import Driver
from mooring.sidecars.driver_connection import DriverConnection
from mooring.stack.driver_objects import BY, MANAGED_BY, Introduced, objects_of
from mooring.stack.driver_process import DriverProcess, command_of
from mooring.stack.own_up import own_up
from mooring.stack.process import stop_event

REGISTERING_SECONDS = 20.0
MOST_NAMED = 5  # volumes that are left and their pods, in the last lines

Say = Callable[[str], None]


class RunWish(msgspec.Struct, frozen=True):
    program: tuple[str, ...]
    data_dir: Path  # of the `mooring up`
    node: str
    class_name: str = ""  # empty: the driver's name
    parameters: Mapping[str, str] = {}
    ready_seconds: float = 60.0
    with_up: bool = False  # start a `mooring up` for it

    @property
    def kubeconfig(self) -> Path:
        return self.data_dir / "kubeconfig"


def run_driver_here(wish: RunWish, say: Say) -> None:
    """Until SIGINT or SIGTERM. Raises: MooringError."""
    uvloop.run(_run(wish, RealClock(), say))


async def _run(wish: RunWish, clock: Clock, say: Say) -> None:
    stop = stop_event()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(_everything(wish, clock, say))
        waiting = tasks.create_task(stop.wait())
        await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
        running.cancel()
        waiting.cancel()


async def _everything(wish: RunWish, clock: Clock, say: Say) -> None:
    async with _cluster(wish, clock, say) as client:
        root = await in_thread(find_home, wish.data_dir)
        with _directory() as place:
            socket = place / "csi.sock"
            command = command_of(wish.program, socket, wish.node, os.environ)
            process = DriverProcess(command, socket, clock, say)
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(process.run())
                try:
                    driver = await _answering(socket, clock, wish.ready_seconds)
                    process.has_answered = True
                    say(f"{driver.name} answers at unix://{socket}")
                    await _serve(wish, client, driver, socket, Layout(root).registrations, say)
                finally:
                    running.cancel()


@asynccontextmanager
async def _cluster(wish: RunWish, clock: Clock, say: Say) -> AsyncIterator[Client]:
    """A client of the running `mooring up`. Raises: UsageError."""
    if wish.with_up:
        async with own_up(wish.data_dir, say), connect(wish.kubeconfig, clock) as client:
            yield client
        return
    remedy = "start `mooring up`, name the --data-dir of the one that runs, or give --up"
    if not await in_thread(wish.kubeconfig.exists):
        raise UsageError(f"there is no cluster in {wish.data_dir}: {remedy}")
    async with connect(wish.kubeconfig, clock) as client:
        try:
            await client.list(Volume)
        except ConnectionLost as error:
            raise UsageError(
                f"no `mooring up` answers for {wish.data_dir} ({error}): {remedy}"
            ) from error
        yield client


@contextmanager
def _directory() -> Iterator[Path]:
    """For the driver's socket alone; its path is short."""
    place = Path(tempfile.mkdtemp(prefix="mooring-csi-"))
    try:
        yield place
    finally:
        with suppress(HostError):  # a few bytes, where nobody looks
            remove_path(place)


async def _answering(socket: Path, clock: Clock, seconds: float) -> Driver:
    """The driver, once it listens and is ready. Raises: UsageError."""
    async with Connection(str(socket), clock=clock, calls=CallLog()) as connection:
        try:
            async with asyncio.timeout(seconds):
                return await DriverConnection(connection, clock).wait_ready()
        except TimeoutError:
            raise UsageError(
                f"the driver did not answer at {socket} within {seconds:g} s: does it listen at "
                "$CSI_ENDPOINT? Else put {endpoint} where its arguments want the endpoint"
            ) from None


async def _serve(
    wish: RunWish, client: Client, driver: Driver, socket: Path, registrations: Path, say: Say
) -> None:
    """Registered and introduced, until cancelled."""
    name = wish.class_name or driver.name
    if problem := next(iter(dns_subdomain(name)), ""):
        raise UsageError(f"a class cannot be called {name!r}, give another with --class: {problem}")
    registered = asyncio.Event()
    offer = registrar.Offer(driver.name, str(socket), registrations)
    async with asyncio.TaskGroup() as tasks:
        offering = tasks.create_task(registrar.run(offer, registered.set))
        try:
            await _registered(registered, registrations)
            objects = objects_of(driver.name, driver.abilities, name, wish.parameters)
            async with introduced(client, objects, say):
                say(_ready(objects))
                await asyncio.Event().wait()  # until cancelled
        finally:
            await asyncio.shield(_tell_left(client, driver.name, say))
            offering.cancel()


async def _registered(registered: asyncio.Event, registrations: Path) -> None:
    try:
        async with asyncio.timeout(REGISTERING_SECONDS):
            await registered.wait()
    except TimeoutError:
        raise UsageError(
            f"no node takes drivers from {registrations}: does `mooring up` run with a node?"
        ) from None


@asynccontextmanager
async def introduced(
    client: Client, objects: Sequence[Introduced], say: Say
) -> AsyncIterator[None]:
    """The objects exist while the context is entered; those of others are left as they are."""
    made: list[ApiObject] = []
    try:
        for one in objects:
            what = f"{one.kind.resource.kind} {one.name}"
            try:
                made.append(await client.create(one.kind, one.document))
                say(f"made {what}: {one.because}")
            except AlreadyExists:
                there = await client.get(one.kind, Key("", one.name))
                if there.metadata.labels.get(MANAGED_BY) == BY:
                    made.append(there)  # an earlier run was killed
                say(f"{what} is there already, and stays as it is")
        yield
    finally:
        await asyncio.shield(_delete(client, made, say))


async def _delete(client: Client, made: Sequence[ApiObject], say: Say) -> None:
    for one in reversed(made):
        what = f"{one.resource.kind} {one.name}"
        try:
            with suppress(NotFound):
                await client.delete(one)
            say(f"deleted {what}")
        except (ApiError, ConnectionLost) as error:
            say(f"{what} is left: {error}")


async def _tell_left(client: Client, driver: str, say: Say) -> None:
    with suppress(ApiError, ConnectionLost):
        volumes = [
            one
            for one in (await client.list(Volume)).readable
            if one.spec.csi is not None and one.spec.csi.driver == driver
        ]
        users = users_of(driver, volumes, (await client.list(Pod)).readable)
        if users:
            names = _named([str(pod.key) for pod in users])
            say(
                f"pods still use volumes of {driver}, which nobody unmounts until it runs again: "
                f"{names}"
            )
        if volumes:
            names = _named([one.name for one in volumes])
            say(f"volumes of {driver} are left, run it again to delete them: {names}")


def users_of(driver: str, volumes: Sequence[Volume], pods: Sequence[Pod]) -> list[Pod]:
    """Pods on a node that have a volume of the driver, also one of their own. Ended ones too: what
    they mounted may still be there."""
    claims = {one.spec.claim_ref.key for one in volumes if one.spec.claim_ref is not None}
    return [
        pod
        for pod in pods
        if pod.is_scheduled
        and (
            not claims.isdisjoint(pod.claim_keys())
            or any(one.csi is not None and one.csi.driver == driver for one in pod.spec.volumes)
        )
    ]


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(sorted(names)[:MOST_NAMED]) + more


def _ready(objects: Sequence[Introduced]) -> str:
    classes = [one.name for one in objects if one.kind.resource.kind == "StorageClass"]
    what = f"claims with storageClassName: {classes[0]} get volumes of it" if classes else "ready"
    return f"{what}; Ctrl-C undoes all of this"
