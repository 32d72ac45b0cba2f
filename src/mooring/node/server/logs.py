"""`/containerLogs`: which log is meant, and sending it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack

from aiohttp import web

from mooring.errors import HostError
from mooring.host.blocking import in_thread
from mooring.host.directory_watch import DirectoryWatch, DirectoryWatches
from mooring.model.container_status import ContainerStatus
from mooring.model.pod import Pod
from mooring.model.pod_log_options import PodLogOptions
from mooring.node.server.endings import Endings
from mooring.node.server.log_file import LogReader
from mooring.node.server.refusal import Refusal
from mooring.oci.contract import Containers, Found

Send = Callable[[bytes], Awaitable[None]]

_PULLING = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


def choose_log(pod: Pod, container: str, options: PodLogOptions, containers: Containers) -> Found:
    """The container whose log is meant. Raises: Refusal, in kubelet's words."""
    if not options.previous:
        # Our own list is never behind; the status may be.
        begun = [found for found in _of(pod, container, containers.list()) if found.started_at]
        if begun:
            return max(begun, key=lambda found: found.owner.attempt)
    wanted = _container_id(pod, container, options)
    found = containers.find(wanted.partition("://")[2])
    if found is None:
        raise Refusal(400, f"unable to retrieve container logs for {wanted}")
    return found


def _of(pod: Pod, container: str, everything: Sequence[Found]) -> list[Found]:
    return [
        found
        for found in everything
        if found.owner.pod_uid == pod.uid and found.owner.container == container
    ]


def _container_id(pod: Pod, name: str, options: PodLogOptions) -> str:
    """As kubelet decides it from the status."""
    status = _find_status(pod, name)
    where = f'container "{name}" in pod "{pod.name}"'
    if status is None:
        raise Refusal(400, f"{where} is not available")
    last, now = status.last_state.terminated, status.state
    if options.previous:
        if last is None or not last.container_id:
            raise Refusal(400, f"previous terminated {where} not found")
        return last.container_id
    if now.running is not None:
        return status.container_id
    if now.terminated is not None and now.terminated.container_id:
        return now.terminated.container_id
    if last is not None and last.container_id:
        return last.container_id
    if now.terminated is not None or last is not None:
        raise Refusal(400, f"{where} is terminated")
    if now.waiting is not None:
        why = _PULLING.get(now.waiting.reason, now.waiting.reason)
        raise Refusal(400, f"{where} is waiting to start: {why}")
    raise Refusal(400, f"{where} is waiting to start - no logs yet")


def _find_status(pod: Pod, name: str) -> ContainerStatus | None:
    status = pod.status
    known = (
        *status.container_statuses,
        *status.init_container_statuses,
        *status.ephemeral_container_statuses,
    )
    return next((each for each in known if each.name == name), None)


class LogSender:
    """Sends logs, as they are and as they grow."""

    def __init__(self, endings: Endings) -> None:
        self._endings = endings
        self._watches = DirectoryWatches()

    async def send(
        self, request: web.Request, found: Found, options: PodLogOptions
    ) -> web.StreamResponse:
        """The answer, sent as it is read. Raises: Refusal, ConnectionError."""
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.enable_chunked_encoding()
        reader = LogReader(found.log_path, options)
        try:
            if options.follow:
                await self._send_growing(request, response, found, reader)
            else:
                await in_thread(reader.open)
                await response.prepare(request)
                await _send_all(reader, response.write)
        finally:
            reader.close()
        await response.write_eof()
        return response

    async def _send_growing(
        self, request: web.Request, response: web.StreamResponse, found: Found, reader: LogReader
    ) -> None:
        with ExitStack() as stack:
            # Both before the first look: what happens meanwhile is heard.
            ended = stack.enter_context(self._endings.expected(found.id))
            try:
                watch = stack.enter_context(self._watches.of(found.log_path.parent))
            except HostError as error:
                raise Refusal(500, str(error)) from error
            await in_thread(reader.open)
            await response.prepare(request)
            await _follow(reader, watch, ended, response.write)


async def _follow(
    reader: LogReader, watch: DirectoryWatch, ended: asyncio.Event, send: Send
) -> None:
    """Until the container has ended, and all of it was sent."""
    while True:
        has_ended = ended.is_set()  # before reading: what it wrote until then is read now
        await _send_all(reader, send)
        if reader.is_full:
            return
        if has_ended:
            if rest := reader.rest():
                await send(rest)
            return
        await _first(watch.changed(), ended.wait())


async def _send_all(reader: LogReader, send: Send) -> None:
    while True:
        piece = await in_thread(reader.read)
        if piece.data:
            await send(piece.data)
        if piece.is_all:
            return


async def _first(*waits: Awaitable[object]) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
