"""Steps under way: each a task of its own, one at a time for each container."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from functools import partial
from random import Random
from typing import Any

from mooring import log
from mooring.clock import Clock
from mooring.errors import MooringError
from mooring.model.backoff import Backoff
from mooring.model.container import Container
from mooring.node.pods.container_spec import StartOptions
from mooring.node.pods.contract import PodVolumes
from mooring.node.pods.decide import CRASH_LOOP
from mooring.node.pods.effects import Effects
from mooring.node.pods.events import PodEvents
from mooring.node.pods.grace import Grace
from mooring.node.pods.paths import PodPaths
from mooring.node.pods.plan import Discard, Kill, Postpone, Start, Step
from mooring.node.pods.pod_run import Doing, Operation, PodRun
from mooring.node.pods.security import pod_id
from mooring.node.pods.start_backoff import StartBackoff, back_off_text
from mooring.node.pods.view import WaitingReason
from mooring.oci.contract import Containers, Found, Owner, State
from mooring.reconcile.poison import set_aside

Work = Callable[[Grace], Coroutine[Any, Any, None]]

BUG_SECONDS = 10.0  # before something that went wrong by mistake is tried again
DISCARD_AGAIN = Backoff(first=1.0, cap=60.0)

_log = log.get("mooring.node.pods")


class Operations:
    def __init__(
        self,
        containers: Containers,
        effects: Effects,
        events: PodEvents,
        paths: PodPaths,
        clock: Clock,
        rng: Random,
        changed: Callable[[PodRun], None],
    ) -> None:
        """`changed` is called whenever a step has succeeded or failed."""
        self._containers = containers
        self._effects = effects
        self._events = events
        self._start_backoff = StartBackoff(events, clock)
        self._paths = paths
        self._clock = clock
        self._rng = rng
        self._changed = changed

    def begin(self, run: PodRun, step: Step, tasks: asyncio.TaskGroup) -> None:
        match step:
            case Start() if run.volumes is not None:
                wish = self._wish(run, step, run.volumes)
                key, work = step.container.name, partial(self._start, run, step, wish)
                self._begin(run, key, Doing.START, work, tasks)
            case Start():
                pass  # its volumes are not there yet
            case Postpone():
                self._postpone(run, step)
            case Kill():
                key, work = step.container.name, partial(self._kill, run, step)
                self._begin(run, key, Doing.KILL, work, tasks, step.grace)
            case Discard(found) if found.id in run.ghosts:
                run.forget_container(found.id)
            case Discard(found):
                is_new = found.state is State.CREATED
                key = found.owner.container if is_new else found.id
                work = partial(self._discard, run, found)
                self._begin(run, key, Doing.DISCARD, work, tasks)

    def cancel_starts(self, run: PodRun) -> None:
        for operation in run.operations.values():
            if operation.doing is Doing.START and operation.task is not None:
                operation.task.cancel()

    def _begin(
        self,
        run: PodRun,
        key: str,
        doing: Doing,
        work: Work,
        tasks: asyncio.TaskGroup,
        seconds: float = 0.0,
    ) -> None:
        if key in run.operations:
            return

        def done(_: asyncio.Task[None]) -> None:
            del run.operations[key]
            run.stir()
            self._changed(run)

        operation = run.operations[key] = Operation(doing, Grace(self._clock, seconds))
        operation.task = tasks.create_task(self._guarded(run, work, operation.grace))
        operation.task.add_done_callback(done)

    async def _guarded(self, run: PodRun, work: Work, grace: Grace) -> None:
        try:
            await work(grace)
        except Exception:  # noqa: BLE001  a bug met by one container must not stop the others
            set_aside("container operations", run.pod.key)
            await self._clock.sleep(BUG_SECONDS)

    # starting

    def _wish(self, run: PodRun, step: Start, volumes: PodVolumes) -> StartOptions:
        pod, container = run.pod, step.container
        owner = Owner(pod.namespace, pod.name, pod.uid, container.name, step.attempt)
        return StartOptions(
            self._new_id(),
            pod,
            container,
            step.attempt,
            self._paths.log(owner),
            volumes,
            partial(self._find_neighbour, run, container),
        )

    def _new_id(self) -> str:
        while True:
            id = f"{self._rng.getrandbits(256):064x}"
            if self._containers.find(id) is None:
                return id

    async def _start(self, run: PodRun, step: Start, wish: StartOptions, grace: Grace) -> None:
        name = step.container.name
        run.ids.add(wish.id)
        try:
            async with run.starting if run.pod.spec.share_process_namespace else nullcontext():
                await self._effects.start(wish, step.leftovers)
            self._started(run, step)
            await self._effects.greet(wish, grace)
        except Exception as error:  # noqa: BLE001  whatever it is, it is this container's trouble
            if self._start_backoff.note(run, wish, error):
                self._started(run, step)
        else:
            run.waiting_reasons.pop(name, None)
        finally:
            if self._containers.find(wish.id) is None:
                run.ids.discard(wish.id)

    def _started(self, run: PodRun, step: Start) -> None:
        """It ran, or will never: its next attempt has to wait the longer for that."""
        if step.pause is not None:
            run.pauses[step.container.name] = step.pause

    def _find_neighbour(self, run: PodRun, container: Container) -> str:
        """The id of the container whose processes it shares: the oldest one that runs."""
        running = [one for one in run.found(self._containers) if one.state is State.RUNNING]
        if container.target_container_name:
            named = [
                one for one in running if one.owner.container == container.target_container_name
            ]
            return named[0].id if named else ""
        if not run.pod.spec.share_process_namespace or run.pod.spec.host_pid:
            return ""
        return min(running, key=lambda one: one.created_at).id if running else ""

    def _postpone(self, run: PodRun, step: Postpone) -> None:
        pod, container = run.pod, step.container
        text = back_off_text(pod, container, step.seconds)
        run.waiting_reasons[container.name] = WaitingReason(CRASH_LOOP, text, step.until)
        self._events.warning(
            pod,
            container,
            "BackOff",
            f"Back-off restarting failed container {container.name} in pod {pod_id(pod)}",
        )

    # ending

    async def _kill(self, run: PodRun, step: Kill, grace: Grace) -> None:
        await self._effects.kill(run.pod, step, grace, partial(self._runs, run))

    def _runs(self, run: PodRun, name: str) -> bool:
        return any(
            one.owner.container == name and one.state is State.RUNNING
            for one in run.found(self._containers)
        )

    async def _discard(self, run: PodRun, found: Found, grace: Grace) -> None:
        failures = 0
        while True:
            try:
                await self._effects.discard(found)
                break
            except MooringError as error:
                failures += 1
                _log.warning("a container stays", pod=run.pod.key, id=found.id, because=error)
                grace.renew(DISCARD_AGAIN.delay(failures))
                await grace.until(lambda: False)
        run.forget_container(found.id)
