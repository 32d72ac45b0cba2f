"""A caller in this process whose rights are asked: no more than over HTTP."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.user import node_user
from mooring.client.contract import Scope
from mooring.errors import Forbidden
from mooring.model.keys import Key
from mooring.model.meta import Resource
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.secret import Secret
from mooring.model.service_account import ServiceAccount
from tests.fakes.api import ApiUnderTest, make_pki, running_api
from tests.fakes.objects import NODES, a_node

SECRETS = "/api/v1/namespaces/default/secrets"
SECRET = Key("default", "keys")
ACCOUNT = Key("default", "default")
NODE, PODS = Node.resource, Pod.resource


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def api(keys: Pki, tmp_path: Path) -> AsyncIterator[ApiUnderTest]:
    async with running_api(keys, tmp_path) as running:
        await running.post(SECRETS, {"metadata": {"name": SECRET.name}})
        for name in ("n1", "n2"):
            await running.post(NODES, a_node(name))
        yield running


@pytest.fixture
def node(api: ApiUnderTest) -> InProcessApi:
    access = api.parts.access
    return InProcessApi(api.parts.backend, node_user("n1"), access.part_verbs, access.check)


def named(name: str) -> Scope:
    return Scope(fields=f"metadata.name={name}")


def in_default(resource: Resource) -> Scope:
    return Scope("default" if resource.namespaced else "", fields="metadata.name=keys")


Attempted = Callable[[InProcessApi], Awaitable[object]]

REFUSED: dict[str, Attempted] = {
    "reading a secret that no pod of it uses": lambda n: n.get(Secret.resource, SECRET),
    "listing such a secret": lambda n: n.list(Secret.resource, in_default(Secret.resource)),
    "watching such a secret": lambda n: n.watch(
        Secret.resource, "1", in_default(Secret.resource), lambda: None
    ),
    "listing all nodes": lambda n: n.list(NODE, Scope()),
    "reading another node": lambda n: n.get(NODE, Key("", "n2")),
    "watching the pods of another node": lambda n: n.watch(
        PODS, "1", Scope(fields="spec.nodeName=n2"), lambda: None
    ),
    "making a secret": lambda n: n.create(
        Secret.resource, {"metadata": {"name": "new", "namespace": "default"}}
    ),
    "patching a secret": lambda n: n.patch(Secret.resource, SECRET, "1", [("", {"data": {}})]),
    "patching a pod": lambda n: n.patch(PODS, Key("default", "p"), "1", [("", {})]),
    "asking for a token of nobody's pod": lambda n: n.post(
        ServiceAccount.resource, ACCOUNT, "token", {}
    ),
    "deleting a secret": lambda n: n.delete(Secret.resource, SECRET, "u", None),
}


@pytest.mark.parametrize("attempt", REFUSED.values(), ids=REFUSED)
async def test_a_node_is_refused(node: InProcessApi, attempt: Attempted) -> None:
    with pytest.raises(Forbidden, match="system:node:n1"):
        await attempt(node)


ALLOWED: dict[str, Attempted] = {
    "reading itself": lambda n: n.get(NODE, Key("", "n1")),
    "listing itself": lambda n: n.list(NODE, named("n1")),
    "watching itself": lambda n: n.watch(NODE, "1", named("n1"), lambda: None),
    "listing its pods": lambda n: n.list(PODS, Scope(fields="spec.nodeName=n1")),
}


@pytest.mark.parametrize("attempt", ALLOWED.values(), ids=ALLOWED)
async def test_a_node_is_let(node: InProcessApi, attempt: Attempted) -> None:
    assert await attempt(node) is not None


async def test_a_pod_on_the_node_opens_its_secrets_to_it(
    api: ApiUnderTest, node: InProcessApi
) -> None:
    container = {"name": "c", "image": "i"}
    volumes = [{"name": "v", "secret": {"secretName": SECRET.name}}]
    spec = {"nodeName": "n1", "containers": [container], "volumes": volumes}
    made = await api.post(
        "/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": spec}
    )
    assert made.code == 201, made.text
    assert SECRET.name.encode() in await node.get(Secret.resource, SECRET)
