"""`/attach`: talk to a container itself, until it ends or the client leaves; then it goes on."""

from mooring.clock import Clock
from mooring.errors import HostError
from mooring.node.server.conversation import StreamClient, talk
from mooring.node.server.outcome import SUCCESS, failed
from mooring.node.server.stream_options import Streams
from mooring.oci.contract import Containers, RuntimeRefused


class Attached:
    """One container. Whether its input ends with the first client, the runtime knows."""

    def __init__(self, containers: Containers, id: str) -> None:
        self._containers = containers
        self._id = id

    async def serve(self, client: StreamClient, _: Streams, clock: Clock) -> None:
        """Raises: ConnectionError."""
        try:
            session = await self._containers.attach(self._id)
        except (RuntimeRefused, HostError) as error:
            await client.finish(failed(f"error attaching to container: {error}"))
            return
        if await talk(client, session, clock) is not None:
            await client.finish(SUCCESS)  # how the container ended is in the pod's status
