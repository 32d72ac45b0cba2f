"""Ending the containers of a node that nothing runs: asked, then killed, then cleared away.

What is kept of a container says how it ended, as after a stop by the node itself, so that the next
start goes by the pod's restart policy. No program is run for that: a runtime that is not installed
any more keeps nobody from ending what it has started.
"""

import os
import re
import select
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event

import msgspec

from mooring.clock import Clock
from mooring.errors import HostError
from mooring.host import tree
from mooring.host.contract import MountOps
from mooring.node.pods.stop_signal import stop_signal
from mooring.oci import cgroups, leftovers, process, rootfs
from mooring.oci.known import conclude
from mooring.oci.records import (
    DIRECTORY,
    ID,
    RUNTIME,
    ContainerDirectory,
    Record,
    boot_id,
    opened_directory,
    state_directory,
)
from mooring.upkeep.bounded import each_within

LONGEST_END = 5.0  # seconds from SIGKILL to the end
_PROC = Path("/proc")
_PATIENCE = 2.0  # seconds for control groups, which the kernel empties a moment later
_PAUSE = 0.02
_MASKS = re.compile(r"^Sig(Blk|Ign|Cgt):\s*([0-9a-f]+)$", re.MULTILINE)


class KeptContainer(msgspec.Struct, frozen=True):
    """What the disk has of a container; `record` is None when its making was cut short."""

    place: ContainerDirectory
    record: Record | None
    shim: int = 0  # the process that looks after it; 0: nobody does, it has ended

    @property
    def id(self) -> str:
        return self.place.directory.name

    @property
    def is_running(self) -> bool:
        return self.shim > 0

    @property
    def told(self) -> str:
        """For people."""
        if self.record is None:
            return f"container {self.id[:12]}"
        owner = self.record.owner
        return f"container {owner.container} of pod {owner.namespace}/{owner.pod}"


class ContainersEnded(msgspec.Struct, frozen=True):
    count: int
    troubles: tuple[str, ...]
    stuck: tuple[Path, ...]  # directories of those that could not be ended


def list_containers(root: Path) -> list[KeptContainer]:
    """All that the node's root knows of. Raises: HostError."""
    try:
        names = [name for name in os.listdir(root / DIRECTORY) if ID.fullmatch(name)]
    except FileNotFoundError:
        return []
    opened = opened_directory(state_directory(root))
    boot = boot_id()
    places = (ContainerDirectory(root / DIRECTORY / name, opened) for name in sorted(names))
    return [_look(place, boot) for place in places]


def _look(place: ContainerDirectory, boot: str) -> KeptContainer:
    record = place.read()
    if record is None or not record.pid:
        return KeptContainer(place, None)
    if record.ended is not None or record.boot != boot:
        return KeptContainer(place, record)
    shim = place.read_conmon_pid()
    is_alive = shim > 0 and leftovers.is_about(shim, record.id) and process.parent_of(shim) > 0
    return KeptContainer(place, record, shim if is_alive else 0)


def end_containers(root: Path, grace: float, clock: Clock) -> ContainersEnded:
    """End all containers of a node, exec sessions and shims included.

    Those that heed their stop signal have `grace` seconds for it, all at the same time.
    Repeated: nothing. Raises: HostError when they cannot be listed.
    """
    state = state_directory(root)
    if state.is_dir():
        leftovers.end_sessions(state)
    kept = list_containers(root)
    running = [one for one in kept if one.is_running]
    stuck = _end(running, grace)
    troubles = []
    for one in kept:
        if one.id in stuck:
            troubles.append(f"{one.told} cannot be killed: {stuck[one.id]}")
            continue
        try:
            _clear(one, state, clock)
        except HostError as error:
            troubles.append(f"something is left of {one.told}: {error}")
    _remove_groups(kept)
    directories = tuple(one.place.directory for one in running if one.id in stuck)
    return ContainersEnded(len(running) - len(stuck), tuple(troubles), directories)


def remove_container(one: KeptContainer, mounts: MountOps, clock: Clock) -> None:
    """End it, and take away all of it but its log. Repeated: nothing. Raises: HostError."""
    stuck = _end([one], 0.0) if one.is_running else {}
    if stuck:
        raise HostError(f"{one.told} cannot be killed: {stuck[one.id]}")
    settle_container(one, clock)
    rootfs.take_away(mounts, one.place)
    _remove_groups([one])


def settle_container(one: KeptContainer, clock: Clock) -> None:
    """Let the record of one that has ended tell so. Repeated: nothing. Raises: HostError."""
    _clear(one, state_directory(one.place.directory.parent.parent), clock)


