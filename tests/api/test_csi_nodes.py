"""A CSINode whose last driver has gone, and every way to bring one back."""

from typing import Any

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import CSI_NODES, a_csi_node

DRIVER = {"name": "d", "nodeID": "id", "topologyKeys": None}
WAYS: dict[str, tuple[str, Any]] = {
    "merge": ("application/merge-patch+json", {"spec": {"drivers": [DRIVER]}}),
    "strategic merge": ("application/strategic-merge-patch+json", {"spec": {"drivers": [DRIVER]}}),
    "json": (
        "application/json-patch+json",
        [{"op": "add", "path": "/spec/drivers", "value": [DRIVER]}],
    ),
    "apply": ("application/apply-patch+yaml", a_csi_node("n1", "d")),
}


async def emptied(api: ApiUnderTest) -> None:
    assert (await api.post(CSI_NODES, a_csi_node("n1", "d"))).code == 201
    answer = await api.patch(f"{CSI_NODES}/n1", {"spec": {"drivers": []}})
    assert answer.code == 200, answer.text
    assert answer.doc["spec"] == {"drivers": None}


@pytest.mark.parametrize(("media", "body"), WAYS.values(), ids=WAYS)
async def test_a_driver_comes_back_by_patch(api: ApiUnderTest, media: str, body: Any) -> None:
    await emptied(api)
    query = "?fieldManager=x" if "apply" in media else ""
    answer = await api.ask("PATCH", f"{CSI_NODES}/n1{query}", body, {"content-type": media})
    assert answer.code == 200, answer.text
    (driver,) = answer.doc["spec"]["drivers"]
    assert (driver["name"], driver["topologyKeys"]) == ("d", None)


async def test_our_own_clients_read_the_nulls(api: ApiUnderTest) -> None:
    await emptied(api)
    client = LocalClient(InProcessApi(api.parts.backend, CONTROLLERS))
    assert not (await client.get(CsiNode, Key("", "n1"))).spec.drivers
    assert (await api.post(CSI_NODES, a_csi_node("n2", "d"))).code == 201
    (driver,) = (await client.get(CsiNode, Key("", "n2"))).spec.drivers or ()
    assert not driver.topology_keys


async def test_the_status_has_a_path_of_its_own(api: ApiUnderTest) -> None:
    health = [{"name": "d", "healthConditions": [{"status": "StorageDegraded", "reason": "Full"}]}]
    made = await api.post(CSI_NODES, a_csi_node("n1", "d") | {"status": {"storageHealth": health}})
    assert made.doc["status"] == {}
    change = {"spec": {"drivers": []}, "status": {"storageHealth": health}}
    written = await api.patch(f"{CSI_NODES}/n1/status", change)
    assert written.code == 200, written.text
    assert [one["name"] for one in written.doc["spec"]["drivers"]] == ["d"]
    assert written.doc["status"]["storageHealth"][0]["healthConditions"][0]["reason"] == "Full"
    kept = await api.patch(f"{CSI_NODES}/n1", {"status": None, "metadata": {"labels": {"a": "b"}}})
    assert kept.doc["status"] == written.doc["status"]
    health[0]["healthConditions"] = [{"status": "Ill", "reason": "Full"}]
    refused = await api.patch(f"{CSI_NODES}/n1/status", {"status": {"storageHealth": health}})
    assert refused.code == 422
