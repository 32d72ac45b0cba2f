"""Containers on this machine: the real `Containers`, by an OCI runtime and a shim for each.

Nothing is polled: a shim ends when its container has, and its pidfd says so.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from mooring import log
from mooring.clock import Clock
from mooring.errors import HostError
from mooring.host.blocking import in_thread, within_own
from mooring.host.contract import MountOps
from mooring.host.directory_watch import DirectoryWatches
from mooring.model.tree_usage import TreeUsage
from mooring.oci import (
    attach_session,
    cgroups,
    conmon,
    exec_session,
    leftovers,
    process,
    rootfs,
    terminal_session,
)
from mooring.oci.contract import (
    Confinement,
    ContainerSpec,
    ExecOptions,
    Found,
    Owner,
    RuntimeRefused,
    Session,
    State,
)
from mooring.oci.host_root import HOST_DIRECTORY, HostRoot
from mooring.oci.known import KILLED, KnownContainer, conclude
from mooring.oci.making import Maker, check_names
from mooring.oci.records import (
    DIRECTORY,
    RUN,
    RUNTIME,
    ContainerDirectory,
    Ended,
    boot_id,
    found,
    new_record,
    opened_directory,
    state_directory,
)
from mooring.oci.remembered import find_remembered
from mooring.oci.runc import Runc, RuntimeProgram
from mooring.reconcile.deadline import within
from mooring.reconcile.poison import shielded
from mooring.reconcile.worker import lasting

logger = log.get("mooring.oci.containers")

LONGEST_MAKING = 120.0  # seconds; a mount of a dead server may keep the runtime for ever
LONGEST_END = 30.0  # seconds from SIGKILL to the end
LONGEST_REOPENING = 10.0


class OciContainers:
    """A `Containers`. `run` must be running; `loaded` is set when all from before are known."""

    def __init__(
        self,
        root: Path,
        mounts: MountOps,
        clock: Clock,
        program: RuntimeProgram,
        *,
        own_paths: Sequence[Path] = (),
        run_directory: Path = RUN,
    ) -> None:
        """`own_paths`, and `root`, are never shown to containers on the host's root."""
        self.loaded = asyncio.Event()
        self._directory = root / DIRECTORY
        self._mounts = mounts
        self._clock = clock
        self._program = program
        self._state = state_directory(root, run_directory)
        self._runc = Runc(program, self._state / RUNTIME, at_once=2 * (os.cpu_count() or 1))
        self._opened = opened_directory(self._state)
        self._host = HostRoot(mounts, root / HOST_DIRECTORY, (root, *own_paths))
        self._maker = Maker(mounts, program, self._host, root / "seccomp")
        self._entries: dict[str, KnownContainer] = {}
        self._handlers: list[Callable[[Found], None]] = []
        self._ends: asyncio.Queue[str] = asyncio.Queue()
        self._execs = 0
        self._watches = DirectoryWatches()

    async def run(self) -> None:
        """Find what is there, then notice every end, until cancelled."""
        try:
            await self._restore()
            self.loaded.set()
            async with asyncio.TaskGroup() as tasks:
                while True:
                    id = await self._ends.get()
                    settle = partial(self._settle, id)
                    tasks.create_task(lasting("container ends", self._clock, settle, id))
        finally:
            for entry in self._entries.values():
                self._forget_shim(entry)

    async def prepare_host(self) -> None:
        """Make what containers on the host's root need, so that the first need not wait for it.

        Raises: HostError.
        """
        await in_thread(self._host.prepare)

    async def create(self, spec: ContainerSpec) -> None:
        check_names(spec)
        if spec.id in self._entries:
            raise RuntimeRefused(f"container {spec.id} exists already")
        joined = self._running(spec.join_pid_of).record.pid if spec.join_pid_of else 0
        place = self._place(spec.id)
        words = conmon.argv(self._program, self._runc, place, spec)
        entry = KnownContainer(new_record(spec, self._clock.now()), place)
        self._entries[spec.id] = entry
        with within_own(_place_of(spec.owner)):
            await self._make(spec, entry, words, joined)

    async def _make(
        self, spec: ContainerSpec, entry: KnownContainer, words: Sequence[str], joined: int
    ) -> None:
        place = entry.place
        async with entry.lock:
            try:
                await in_thread(self._maker.prepare, spec, place, entry.record, joined)
                await process.finished(self._launch(entry, words, spec.confinement))
            except (HostError, RuntimeRefused) as error:
                await self._take_back(entry)
                if isinstance(error, RuntimeRefused):
                    raise
                raise RuntimeRefused(str(error)) from error

    async def start(self, id: str) -> None:
        entry = self._known(id)
        async with entry.lock:
            if found(entry.record).state is not State.CREATED:
                raise RuntimeRefused(f"container {id} was started before, or has ended")
            await self._write(entry, started_at=self._clock.now())
            try:
                await process.finished(self._runc.start(id))
            except (HostError, RuntimeRefused) as error:
                await self._write(entry, started_at=None)
                if isinstance(error, RuntimeRefused):
                    raise
                raise RuntimeRefused(str(error)) from error

    async def kill(self, id: str, number: signal.Signals) -> None:
        self._signal(self._known(id), number)

    async def remove(self, id: str) -> None:
        entry = self._entries.get(id)
        if entry is None:
            return
        async with entry.lock:
            if self._entries.get(id) is not entry:
                return
            if entry.record.pid:
                await self._end(entry)
            with within_own(_place_of(entry.record.owner)):
                await self._take_away(id, entry.place, (entry.group,))
            self._drop(entry)

    def list(self) -> Sequence[Found]:
        return tuple(found(entry.record) for entry in self._entries.values())

    def find(self, id: str) -> Found | None:
        entry = self._entries.get(id)
        return found(entry.record) if entry is not None else None

    def on_change(self, handler: Callable[[Found], None]) -> None:
        self._handlers.append(handler)

    async def exec(self, id: str, wish: ExecOptions) -> Session:
        entry = self._running(id)
        if not wish.args:
            raise RuntimeRefused("you must specify at least one command for the container")
        self._execs += 1
        name = f"{leftovers.SESSION}{os.getpid()}-{self._execs}"
        try:
            if not wish.has_tty:
                return exec_session.start(self._runc, id, wish, self._state / name)
            bundle, place = entry.place.directory, self._state / name
            making = terminal_session.start(self._program, self._runc, id, wish, bundle, place)
            return await making
        except HostError as error:
            raise RuntimeRefused(str(error)) from error

    async def attach(self, id: str) -> Session:
        entry = self._running(id)

        async def end() -> int:
            await entry.ended.wait()
            return entry.record.ended.exit_code if entry.record.ended else KILLED

        return attach_session.connect(entry.place.directory, end)

    async def reopen_log(self, id: str) -> None:
        entry = self._running(id)
        try:
            # The shim does not answer; its new file does.
            with self._watches.of(entry.log_directory) as watch:
                conmon.reopen_log(entry.place.directory)
                async with within(self._clock, LONGEST_REOPENING):
                    while not entry.has_log():
                        await watch.changed()
        except TimeoutError:
            raise RuntimeRefused("the shim did not reopen the log") from None
        except HostError as error:
            raise RuntimeRefused(f"the log was not reopened: {error}") from error

    async def written(self, id: str) -> TreeUsage:
        entry = self._known(id)
        with within_own(f"usage/{_place_of(entry.record.owner)}"):  # removing it need not wait
            return await in_thread(rootfs.written, entry.place)

    # Making and ending.

    async def _launch(
        self, entry: KnownContainer, words: Sequence[str], confinement: Confinement
    ) -> None:
        await in_thread(self._make_state)
        try:
            async with within(self._clock, LONGEST_MAKING), self._runc.turn():
                pid = await conmon.launch([*words], entry.place, self._state)
        except TimeoutError as error:
            raise RuntimeRefused(
                f"making the container took longer than {LONGEST_MAKING:g} s"
            ) from error
        if confinement.first_host_id is not None:
            await in_thread(self._maker.release, entry.place)
        await self._write(entry, pid=pid)
        self._watch(entry, await in_thread(entry.place.read_conmon_pid))

    async def _take_back(self, entry: KnownContainer) -> None:
        """Nothing is left of a container that could not be made."""
        id = entry.record.id
        try:
            if entry.record.pid:
                await self._end(entry)
            else:
                await in_thread(leftovers.kill_about, id)
            await self._take_away(id, entry.place, (entry.group,))
        except HostError as error:
            logger.warning("something is left of a container", id=id, error=error)
            return  # `list` still has it, `remove` tries again
        self._drop(entry)

    async def _end(self, entry: KnownContainer) -> None:
        """Raises: HostError when it cannot be killed."""
        self._signal(entry, signal.SIGKILL)
        try:
            async with within(self._clock, LONGEST_END):
                await entry.ended.wait()
        except TimeoutError:
            raise HostError(f"container {entry.record.id} cannot be killed") from None

    async def _take_away(self, id: str, place: ContainerDirectory, groups: Iterable[str]) -> None:
        if await in_thread(self._state.exists):
            await self._runc.delete(id)
        for group in groups:
            await in_thread(cgroups.remove, group)
        await in_thread(rootfs.take_away, self._mounts, place)

    def _drop(self, entry: KnownContainer) -> None:
        self._forget_shim(entry)
        del self._entries[entry.record.id]
        self._drop_group(entry.record.owner.pod_uid)

    def _drop_group(self, uid: str) -> None:
        """Remove the cgroup of a pod without containers; on the loop, so none starts meanwhile."""
        if not any(other.record.owner.pod_uid == uid for other in self._entries.values()):
            cgroups.remove_pod(uid)

    def _signal(self, entry: KnownContainer, number: signal.Signals) -> None:
        """To the first process, if that is still the one that the shim looks after."""
        pid = entry.record.pid
        if entry.ended.is_set() or not pid:
            return
        with suppress(ProcessLookupError):
            opened = os.pidfd_open(pid)
            try:
                if process.parent_of(pid) == entry.shim:
                    signal.pidfd_send_signal(opened, number)
            finally:
                os.close(opened)

    # Noticing.

    def _watch(self, entry: KnownContainer, pid: int) -> None:
        """Watch for the end of the shim `pid`; if it has ended already, it is reported at once."""
        id = entry.record.id
        entry.shim = pid
        try:
            entry.pidfd = os.pidfd_open(pid)
        except OSError:
            self._ends.put_nowait(id)
            return
        if leftovers.is_about(pid, id):
            asyncio.get_running_loop().add_reader(entry.pidfd, self._on_shim_end, entry)
        else:  # another program has its number
            self._on_shim_end(entry)

    def _on_shim_end(self, entry: KnownContainer) -> None:
        self._forget_shim(entry)
        self._ends.put_nowait(entry.record.id)

    def _forget_shim(self, entry: KnownContainer) -> None:
        if entry.pidfd >= 0:
            asyncio.get_running_loop().remove_reader(entry.pidfd)
            os.close(entry.pidfd)
            entry.pidfd = -1

    async def _settle(self, id: str) -> None:
        """A shim has ended: find the exit status of its container, and report it."""
        entry = self._entries.get(id)
        if entry is None or entry.ended.is_set():
            return
        ended = await in_thread(conclude, entry.record, entry.place, self._clock)
        await self._write(entry, ended=ended)
        entry.ended.set()
        for handler in self._handlers:
            shielded(id, handler, found(entry.record))

    async def _write(self, entry: KnownContainer, **changes: object) -> None:
        """Change what is known; what cannot be written is known all the same, until a restart."""
        entry.record = msgspec.structs.replace(entry.record, **changes)
        try:
            await in_thread(entry.place.write, entry.record)
        except HostError as error:
            logger.warning("a container's record is out of date", id=entry.record.id, error=error)

    # Finding again.

    async def _restore(self) -> None:
        await in_thread(self._make_state)
        await in_thread(leftovers.end_sessions, self._state)
        remembered = await find_remembered(self._directory, self._runc)
        async with asyncio.TaskGroup() as purges:
            for one in remembered:
                place = self._place(one.id)
                if one.record is None or not one.record.pid:
                    purges.create_task(self._purge(one.id, place))
                else:
                    await self._resume(KnownContainer(one.record, place))
        for one in remembered:
            if one.record is not None:
                self._drop_group(one.record.owner.pod_uid)

    async def _resume(self, entry: KnownContainer) -> None:
        record = entry.record
        self._entries[record.id] = entry
        if record.ended is not None:
            return
        if record.boot == boot_id():
            self._watch(entry, await in_thread(entry.place.read_conmon_pid))
            return
        lost = Ended(exit_code=KILLED, finished_at=self._clock.now(), is_lost=True)
        await self._write(entry, ended=lost)
        entry.ended.set()

    async def _purge(self, id: str, place: ContainerDirectory) -> None:
        """Remove a container that was never reported, or has no readable record."""
        logger.warning("taking away what is left of a container", id=id)
        try:
            await in_thread(leftovers.kill_about, id)
            await self._take_away(id, place, await in_thread(cgroups.find, id))
        except HostError as error:
            logger.warning("something is left of a container", id=id, error=error)

    def _place(self, id: str) -> ContainerDirectory:
        return ContainerDirectory(self._directory / id, self._opened)

    def _make_state(self) -> None:
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _known(self, id: str) -> KnownContainer:
        entry = self._entries.get(id)
        if entry is None:
            raise RuntimeRefused(f"container {id} does not exist")
        return entry

    def _running(self, id: str) -> KnownContainer:
        entry = self._known(id)
        if found(entry.record).state is not State.RUNNING:
            raise RuntimeRefused(f"container {id} is not running")
        return entry


def _place_of(owner: Owner) -> str:
    """What calls about a container are about: one that is stuck is not joined by the next try."""
    return f"container/{owner.pod_uid}/{owner.container}"