def _end(running: Sequence[KeptContainer], grace: float) -> dict[str, str]:
    """After: all have ended but those returned, with the reason."""
    shims = _Ends((one.id, one.shim) for one in running)
    try:
        for one in running:
            _signal_first(one, _first_signal(one))
        shims.wait(grace)
        for one in running:
            if one.id in shims.left:
                _signal_first(one, signal.SIGKILL)
        shims.wait(LONGEST_END)
        left = [one for one in running if one.id in shims.left]
        each_within(LONGEST_END, [partial(_end_by_group, one) for one in left])
        shims.wait(1.0 if left else 0.0)
        return {one.id: _told_stuck(one) for one in left if one.id in shims.left}
    finally:
        shims.close()


def _end_by_group(one: KeptContainer) -> None:
    """Its first process is gone, or cannot be found, and its shim is not: kill both.

    Raises: HostError when some cannot be killed.
    """
    cgroups.kill_all(_group(one))
    with suppress(ProcessLookupError):
        os.kill(one.shim, signal.SIGKILL)


def _told_stuck(one: KeptContainer) -> str:
    return (
        f"a process of it (first: {_pid(one)}) waits in the kernel for a disk that does not answer"
    )


def _first_signal(one: KeptContainer) -> signal.Signals:
    """The stop signal; SIGKILL for a process on which that has no effect.

    The kernel drops every signal to the first process of a pid namespace that it does not handle:
    a plain `sleep` would be waited for in vain.
    """
    record = one.record
    if record is None or record.started_at is None:
        return signal.SIGKILL
    wanted = stop_signal(record.notes)
    return wanted if heeds(record.pid, wanted) else signal.SIGKILL


def heeds(pid: int, number: signal.Signals) -> bool:
    """Whether a process handles a signal, or waits for it, or ends of it."""
    try:
        status = (_PROC / str(pid) / "status").read_text()
    except OSError:
        return False
    masks = {name: int(mask, 16) for name, mask in _MASKS.findall(status)}
    bit = 1 << (number - 1)
    if (masks.get("Cgt", 0) | masks.get("Blk", 0)) & bit:
        return True
    if masks.get("Ign", 0) & bit:
        return False
    inner = re.search(r"^NSpid:.*?(\d+)$", status, re.MULTILINE)
    return inner is None or inner[1] != "1"


def _signal_first(one: KeptContainer, number: signal.Signals) -> None:
    """To its first process, if that is still the one that the shim looks after."""
    pid = _pid(one)
    with suppress(ProcessLookupError):
        opened = os.pidfd_open(pid)
        try:
            if process.parent_of(pid) == one.shim:
                signal.pidfd_send_signal(opened, number)
        finally:
            os.close(opened)


def _clear(one: KeptContainer, state: Path, clock: Clock) -> None:
    """Control group and the runtime's state go; the record stays, and tells how it ended."""
    record = one.record
    if record is None:
        leftovers.kill_about(one.id)
        for group in cgroups.find(one.id):
            _patiently(partial(cgroups.remove, group))
    else:
        if record.ended is None and record.boot == boot_id():
            ended = conclude(record, one.place, clock)
            one.place.write(msgspec.structs.replace(record, ended=ended))
        _patiently(partial(cgroups.remove, _group(one)))
    if (state / RUNTIME).is_dir():
        tree.remove_path(state / RUNTIME / one.id)


def _remove_groups(kept: Iterable[KeptContainer]) -> None:
    """Of pods: those that are still in use stay."""
    for uid in {one.record.owner.pod_uid for one in kept if one.record is not None}:
        cgroups.remove_pod(uid)


def _patiently(call: Callable[[], None]) -> None:
    """The kernel empties a group a moment after its last process. Raises: HostError."""
    until, pause = time.monotonic() + _PATIENCE, Event()
    while True:
        try:
            call()
            return
        except HostError:
            if time.monotonic() > until:
                raise
        pause.wait(_PAUSE)


def _group(one: KeptContainer) -> str:
    if one.record is None:
        raise AssertionError("nobody knows the pod of a container without a record")
    return cgroups.inner_path(one.record.owner.pod_uid, one.id)


def _pid(one: KeptContainer) -> int:
    return one.record.pid if one.record is not None else 0


class _Ends:
    """Waits for the ends of processes, which they tell themselves."""

    def __init__(self, pids: Iterable[tuple[str, int]]) -> None:
        self.left: set[str] = set()
        self._opened: dict[int, str] = {}
        self._poll = select.poll()
        for name, pid in pids:
            with suppress(ProcessLookupError):
                opened = os.pidfd_open(pid)
                self._opened[opened] = name
                self.left.add(name)
                self._poll.register(opened, select.POLLIN)

    def wait(self, seconds: float) -> None:
        """Until all have ended, or the time is over."""
        until = time.monotonic() + seconds
        while self.left and (rest := until - time.monotonic()) > 0:
            for opened, _ in self._poll.poll(rest * 1000):
                self._poll.unregister(opened)
                self.left.discard(self._opened[opened])

    def close(self) -> None:
        for opened in self._opened:
            os.close(opened)
