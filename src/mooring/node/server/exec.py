"""`/exec`: run a command in a container, and let the client talk to it."""

from collections.abc import Sequence

from mooring.clock import Clock
from mooring.errors import HostError
from mooring.node.server.conversation import StreamClient, talk
from mooring.node.server.outcome import exited, failed
from mooring.node.server.stream_options import Streams
from mooring.oci.contract import Containers, ExecOptions, RuntimeRefused


class Executed:
    """One command in one container."""

    def __init__(self, containers: Containers, id: str, command: Sequence[str]) -> None:
        self._containers = containers
        self._id = id
        self._command = tuple(command)

    async def serve(self, client: StreamClient, streams: Streams, clock: Clock) -> None:
        """It is killed if the client leaves. Raises: ConnectionError."""
        wish = ExecOptions(self._command, has_stdin=streams.stdin, has_tty=streams.tty)
        try:
            session = await self._containers.exec(self._id, wish)
        except (RuntimeRefused, HostError) as error:
            await client.finish(failed(f"error executing command in container: {error}"))
            return
        code = await talk(client, session, clock)
        if code is not None:
            await client.finish(exited(code, self._command))
