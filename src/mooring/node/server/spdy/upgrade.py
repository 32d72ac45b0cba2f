"""From HTTP to SPDY: agreeing on a protocol, and taking over the connection."""

from collections.abc import Sequence

from aiohttp import web

from mooring.node.server.refusal import Refusal
from mooring.node.server.spdy.carriers import UpgradedCarrier
from mooring.node.server.spdy.connection import SpdyConnection

SPDY = "SPDY/3.1"
PROTOCOL_HEADER = "X-Stream-Protocol-Version"


def is_spdy(request: web.Request) -> bool:
    is_upgrade = "upgrade" in request.headers.get("Connection", "").lower()
    return is_upgrade and request.headers.get("Upgrade", "").strip().lower() == SPDY.lower()


async def upgrade(
    request: web.Request, known: Sequence[str]
) -> tuple[str, SpdyConnection, web.StreamResponse]:
    """Answer 101 with the first protocol of the client's that is among the `known`.

    Raises: Refusal.
    """
    protocol = _chosen(request, known)
    response = web.StreamResponse(
        status=101,
        headers={"Connection": "Upgrade", "Upgrade": SPDY, PROTOCOL_HEADER: protocol},
    )
    response.force_close()
    connection = SpdyConnection(UpgradedCarrier(request, response))
    # Before the answer: what comes after it is no HTTP any more.
    request.protocol.set_parser(connection)  # type: ignore[arg-type]  # has what is called of it
    request.protocol.keep_alive(False)  # noqa: FBT003  not our signature
    await response.prepare(request)
    return protocol, connection, response


def _chosen(request: web.Request, known: Sequence[str]) -> str:
    headers = request.headers.getall(PROTOCOL_HEADER, ())
    if not headers:
        count = len(request.headers)
        raise Refusal(
            400,
            f"unable to upgrade: header {PROTOCOL_HEADER} does not exist in request "
            f"with {count} headers",
        )
    offered = [name.strip() for header in headers for name in header.split(",") if name.strip()]
    for name in offered:
        if name in known:
            return name
    raise Refusal(
        403,
        "unable to upgrade: unable to negotiate protocol: "
        f"client supports [{' '.join(offered)}], server accepts [{' '.join(known)}]",
    )
