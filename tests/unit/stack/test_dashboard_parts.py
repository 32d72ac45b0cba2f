"""What the dashboard shows of an object: the CSI calls about its volumes, and no others."""

import json
from typing import Any, cast

import pytest

from mooring.client.http import HttpClient
from mooring.csi.call_query import PATH
from mooring.dashboard.looks import subject_of
from mooring.errors import BadRequest
from mooring.model.claim import Claim
from mooring.model.volume import Volume
from mooring.stack.dashboard_parts import Trace, parts
from tests.unit.dashboard.world import World

PROCESS = {"id": "p", "host": "h", "pid": 1}


def a_call(number: int, method: str, volume: str, **more: Any) -> dict[str, Any]:
    started = "2026-01-01T00:00:00Z"
    common = {"id": number, "service": "csi.v1.Node", "method": method, "started": started}
    return {**common, "seconds": 0.5, "volume": volume, "driver": "d", "code": "OK", **more}


CALLS = [
    a_call(1, "CreateVolume", "pv-data"),
    a_call(2, "NodeStageVolume", "handle-data"),
    a_call(3, "NodeStageVolume", "handle-other"),
    a_call(
        4,
        "GetCapacity",
        "",
        because={"kind": "PersistentVolumeClaim", "name": "data", "namespace": "team"},
    ),
    a_call(5, "GetCapacity", "", driver="other"),
]

WANTED = {
    "claim": ("claims", "team/data", ["CreateVolume", "NodeStageVolume", "GetCapacity"]),
    "volume": ("volumes", "pv-data", ["CreateVolume", "NodeStageVolume"]),
    "driver": ("drivers", "other", ["GetCapacity"]),
}


def a_world() -> World:
    world = World()
    claim = {"metadata": {"name": "data", "namespace": "team"}, "spec": {"volumeName": "pv-data"}}
    world.server.create(Claim, claim)
    csi = {"driver": "d", "volumeHandle": "handle-data"}
    world.server.create(Volume, {"metadata": {"name": "pv-data"}, "spec": {"csi": csi}})
    world.client.paths[PATH] = json.dumps({"process": PROCESS, "calls": CALLS}).encode()
    return world


@pytest.mark.parametrize(("kind", "id", "methods"), WANTED.values(), ids=WANTED)
async def test_the_calls_about_an_object(kind: str, id: str, methods: list[str]) -> None:
    world = a_world()
    told = await Trace()(cast(HttpClient, world.client), subject_of(kind, id))
    assert sorted(call.method for call in told["calls"]) == sorted(methods)
    assert told["unseen"] == ()


async def test_a_node_has_no_timeline() -> None:
    world = a_world()
    timeline = parts(world.clock).timeline
    assert timeline is not None
    with pytest.raises(BadRequest, match="claims and pods have a timeline"):
        await timeline(cast(HttpClient, world.client), subject_of("nodes", "n1"))
