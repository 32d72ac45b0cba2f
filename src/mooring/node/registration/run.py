"""Plugin registration on a node: sockets come and go, and with them drivers."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import assert_never

import msgspec
from msgspec.structs import replace

from mooring import log
from mooring.clock import Clock
from mooring.csi.channel import Connection
from mooring.csi.health import NodeHealth
from mooring.csi.node import Node
from mooring.csi.plugin_info import Plugin, RegistrationStatus
from mooring.errors import MooringError
from mooring.model import node as model
from mooring.model.backoff import OPERATION_BACKOFF, Backoff
from mooring.node.registration.announce import Announcer, NotAnnounced
from mooring.node.registration.decide import Registered, Rejected, View, decide, judge
from mooring.node.registration.handshake import (
    Connect,
    Handshake,
    NotRegistered,
    ask_driver,
    shaking_hands,
)
from mooring.node.registration.plan import Register, SocketId, Unregister
from mooring.node.registration.sockets import SocketWatch
from mooring.plugins.csi.drivers import Driver, Drivers
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, lasting, serve

WORKERS = 8
PREPARE_AGAIN = Backoff(first=0.1, cap=10.0)
ACCEPTED = RegistrationStatus(registered=True)

_log = log.get("mooring.node.registration")


class RegistrationRefused(MooringError):
    """The registration was refused; the reason is sent to the socket."""


class _Entry(msgspec.Struct, frozen=True):
    registered: Registered
    connection: Connection


class _Unheard(msgspec.Struct, frozen=True):
    """A driver got through, and its registrar has not heard so."""

    identity: SocketId
    plugin: Plugin


class Registrations:
    """`run` runs it until cancelled. Nothing registers before the API has this node."""

    def __init__(
        self,
        directory: Path,
        drivers: Drivers,
        announcer: Announcer,
        clock: Clock,
        connect: Connect,
    ) -> None:
        self.queue: KeyedQueue[Path] = KeyedQueue(clock, OPERATION_BACKOFF)
        self._clock = clock
        self._drivers = drivers
        self._announcer = announcer
        self._connect = connect
        self._watch = SocketWatch(directory, clock, self._saw)
        self._seen: Mapping[Path, SocketId] = {}
        self._registered: dict[Path, _Entry] = {}
        self._unheard: dict[Path, _Unheard] = {}
        self._owed: dict[Path, str] = {}  # drivers that are gone, and which the API still has
        self._turn = asyncio.Lock()  # one driver at a time enters or leaves the API
        self._node_uid = ""
        self._node_is_new = asyncio.Event()

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._prepare()
                tasks.create_task(lasting("registrations", self._clock, self._follow_node))
                tasks.create_task(lasting("registration sockets", self._clock, self._watch.run))
                for _ in range(WORKERS):
                    tasks.create_task(serve(self.queue, self._reconcile))
        finally:
            for entry in self._registered.values():
                await entry.connection.close()

    def node_changed(self, _: model.Node | None, node: model.Node | None) -> None:
        """For an informer of the Node."""
        if node is not None and node.uid != self._node_uid:
            self._node_uid = node.uid
            self._node_is_new.set()

    def sockets(self) -> tuple[Path, ...]:
        return tuple(self._seen)

    def registered(self) -> tuple[Registered, ...]:
        return tuple(entry.registered for entry in self._registered.values())

    # the node

    async def _prepare(self) -> None:
        """Returns once the API has the Node, and its CSINode."""
        await self._node_is_new.wait()
        self._node_is_new.clear()
        failures = 0
        while True:
            try:
                await self._announcer.prepare()
            except NotAnnounced as error:
                failures += 1
                _log.warning("the node cannot tell of its drivers yet", because=error)
                await self._clock.sleep(PREPARE_AGAIN.delay(failures))
            else:
                return

    async def _follow_node(self) -> None:
        """Announce all drivers again when the Node object was recreated."""
        while True:
            await self._prepare()
            self._unheard.clear()
            for socket in tuple(self._registered):
                self._identify(socket, None)
                self.queue.add(socket)

    # sockets

    def _saw(self, sockets: Mapping[Path, SocketId]) -> None:
        before, self._seen = self._seen, sockets
        for socket in before.keys() | sockets.keys():
            if before.get(socket) != sockets.get(socket):
                self._look_at(socket)

    def _look_at(self, socket: Path) -> None:
        self.queue.forget(socket)  # something has changed: its failures are history
        self.queue.add(socket)

    async def _reconcile(self, socket: Path) -> Verdict:
        await self._settle(socket)
        entry = self._registered.get(socket)
        registered = None if entry is None else entry.registered
        step = decide(View(socket, self._seen.get(socket), registered))
        match step:
            case None:
                pass
            case Register():
                await self._register(step)
            case Unregister():
                await self._unregister(socket)
            case _:
                assert_never(step)
        return Settled()

    async def _register(self, step: Register) -> None:
        """Raises: MooringError, after the socket got it; retried while the socket exists."""
        async with shaking_hands(step.socket, self._connect) as handshake:
            unheard = self._unheard.get(step.socket)
            if unheard is not None and unheard.identity == step.identity:
                plugin = await handshake.get_info()  # without it, the driver stays all the same
                if plugin == unheard.plugin:
                    await self._accept(step, handshake, plugin)
                    return
            try:
                plugin = await handshake.get_info()
                await self._admit(step, plugin)
            except MooringError as error:
                _log.warning("a driver is not registered", because=error)
                await self._drop(step.socket)  # whatever it was before, it is not that any more
                if isinstance(error, RegistrationRefused):
                    await handshake.notify(RegistrationStatus(registered=False, error=str(error)))
                raise
            await self._accept(step, handshake, plugin)

    async def _admit(self, step: Register, plugin: Plugin) -> None:
        """Raises: Refusal; then the driver is not usable, nor in the CSINode."""
        self._check(step.socket, plugin)
        connection = self._connect(plugin.endpoint_at(str(step.socket)), plugin.name)
        try:
            info = await ask_driver(connection, plugin.name)
            async with self._turn:
                registered = self._check(step.socket, plugin)  # another may have been quicker
                await self._announcer.install(plugin.name, info)
                await self._enter(replace(registered, identity=step.identity), connection)
        except (NotRegistered, NotAnnounced) as error:
            await connection.close()
            text = f"plugin registration failed with err: {error}"
            raise RegistrationRefused(f"RegisterPlugin error -- {text}") from error
        except BaseException:
            await connection.close()
            raise

    async def _accept(self, step: Register, handshake: Handshake, plugin: Plugin) -> None:
        """A driver that works is not dropped because its registrar did not hear of it: it stays,
        and the registrar is told again. Raises: NotRegistered."""
        socket = step.socket
        try:
            await handshake.notify(ACCEPTED)
        except NotRegistered:
            self._unheard[socket] = _Unheard(step.identity, plugin)
            self._identify(socket, None)
            raise
        self._unheard.pop(socket, None)
        self._identify(socket, step.identity)

    def _identify(self, socket: Path, identity: SocketId | None) -> None:
        if (entry := self._registered.get(socket)) is not None:
            registered = replace(entry.registered, identity=identity)
            self._registered[socket] = replace(entry, registered=registered)

    def _check(self, socket: Path, plugin: Plugin) -> Registered:
        """Raises: Refusal."""
        others = (one for one in self.registered() if one.socket != socket)
        verdict = judge(plugin, socket, others)
        if isinstance(verdict, Rejected):
            raise RegistrationRefused(verdict.text)
        endpoint = plugin.endpoint_at(str(socket))
        return Registered(socket, None, plugin.name, endpoint, verdict.version)

    async def _enter(self, registered: Registered, connection: Connection) -> None:
        """From now on this is the driver of its name; older ones, and other names, are not."""
        outdated = [*self._entries_before(registered)]
        for entry in outdated:
            del self._registered[entry.registered.socket]
            if entry.registered.name != registered.name:
                self._drivers.drop(entry.registered.name)
                self._owed[entry.registered.socket] = entry.registered.name
                self.queue.add(entry.registered.socket)
        self._registered[registered.socket] = _Entry(registered, connection)
        services = Node(connection), NodeHealth(connection)
        self._drivers.put(Driver(registered.name, registered.endpoint, *services))
        _log.info("driver registered", driver=registered.name, endpoint=registered.endpoint)
        for entry in outdated:
            await entry.connection.close()

    def _entries_before(self, registered: Registered) -> Iterator[_Entry]:
        for entry in self._registered.values():
            if registered.socket == entry.registered.socket or (
                registered.name == entry.registered.name
            ):
                yield entry

    async def _unregister(self, socket: Path) -> None:
        """Raises: NotAnnounced; the driver is not usable all the same."""
        await self._drop(socket)
        await self._settle(socket)

    async def _drop(self, socket: Path) -> None:
        """Make its driver unusable at once; the CSINode is written later."""
        self._unheard.pop(socket, None)
        entry = self._registered.pop(socket, None)
        if entry is None:
            return
        name = entry.registered.name
        self._drivers.drop(name)
        self._owed[socket] = name
        self.queue.add(socket)
        _log.info("driver gone", driver=name, socket=socket)
        for other in self._seen.keys() - self._registered.keys() - {socket}:
            self._look_at(other)  # one that was refused for the sake of this need not wait
        await entry.connection.close()

    async def _settle(self, socket: Path) -> None:
        """Have the API forget a driver, unless it has come back. Raises: NotAnnounced."""
        if socket not in self._owed:
            return
        async with self._turn:
            name = self._owed.get(socket)
            if name is not None and self._drivers.find(name) is None:
                await self._announcer.uninstall(name)
            self._owed.pop(socket, None)
