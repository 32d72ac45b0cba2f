"""Containers made, started, killed and removed."""

import asyncio
import signal
from collections.abc import Callable, Iterable

from mooring import log
from mooring.clock import Clock
from mooring.errors import MooringError
from mooring.host.blocking import in_thread
from mooring.model.backoff import Backoff
from mooring.model.container import Container
from mooring.model.pod import Pod
from mooring.node.pods.container_spec import SpecWriter, StartOptions
from mooring.node.pods.events import PodEvents
from mooring.node.pods.files import remove_log
from mooring.node.pods.grace import Grace
from mooring.node.pods.hooks import HookFailed, Hooks
from mooring.node.pods.plan import Kill
from mooring.node.pods.pod_images import PodImages
from mooring.node.pods.stop_signal import stop_signal
from mooring.node.pods.waiting_reason import POST_START, CannotStart
from mooring.oci.contract import Containers, Found, RuntimeRefused, State

LEAST_GRACE = 2.0  # seconds that every container has between being asked to end and being killed
KILL_AGAIN = Backoff(first=1.0, cap=60.0)

_log = log.get("mooring.node.pods")


class Effects:
    def __init__(
        self,
        containers: Containers,
        images: PodImages,
        specs: SpecWriter,
        hooks: Hooks,
        events: PodEvents,
        clock: Clock,
    ) -> None:
        self._containers = containers
        self._images = images
        self._specs = specs
        self._hooks = hooks
        self._events = events
        self._clock = clock

    async def start(self, wish: StartOptions, leftovers: Iterable[str]) -> None:
        """Make the container and run it.

        Cancelled, or failed: what is left of it does not run, and the runtime lists it.
        Raises: CannotStart, RuntimeRefused, VolumeError, HostError, ConnectionLost.
        """
        for id in leftovers:
            await self._containers.remove(id)
        image = await self._images.for_container(wish.pod, wish.container)
        spec = await self._specs.write(wish, image)
        await self._containers.create(spec)
        self._events.normal(wish.pod, wish.container, "Created", "Container created")
        try:
            await self._containers.start(wish.id)
        except RuntimeRefused:
            await self._containers.remove(wish.id)
            raise
        self._events.normal(wish.pod, wish.container, "Started", "Container started")

    async def greet(self, wish: StartOptions, grace: Grace) -> None:
        """Do what the pod wants done after a start; if that fails, the container has to go.

        Raises: CannotStart, when the container is dead.
        """
        hook = wish.container.lifecycle.post_start
        if hook is None:
            return
        pod, container = wish.pod, wish.container
        try:
            await self._hooks.run(wish.id, pod, container, hook)
        except HookFailed as error:
            _log.warning("hook failed", pod=pod.key, container=container.name, because=error)
            self._events.warning(pod, container, "FailedPostStartHook", "PostStartHook failed")
            found = self._containers.find(wish.id)
            if found is not None:
                seconds = pod.spec.termination_grace_period_seconds or 0
                grace.renew(seconds)
                kill = Kill(found, container, seconds, "FailedPostStartHook")
                await self.kill(pod, kill, grace, lambda _: False)
            raise CannotStart(POST_START, str(error)) from error

    async def kill(self, pod: Pod, kill: Kill, grace: Grace, runs: Callable[[str], bool]) -> None:
        """Returns when the container has ended. `runs` says whether another container runs.

        A failed kill is retried until the container has ended.
        """
        container, id = kill.container, kill.found.id
        self._events.normal(pod, container, "Killing", kill.message)
        await self._say_goodbye(pod, container, id, grace)
        if kill.after:
            await grace.until(lambda: not any(map(runs, kill.after)))
        grace.at_least(LEAST_GRACE)
        await self._signal(pod, id, stop_signal(kill.found.notes))
        await grace.until(lambda: self._has_ended(id))
        failures = 0
        while not self._has_ended(id):
            failures += 1
            grace.renew(KILL_AGAIN.delay(failures))
            await self._signal(pod, id, signal.SIGKILL)
            await grace.until(lambda: self._has_ended(id))

    async def _signal(self, pod: Pod, id: str, number: signal.Signals) -> None:
        try:
            await self._containers.kill(id, number)
        except MooringError as error:
            _log.warning("a container cannot be signalled", pod=pod.key, id=id, because=error)

    async def _say_goodbye(self, pod: Pod, container: Container, id: str, grace: Grace) -> None:
        """Do what the pod wants done before a stop, for as long as there is time."""
        hook = container.lifecycle.pre_stop
        if hook is None or grace.left <= 0:
            return
        task = asyncio.create_task(self._hooks.run(id, pod, container, hook))
        task.add_done_callback(lambda _: grace.stir())
        try:
            await grace.until(lambda: task.done() or self._has_ended(id))
        finally:
            task.cancel()
            await asyncio.wait({task})
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("hook failed", pod=pod.key, container=container.name, because=error)
            self._events.warning(pod, container, "FailedPreStopHook", "PreStopHook failed")

    async def discard(self, found: Found) -> None:
        """Remove a container and its log. Raises: RuntimeRefused, HostError when one is left."""
        await self._containers.remove(found.id)
        await in_thread(remove_log, found.log_path)

    def forget(self, pod_uid: str) -> None:
        self._images.forget(pod_uid)

    def _has_ended(self, id: str) -> bool:
        found = self._containers.find(id)
        return found is None or found.state is State.EXITED
