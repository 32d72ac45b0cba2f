"""The scheduler's writes, when they go wrong."""

import pytest

from mooring.client.contract import Action
from mooring.errors import Conflict, ConnectionLost
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.scheduling.effects import Assigned, assign, reserve, select_node
from tests.fakes import objects
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock
from tests.fakes.fake_server import FakeServer

WEB = Key("default", "web")


def in_default(doc: objects.Doc) -> objects.Doc:
    doc["metadata"]["namespace"] = "default"
    return doc


@pytest.fixture
def client() -> FakeClient:
    clock = VirtualClock()
    return FakeClient(FakeServer(clock), clock)


def a_pod(client: FakeClient) -> Pod:
    return client.server.create(Pod, in_default(objects.a_pod()))


async def test_a_pod_is_put_on_a_node(client: FakeClient) -> None:
    assert await assign(client, a_pod(client), "n1") is Assigned.HERE
    assert client.server.get(Pod, WEB).spec.node_name == "n1"


async def test_an_answer_that_got_lost_is_found_out_about(client: FakeClient) -> None:
    pod = a_pod(client)
    client.fail("post", ConnectionLost("cut"), applied=True)
    with pytest.raises(ConnectionLost):
        await assign(client, pod, "n1")
    assert await assign(client, pod, "n1") is Assigned.HERE


async def test_a_pod_that_somebody_put_elsewhere(client: FakeClient) -> None:
    pod = a_pod(client)
    await client.post(Pod, WEB, Action.BINDING, {"target": {"name": "n2"}})
    assert await assign(client, pod, "n1") is Assigned.NOT_OURS


async def test_a_pod_that_is_gone(client: FakeClient) -> None:
    pod = a_pod(client)
    client.server.delete(pod)
    assert await assign(client, pod, "n1") is Assigned.NOT_OURS


async def test_another_pod_of_its_name(client: FakeClient) -> None:
    pod = a_pod(client)
    client.server.delete(pod)
    a_pod(client)
    assert await assign(client, pod, "n1") is Assigned.NOT_OURS
    assert not client.server.get(Pod, WEB).is_scheduled


async def test_a_pod_that_is_going(client: FakeClient) -> None:
    pod = a_pod(client)
    client.server.delete(pod, 30)
    assert await assign(client, pod, "n1") is Assigned.NOT_OURS


async def test_a_refusal_without_a_known_cause_is_one(client: FakeClient) -> None:
    pod = a_pod(client)
    client.fail("post", Conflict("gates"))
    with pytest.raises(Conflict):
        await assign(client, pod, "n1")


async def test_a_volume_is_reserved_as_it_was_seen(client: FakeClient) -> None:
    claim = client.server.create(Claim, in_default(objects.a_claim()))
    seen = client.server.create(Volume, objects.a_volume())
    written = await reserve(client, seen, claim)
    reference = written.spec.claim_ref
    assert reference is not None
    assert (reference.name, reference.uid) == ("data", claim.uid)
    assert written.is_bound_by_controller
    with pytest.raises(Conflict):
        await reserve(client, seen, claim)


async def test_a_users_reservation_is_not_marked(client: FakeClient) -> None:
    claim = client.server.create(Claim, in_default(objects.a_claim()))
    reservation = {"namespace": "default", "name": "data"}
    seen = client.server.create(Volume, objects.a_volume(claimRef=reservation))
    written = await reserve(client, seen, claim)
    assert written.spec.claim_ref is not None
    assert written.spec.claim_ref.uid == claim.uid
    assert not written.is_bound_by_controller


async def test_a_claim_is_meant_for_a_node(client: FakeClient) -> None:
    doc = in_default(objects.a_claim())
    doc["metadata"]["annotations"] = {"a": "1"}
    seen = client.server.create(Claim, doc)
    written = await select_node(client, seen, "n1")
    assert written.metadata.annotations == {"a": "1", Annotation.SELECTED_NODE: "n1"}
