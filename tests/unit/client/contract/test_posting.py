"""What every transport promises of posts to a part of an object."""

from copy import deepcopy

import pytest

from mooring.client.contract import Action
from mooring.errors import Conflict, Invalid, NotFound
from mooring.model.claim import Claim
from mooring.model.condition import is_condition_true
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import ApiObject, Resource
from mooring.model.pod import Pod
from tests.fakes.objects import a_pod, a_service_account
from tests.unit.client.transports import Transport, claim_in


class ServiceAccount(ApiObject, frozen=True):
    resource = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)


ON_N1: Doc = {"target": {"kind": "Node", "name": "n1"}}


async def a_waiting_pod(transport: Transport, name: str = "web") -> Pod:
    doc = a_pod(name)
    doc["metadata"]["namespace"] = transport.namespace
    return await transport.client.create(Pod, doc)


async def an_account(transport: Transport) -> ServiceAccount:
    doc = a_service_account()
    doc["metadata"]["namespace"] = transport.namespace
    return await transport.client.create(ServiceAccount, doc)


async def test_a_binding_puts_a_pod_on_a_node(transport: Transport) -> None:
    pod = await a_waiting_pod(transport)
    answer = await transport.client.post(Pod, pod.key, Action.BINDING, ON_N1)
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    after = await transport.client.get(Pod, pod.key)
    assert after.spec.node_name == "n1"
    assert is_condition_true(after.status.conditions, "PodScheduled")


async def test_a_pod_is_bound_once(transport: Transport) -> None:
    pod = await a_waiting_pod(transport)
    await transport.client.post(Pod, pod.key, Action.BINDING, ON_N1)
    with pytest.raises(Conflict, match='already assigned to node "n1"'):
        await transport.client.post(Pod, pod.key, Action.BINDING, {"target": {"name": "n2"}})


async def test_a_uid_means_that_very_object(transport: Transport) -> None:
    pod = await a_waiting_pod(transport)
    with pytest.raises(Conflict):
        await transport.client.post(
            Pod, pod.key, Action.BINDING, {**ON_N1, "metadata": {"uid": "another"}}
        )
    own = {**ON_N1, "metadata": {"uid": pod.uid}}
    await transport.client.post(Pod, pod.key, Action.BINDING, own)
    assert (await transport.client.get(Pod, pod.key)).is_scheduled


async def test_an_eviction_deletes_a_pod(transport: Transport) -> None:
    pod = await a_waiting_pod(transport)
    await transport.client.post(Pod, pod.key, Action.EVICTION, {})
    with pytest.raises(NotFound):
        await transport.client.get(Pod, pod.key)


async def test_a_token_comes_back_in_its_document(transport: Transport) -> None:
    account = await an_account(transport)
    answer = await transport.client.post(
        ServiceAccount, account.key, Action.TOKEN, {"spec": {"expirationSeconds": 600}}
    )
    assert answer["kind"] == "TokenRequest"
    assert answer["spec"]["expirationSeconds"] == 600
    assert answer["status"]["token"].count(".") == 2


async def test_nonsense_is_invalid(transport: Transport) -> None:
    pod = await a_waiting_pod(transport)
    with pytest.raises(Invalid, match=r"target\.name"):
        await transport.client.post(Pod, pod.key, Action.BINDING, {"target": {}})


async def test_what_is_posted_is_left_alone(transport: Transport) -> None:
    pod = await a_waiting_pod(transport)
    doc: Doc = {"target": {"name": "n1"}, "metadata": {"annotations": {"a": "1"}}}
    before = deepcopy(doc)
    await transport.client.post(Pod, pod.key, Action.BINDING, doc)
    assert doc == before


async def test_an_object_that_is_not_there_is_not_found(transport: Transport) -> None:
    with pytest.raises(NotFound) as refused:
        await transport.client.post(Pod, Key(transport.namespace, "x"), Action.BINDING, ON_N1)
    assert str(refused.value) == 'pods "x" not found'


async def test_an_action_that_its_kind_does_not_know_is_not_found(transport: Transport) -> None:
    claim = await transport.client.create(Claim, claim_in(transport, "data"))
    with pytest.raises(NotFound):
        await transport.client.post(Claim, claim.key, Action.BINDING, ON_N1)
