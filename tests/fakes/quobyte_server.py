"""Quobyte's API on loopback: JSON-RPC, with an account that is checked."""

import base64
from typing import Any

from aiohttp import web

from mooring.model.document import Doc
from tests.fakes.heketi_server import Answer

USER, PASSWORD = "admin", "hunter2"
TENANT = "11111111-1111-4111-8111-111111111111"


class QuobyteServer:
    def __init__(self) -> None:
        self.url = ""
        self.volumes: dict[str, Doc] = {}  # by UUID
        self.quotas: dict[str, int] = {}
        self.asked: list[str] = []
        self.plays: dict[str, Answer] = {}  # by method

    async def answer(self, request: web.Request) -> web.StreamResponse:
        call = await request.json()
        self.asked.append(call["method"])
        if (played := self.plays.get(call["method"])) is not None:
            return await played(request)
        account = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {account}":
            return web.Response(status=401, text="who are you?")
        result: Any = getattr(self, f"_{call['method']}")(call["params"])
        if isinstance(result, str):
            error = {"code": -32000, "message": result}
            return web.json_response({"jsonrpc": "2.0", "id": call["id"], "error": error})
        return web.json_response({"jsonrpc": "2.0", "id": call["id"], "result": result})

    def _resolveTenantName(self, params: Doc) -> Doc | str:
        return {"tenant_id": TENANT} if params["tenant_name"] == "DEFAULT" else "no such tenant"

    def _resolveVolumeName(self, params: Doc) -> Doc | str:
        assert params["tenant_domain"] == TENANT
        for uuid, volume in self.volumes.items():
            if volume["name"] == params["volume_name"]:
                return {"volume_uuid": uuid}
        return "no such volume"

    def _createVolume(self, params: Doc) -> Doc | str:
        if any(volume["name"] == params["name"] for volume in self.volumes.values()):
            return "exists"
        uuid = f"uuid-{len(self.volumes)}"
        self.volumes[uuid] = params
        return {"volume_uuid": uuid}

    def _setQuota(self, params: Doc) -> Doc:
        (quota,) = params["quotas"]
        self.quotas[quota["consumer"][0]["identifier"]] = quota["limits"][0]["value"]
        return {}

    def _deleteVolume(self, params: Doc) -> Doc:
        del self.volumes[params["volume_uuid"]]
        return {}
