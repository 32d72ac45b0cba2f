"""Callers in this process see the trouble of the database as any client would."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.errors import InternalError, StoreError
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.pod import Pod
from tests.fakes.api import make_pki, running_api
from tests.fakes.objects import CLAIMS, PODS, a_claim, a_pod

CLAIM, POD = Claim.resource, Pod.resource
WRITES: dict[str, Callable[[InProcessApi, str], Awaitable[object]]] = {
    "create": lambda api, _: api.create(
        CLAIM, a_claim("new") | {"metadata": {"name": "new", "namespace": "default"}}
    ),
    "patch": lambda api, version: api.patch(
        CLAIM, Key("default", "data"), version, [("", {"metadata": {"labels": {"a": "b"}}})]
    ),
    "delete": lambda api, _: api.delete(CLAIM, Key("default", "data"), "", None),
    "post": lambda api, _: api.post(
        POD,
        Key("default", "web"),
        "binding",
        {"kind": "Binding", "apiVersion": "v1", "target": {"kind": "Node", "name": "n1"}},
    ),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_a_write_that_the_disk_refused_is_an_internal_error(
    write: Callable[[InProcessApi, str], Awaitable[object]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*_: object) -> None:
        raise StoreError("disk full")

    async with running_api(make_pki(tmp_path / "pki"), tmp_path) as api:
        await api.post(PODS, a_pod("web"))
        stored = (await api.post(CLAIMS, a_claim("data"))).doc
        backend = api.parts.backend
        monkeypatch.setattr(backend.store, "write", refuse)

        with pytest.raises(InternalError, match="the database refused: disk full"):
            await write(InProcessApi(backend, CONTROLLERS), stored["metadata"]["resourceVersion"])
