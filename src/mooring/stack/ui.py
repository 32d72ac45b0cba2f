"""`/ui` of an API server: loaded when somebody first looks at it, since most never do."""

from typing import TYPE_CHECKING

from mooring.apiserver.request.message import Answer, Request
from mooring.apiserver.server import Running
from mooring.host.blocking import in_thread
from mooring.stack.listening import reachable

if TYPE_CHECKING:
    from mooring.stack.dashboard import Carrier


def show_ui(server: Running) -> None:
    """Serve the dashboard at `/ui` of this API server."""
    server.parts.api.show_ui(_Ui(server).carry)


class _Ui:
    def __init__(self, server: Running) -> None:
        self._server = server
        self._carrier: Carrier | None = None

    async def carry(self, request: Request) -> Answer:
        if self._carrier is None:
            self._carrier = await in_thread(self._build)  # imports take a moment
        return await self._carrier.carry(request)

    def _build(self) -> "Carrier":
        from mooring.stack.dashboard import build_ui

        return build_ui(reachable(self._server.address).url, self._server.pki.ca_certificate)
