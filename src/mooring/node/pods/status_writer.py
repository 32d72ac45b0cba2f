"""Statuses of pods: written when they say something new, and not before it is settled."""

from collections.abc import Callable

from mooring.client.contract import Client, Part
from mooring.clock import Clock
from mooring.errors import NotFound
from mooring.host.blocking import in_thread
from mooring.model.container import Container
from mooring.model.pod import Pod
from mooring.model.timestamp import to_seconds
from mooring.node.pods.paths import PodPaths
from mooring.node.pods.pod_run import PodRun
from mooring.node.pods.status import Circumstances, document, status_of
from mooring.node.pods.termination_message import read_termination_message
from mooring.node.pods.view import View
from mooring.oci.contract import Found, State
from mooring.reconcile.cache import version_of

HOLD_SECONDS = 1.0  # so long a status waits for containers that are being started or stopped


class StatusWriter:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        paths: PodPaths,
        address: str,
        look: Callable[[PodRun], View],
    ) -> None:
        self._client = client
        self._clock = clock
        self._paths = paths
        self._address = address
        self._look = look
        self._handlers: list[Callable[[Pod], None]] = []

    def on_written(self, handler: Callable[[Pod], None]) -> None:
        """`handler` is given what the API made of a status."""
        self._handlers.append(handler)

    def hold(self, run: PodRun) -> float:
        """For how many seconds the status may wait: more is about to be known."""
        if not run.operations:
            run.held_since = None
            return 0.0
        now = self._clock.monotonic()
        if run.held_since is None:
            run.held_since = now
        return max(0.0, run.held_since + HOLD_SECONDS - now)

    async def write(self, run: PodRun) -> None:
        """Write the status if it has changed. Raises: ApiError, ConnectionLost."""
        async with run.writing:
            await self._listen(run)
            run.held_since = None
            around = Circumstances(
                to_seconds(self._clock.now()),
                self._address,
                run.volumes is not None,
                dict(run.termination_messages),
            )
            pod = run.pod
            status = status_of(self._look(run), around)
            if status == pod.status:
                return
            try:
                written = await self._client.patch(pod, document(pod, status), Part.STATUS)
            except NotFound:
                return  # it is gone, and the watch will say so
            if version_of(written) > version_of(run.pod):
                run.pod = written
            for handler in self._handlers:
                handler(written)

    async def _listen(self, run: PodRun) -> None:
        """Read the termination messages of containers that have ended."""
        containers = {each.name: each for each in run.pod.spec.all_containers}
        for group in self._look(run).found.values():
            for one in group:
                container = containers.get(one.owner.container)
                is_known = one.id in run.termination_messages or one.id in run.ghosts
                if one.state is State.EXITED and not is_known and container is not None:
                    run.termination_messages[one.id] = await self._read(run, one, container)

    async def _read(self, run: PodRun, found: Found, container: Container) -> str:
        path = self._paths.termination_message(run.pod, container.name, found.id)
        return await in_thread(read_termination_message, found, container, path)
