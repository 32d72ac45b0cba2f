"""Probes: looking now and then whether a container has started, lives, and is ready.

One task per container that has probes; it sleeps in between. Others cost nothing.
"""

import asyncio
from collections.abc import Callable
from enum import Enum
from random import Random

import msgspec
from msgspec.structs import replace

from mooring.clock import Clock
from mooring.errors import MooringError
from mooring.model.container import Container, Probe
from mooring.model.pod import Pod
from mooring.node.pods.actions import Actions, Result, Unclear
from mooring.node.pods.environment import expand_all
from mooring.node.pods.events import PodEvents
from mooring.node.pods.view import Failed, Health
from mooring.oci.contract import Found

TRIES = 3  # of a probe that could not even be made


class ProbeType(Enum):
    STARTUP = "Startup"
    LIVENESS = "Liveness"
    READINESS = "Readiness"


class ProbedContainer(msgspec.Struct, frozen=True):
    """A container that runs."""

    pod: Pod
    container: Container
    found: Found
    is_old: bool = False  # it ran before this node was started: its first probe is spread out


def has_probes(container: Container) -> bool:
    return any((container.startup_probe, container.liveness_probe, container.readiness_probe))


def first_health(container: Container) -> Health:
    """Of a container that has just been started."""
    return Health(
        has_started=container.startup_probe is None,
        is_ready=container.readiness_probe is None,
    )


class Probes:
    def __init__(self, actions: Actions, clock: Clock, rng: Random, events: PodEvents) -> None:
        self._actions = actions
        self._clock = clock
        self._rng = rng
        self._events = events

    async def watch(
        self, subject: ProbedContainer, health: Health, report: Callable[[Health], None]
    ) -> None:
        """Probe it until cancelled, or until it must go. Each change of its health is reported."""
        state = _Watched(health, report)
        container = subject.container
        if container.startup_probe is not None and not health.has_started:
            if not await self._until_sure(ProbeType.STARTUP, container.startup_probe, subject):
                state.change(failed=Failed.STARTUP)
                return
            state.change(has_started=True)
        async with asyncio.TaskGroup() as tasks:
            readiness: asyncio.Task[None] | None = None
            if container.readiness_probe is not None:
                readiness = tasks.create_task(
                    self._follow(container.readiness_probe, subject, state)
                )
            if container.liveness_probe is not None:
                await self._until_dead(container.liveness_probe, subject)
                state.change(failed=Failed.LIVENESS)
                if readiness is not None:
                    readiness.cancel()

    async def _until_sure(self, kind: ProbeType, probe: Probe, subject: ProbedContainer) -> bool:
        rounds = _Rounds(self, kind, probe, subject)
        await rounds.begin()
        while (verdict := await rounds.next()) is None:
            pass
        return verdict

    async def _until_dead(self, probe: Probe, subject: ProbedContainer) -> None:
        rounds = _Rounds(self, ProbeType.LIVENESS, probe, subject)
        await rounds.begin()
        while await rounds.next() is not False:
            pass

    async def _follow(self, probe: Probe, subject: ProbedContainer, state: "_Watched") -> None:
        rounds = _Rounds(self, ProbeType.READINESS, probe, subject)
        await rounds.begin()
        while True:
            verdict = await rounds.next()
            if verdict is not None:
                state.change(is_ready=verdict)

    async def first_pause(self, probe: Probe, subject: ProbedContainer) -> None:
        began = subject.found.started_at or subject.found.created_at
        age = max(0.0, (self._clock.now() - began).total_seconds())  # the clock may be set back
        pause = max(0.0, probe.initial_delay_seconds - age)
        if subject.is_old:
            pause += self._rng.random() * probe.period_seconds
        if pause:
            await self._clock.sleep(pause)

    async def pause(self, probe: Probe, began: float) -> None:
        """Until the next round, a period after the last one began."""
        left = began + probe.period_seconds - self._clock.monotonic()
        await self._clock.sleep(max(0.0, left))

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def try_once(
        self, kind: ProbeType, probe: Probe, subject: ProbedContainer
    ) -> bool | None:
        """Whether the probe succeeded; None when that is unknown. A failure becomes an event."""
        trouble: Exception | None = None
        pod, container = subject.pod, subject.container
        for _ in range(TRIES):
            try:
                result = await self._act(probe, subject)
            except MooringError as error:
                trouble = error
                continue
            if result.is_warning:
                text = f"{kind.value} probe warning: {result.output}"
                self._events.warning(pod, container, "ProbeWarning", text)
            elif not result.is_ok:
                text = f"{kind.value} probe failed: {result.output}"
                self._events.warning(pod, container, "Unhealthy", text)
            return result.is_ok
        text = f"{kind.value} probe errored and resulted in unknown state: {trouble}"
        self._events.warning(pod, container, "Unhealthy", text)
        return None

    async def _act(self, probe: Probe, subject: ProbedContainer) -> Result:
        """Raises: MooringError when it cannot even be tried."""
        seconds, container = float(probe.timeout_seconds), subject.container
        if probe.exec is not None:
            plain = {each.name: each.value for each in container.env}
            command = expand_all(probe.exec.command, plain)
            return await self._actions.run_program(subject.found.id, command, seconds)
        if probe.http_get is not None:
            return await self._actions.get_page(probe.http_get, container, seconds, "probe")
        if probe.tcp_socket is not None:
            return await self._actions.knock(probe.tcp_socket, container, seconds)
        if probe.grpc is not None:
            return await self._actions.ask_health(probe.grpc, seconds)
        raise Unclear(f"missing probe handler for {subject.pod.name}:{container.name}")


class _Watched:
    def __init__(self, health: Health, report: Callable[[Health], None]) -> None:
        self._health = health
        self._report = report

    def change(self, **fields: object) -> None:
        changed = replace(self._health, **fields)
        if changed != self._health:
            self._health = changed
            self._report(changed)


class _Rounds:
    """One probe of one container, again and again."""

    def __init__(
        self, probes: Probes, kind: ProbeType, probe: Probe, subject: ProbedContainer
    ) -> None:
        self._probes = probes
        self._kind = kind
        self._probe = probe
        self._subject = subject
        self._began: float | None = None
        self._last: bool | None = None
        self._in_a_row = 0

    async def begin(self) -> None:
        await self._probes.first_pause(self._probe, self._subject)

    async def next(self) -> bool | None:
        """One more round: what it makes sure of, if anything."""
        if self._began is not None:
            await self._probes.pause(self._probe, self._began)
        self._began = self._probes.monotonic()
        is_ok = await self._probes.try_once(self._kind, self._probe, self._subject)
        if is_ok is None:
            return None
        self._in_a_row = self._in_a_row + 1 if is_ok is self._last else 1
        self._last = is_ok
        needed = self._probe.success_threshold if is_ok else self._probe.failure_threshold
        return is_ok if self._in_a_row >= needed else None
