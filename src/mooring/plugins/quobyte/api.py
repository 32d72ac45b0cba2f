"""Quobyte's API: JSON-RPC over HTTP."""

import base64
import re
from collections.abc import Mapping
from itertools import count
from typing import Any

import msgspec

from mooring.model.document import Doc
from mooring.plugins.contract import PluginError
from mooring.plugins.rest import Ask, Request, origin_of

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
OK = 200


class QuobyteRefused(PluginError):
    """The API has answered, and the answer is no."""


class Account(msgspec.Struct, frozen=True):
    """Where the API is, and as whom it is asked."""

    url: str
    user: str
    password: str

    def __repr__(self) -> str:
        return f"Account(url={self.url!r}, user={self.user!r})"


class _Reply(msgspec.Struct):
    result: Mapping[str, Any] | None = None
    error: Mapping[str, Any] | None = None


class QuobyteApi:
    def __init__(self, account: Account, ask: Ask) -> None:
        self._account = account
        self._ask = ask
        self._ids = count(1)

    async def tenant(self, name: str) -> str:
        """Its UUID; `name` may be that already."""
        if not name or _UUID.match(name):
            return name
        return _text(await self._call("resolveTenantName", {"tenant_name": name}), "tenant_id")

    async def volume(self, name: str, tenant: str) -> str:
        """Its UUID. Raises: QuobyteRefused when there is none, or it may not be seen."""
        asked = {"volume_name": name, "tenant_domain": tenant}
        return _text(await self._call("resolveVolumeName", asked), "volume_uuid")

    async def create(self, wish: Doc) -> str:
        return _text(await self._call("createVolume", wish), "volume_uuid")

    async def set_quota(self, volume: str, size: int) -> None:
        consumer = {"type": "VOLUME", "identifier": volume}
        limit = {"type": "LOGICAL_DISK_SPACE", "value": size}
        await self._call("setQuota", {"quotas": [{"consumer": [consumer], "limits": [limit]}]})

    async def delete(self, volume: str) -> None:
        await self._call("deleteVolume", {"volume_uuid": volume})

    async def _call(self, method: str, params: Doc) -> Mapping[str, Any]:
        """Raises: QuobyteRefused, PluginError."""
        origin_of("quobyteAPIServer", self._account.url)
        given = {name: value for name, value in params.items() if value != ""}
        call = {"jsonrpc": "2.0", "id": str(next(self._ids)), "method": method, "params": given}
        proof = f"{self._account.user}:{self._account.password}".encode()
        headers = {
            "Authorization": f"Basic {base64.b64encode(proof).decode()}",
            "Content-Type": "application/json",
        }
        request = Request("POST", self._account.url, headers, msgspec.json.encode(call))
        answer = await self._ask(request)
        try:
            reply = msgspec.json.decode(answer.content, type=_Reply)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            text = f"{method}: status {answer.status}, and the answer cannot be read: {error}"
            raise PluginError(text) from error
        if reply.error is not None:
            told = str(reply.error.get("message", ""))[:200]
            raise QuobyteRefused(f"{method}: error {reply.error.get('code')}: {told}")
        if answer.status != OK:
            raise PluginError(f"{method}: status {answer.status}")
        return reply.result or {}


def _text(result: Mapping[str, Any], field: str) -> str:
    value = result.get(field)
    if not isinstance(value, str) or not value:
        raise PluginError(f"the answer has no {field}")
    return value
