"""The in-memory state of one pod while its containers run.

The runtime knows the containers themselves; here is the rest: running operations, waiting reasons,
probe results. After a restart it is restored from the pod's status and the runtime.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

import msgspec

from mooring.clock import Clock
from mooring.model.container_status import ContainerStatus, Terminated
from mooring.model.pod import Pod
from mooring.node.pods.container_statuses import MESSAGE_NOTE, REASON_NOTE, plain_id
from mooring.node.pods.contract import PodVolumes
from mooring.node.pods.grace import Grace
from mooring.node.pods.plan import Pause
from mooring.node.pods.probes import first_health
from mooring.node.pods.view import Health, View, WaitingReason
from mooring.oci.contract import Containers, Found, Owner, State

STARTING = Health(has_started=False, is_ready=False)
_NEVER = datetime.fromtimestamp(0, UTC)


class Doing(Enum):
    START = "start"
    KILL = "kill"
    DISCARD = "discard"


class Operation(msgspec.Struct):
    doing: Doing
    grace: Grace
    task: asyncio.Task[None] | None = None


class PodRun:
    def __init__(self, pod: Pod, clock: Clock) -> None:
        self.pod = pod  # the newest
        self.volumes: PodVolumes | None = None  # None: they are not there, nothing may start
        self.is_ending = False
        self.has_vanished = False  # from the API
        self.is_told_overdue = False
        self.ids: set[str] = set()  # of its containers, as far as they are there
        self.operations: dict[str, Operation] = {}  # by container name, or by id of what is removed
        self.waiting_reasons: dict[str, WaitingReason] = {}
        self.pauses: dict[str, Pause] = {}
        self.health: dict[str, Health] = {}  # by id
        self.adopted: set[str] = set()  # ids of those that ran before this node was started
        self.probing: dict[str, asyncio.Task[None]] = {}  # by id
        self.ended: dict[str, float] = {}  # by id: when, monotonic
        self.termination_messages: dict[str, str] = {}  # by id
        self.ghosts: dict[str, Found] = {}  # by id: what the runtime knows nothing of (any more)
        self.empty = asyncio.Event()  # set once it is over and nothing runs
        self.writing = asyncio.Lock()  # of its status
        self.starting = asyncio.Lock()  # of containers that share their processes
        self.held_since: float | None = None  # since when its status waits to be written
        self._clock = clock

    def adopt(self, found: Iterable[Found]) -> None:
        """Adopt the containers found after a restart; those in the status that were not found have
        ended meanwhile."""
        known = sorted(found, key=lambda one: one.owner.attempt)
        self.ids.update(one.id for one in known)
        there = {one.owner.container: one for one in known}
        said = {one.name: one for one in self.pod.status.all_containers}
        for status in said.values():
            newest = there.get(status.name)
            if newest is None:
                self.ghosts.update((ghost.id, ghost) for ghost in _ghosts(self.pod, status))
            elif newest.state is State.RUNNING and plain_id(status.container_id) == newest.id:
                self.health[newest.id] = Health(bool(status.started), status.ready)
                self.adopted.add(newest.id)
            for state in (status.state, status.last_state):
                if state.terminated is not None:
                    id = plain_id(state.terminated.container_id)
                    self.termination_messages[id] = state.terminated.message

    def found(self, containers: Containers) -> list[Found]:
        """Its containers, as they are now."""
        every = (containers.find(id) for id in self.ids)
        return [one for one in every if one is not None]

    def view(self, containers: Containers) -> View:
        now = self._clock.monotonic()
        groups = self._grouped(self.found(containers))
        return View(
            self.pod,
            now,
            groups,
            dict(self.ended),
            frozenset(self.operations),
            dict(self._health(groups)),
            dict(self.pauses),
            dict(self.waiting_reasons),
            self._deadline(now),
            is_ending=self.is_ending,
            has_vanished=self.has_vanished,
        )

    def note_end(self, found: Found) -> None:
        """Record the end of a container, also one from before a restart."""
        if found.id not in self.ended:
            age = 0.0
            if found.finished_at is not None:
                age = max(0.0, (self._clock.now() - found.finished_at).total_seconds())
            self.ended[found.id] = self._clock.monotonic() - age

    def stir(self) -> None:
        for operation in self.operations.values():
            operation.grace.stir()

    def forget_container(self, id: str) -> None:
        self.ids.discard(id)
        for kept in (self.health, self.ended, self.termination_messages, self.ghosts):
            kept.pop(id, None)

    def _grouped(self, found: Iterable[Found]) -> Mapping[str, tuple[Found, ...]]:
        groups: dict[str, list[Found]] = {}
        for one in (*found, *self.ghosts.values()):
            groups.setdefault(one.owner.container, []).append(one)
            if one.state is State.EXITED:
                self.note_end(one)
        for group in groups.values():
            group.sort(key=lambda one: (one.owner.attempt, one.created_at), reverse=True)
        return {name: tuple(group) for name, group in groups.items()}

    def _health(self, groups: Mapping[str, tuple[Found, ...]]) -> Iterator[tuple[str, Health]]:
        """Of those that run: what probes say, or else what is true before they have said it."""
        for container in self.pod.spec.all_containers:
            for one in groups.get(container.name, ())[:1]:
                if one.state is State.RUNNING:
                    operation = self.operations.get(container.name)
                    is_new = operation is not None and operation.doing is Doing.START
                    known = self.health.get(one.id) or first_health(container)
                    yield one.id, STARTING if is_new else known

    def _deadline(self, now: float) -> float | None:
        seconds, start = self.pod.spec.active_deadline_seconds, self.pod.status.start_time
        if seconds is None or start is None:
            return None
        return now + (_moment(start) - self._clock.now()).total_seconds() + seconds


def _ghosts(pod: Pod, status: ContainerStatus) -> Iterator[Found]:
    """The containers in the status that the runtime does not have."""
    ended = status.state.terminated
    if ended is None and status.state.running is None:
        ended = status.last_state.terminated
    if ended is not None:
        yield _ghost(pod, status, ended)
    elif status.state.running is not None:
        began = Terminated(started_at=status.state.running.started_at)
        lost = _ghost(pod, status, began)
        yield msgspec.structs.replace(lost, is_lost=True, exit_code=137)


def _ghost(pod: Pod, status: ContainerStatus, ended: Terminated) -> Found:
    started = None if ended.started_at is None else _moment(ended.started_at)
    finished = None if ended.finished_at is None else _moment(ended.finished_at)
    return Found(
        id=plain_id(ended.container_id or status.container_id) or f"{pod.uid}-{status.name}",
        owner=Owner(pod.namespace, pod.name, pod.uid, status.name, status.restart_count),
        state=State.EXITED,
        created_at=started or finished or _NEVER,
        log_path=Path(),
        image_id=status.image_id,
        notes={REASON_NOTE: ended.reason, MESSAGE_NOTE: ended.message} if ended.reason else {},
        started_at=started,
        finished_at=finished,
        exit_code=ended.exit_code,
    )


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
