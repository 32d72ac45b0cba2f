"""`mooring dashboard`, and `/ui` of an API server: the dashboard put together."""

from collections.abc import Callable
from pathlib import Path

import uvloop

from mooring.apiserver.request.message import Answer, Request, Response, Stream
from mooring.apiserver.request.options import parse_query
from mooring.client.connect import connect
from mooring.clock import RealClock
from mooring.dashboard.app import Dashboard
from mooring.dashboard.doors import OneTimeDoor, TokenDoor
from mooring.dashboard.message import DashboardRequest
from mooring.dashboard.serve import LOOPBACK, serving
from mooring.stack.dashboard_parts import parts
from mooring.stack.process import stop_event
from mooring.stack.pumped import Pumped

Say = Callable[[str], None]


def run_dashboard(kubeconfig: Path | None, port: int, say: Say) -> None:
    """Until SIGTERM or SIGINT; `say` prints the URL. Raises: UsageError."""
    uvloop.run(_dashboard(kubeconfig, port, say))


async def _dashboard(kubeconfig: Path | None, port: int, say: Say) -> None:
    stop, clock = stop_event(), RealClock()
    async with connect(kubeconfig, clock) as client:

        def renewed(token: str) -> None:
            say(f"opened; for another window: {_url(bound, token)}")

        door = OneTimeDoor(client, renewed)
        async with serving(Dashboard(door, clock, parts(clock)), port) as bound:
            say(f"dashboard of {client.server}: {_url(bound, door.token)}")
            say("read-only, for this machine alone; the URL works once. Ctrl-C ends it.")
            await stop.wait()


def _url(port: int, token: str) -> str:
    """The token is behind `#`, which browsers send to no server."""
    return f"http://{LOOPBACK}:{port}/ui/#token={token}"


def build_ui(url: str, authority: bytes) -> "Carrier":
    """The dashboard for `/ui` of the API server at `url`, for who has a token of it."""
    clock = RealClock()
    return Carrier(Dashboard(TokenDoor(url, authority, clock), clock, parts(clock)))


class Carrier:
    """Between the API server's requests and the dashboard's."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard

    async def carry(self, request: Request) -> Answer:
        query = {name: values[0] for name, values in parse_query(request.query).items()}
        scheme, _, token = (request.header("authorization") or "").partition(" ")
        answer = await self._dashboard.handle(
            DashboardRequest(
                method=request.method,
                path=request.path,
                query=query,
                bearer=token.strip() if scheme.lower() == "bearer" else "",
                body=request.body,
                known_etag=request.header("if-none-match") or "",
            )
        )
        if isinstance(answer.body, bytes):
            return Response(answer.status, answer.body, answer.content_type, answer.headers)
        source = Pumped(answer.body)
        return Stream(source, answer.status, answer.content_type, answer.headers)
