"""Who may read a page of a standalone role: asked of the API server, token by token.

The page is plain HTTP, so a token is taken from this machine alone: elsewhere it could be read on
its way. `kubectl port-forward` and ssh tunnels arrive on this machine, too.
"""

import ipaddress

from aiohttp import web

from mooring.client.contract import Client
from mooring.errors import ApiError, ConnectionLost
from mooring.model.document import Doc
from mooring.model.review import SubjectAccessReview, TokenReview

NOT_HERE = (
    "this page is served to this machine only, since its connection is not encrypted: "
    "use ssh -L or kubectl port-forward\n"
)


class Reviewed:
    """By TokenReview and SubjectAccessReview, each time."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def refusal(self, request: web.Request) -> web.Response | None:
        """None: the caller may get the path."""
        if not _is_local(request.remote):
            return web.Response(status=403, text=NOT_HERE)
        scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return web.Response(status=401, text="give a token of the API server's\n")
        try:
            return await self._judge(token.strip(), request.path)
        except (ApiError, ConnectionLost) as error:
            why = f"this role cannot ask the API server who may read this: {error}\n"
            return web.Response(status=500, text=why)

    async def _judge(self, token: str, path: str) -> web.Response | None:
        asked: Doc = {"metadata": {}, "spec": {"token": token}}
        known = (await self._client.create(TokenReview, asked)).status
        if not known.authenticated:
            return web.Response(status=401, text="the API server does not know this token\n")
        user = known.user
        spec: Doc = {
            "user": user.username,
            "groups": list(user.groups),
            "nonResourceAttributes": {"path": path, "verb": "get"},
        }
        if user.uid:
            spec["uid"] = user.uid
        if user.extra:
            spec["extra"] = {name: list(values) for name, values in user.extra.items()}
        wanted: Doc = {"metadata": {}, "spec": spec}
        answer = await self._client.create(SubjectAccessReview, wanted)
        if answer.status.allowed:
            return None
        return web.Response(status=403, text=f"user {user.username} may not get {path}\n")


def _is_local(remote: str | None) -> bool:
    try:
        return ipaddress.ip_address(remote or "").is_loopback
    except ValueError:
        return False
