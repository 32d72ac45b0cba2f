"""Real clients against a real server process: TLS, tokens, sockets, disk."""

import asyncio
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.oci.probe import NoRuntime, probe
from tests.clients.find_kubectl import Age, Missing, find_kubectl
from tests.clients.kubectl import OLDEST, Kubectl
from tests.clients.manifests import Doc, an_event, one_of_each
from tests.clients.nodes import ServerWithNode, need_root, server_with_node
from tests.fakes.real_server import (  # noqa: F401  two are fixtures
    ApiServer,
    RealServer,
    own_api_server,
    own_server,
)

FETCHING_SECONDS = 300  # a kubectl may have to be downloaded by the test that needs it first

_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "kubectl" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(FETCHING_SECONDS))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """One for all tests here; each works in a namespace of its own, or with names of its own.

    The API server alone: were there controllers, the claims of one test would take the volumes of
    another. What `mooring up` makes of claims is in `test_walkthroughs.py`.
    """
    running = ApiServer(tmp_path_factory.mktemp("server") / "data").start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def needs_runtime() -> None:
    """Skip where no container can run."""
    need_root()
    probed = asyncio.run(probe())
    if isinstance(probed, NoRuntime):
        pytest.skip(probed.reason)


@pytest.fixture(scope="session")
def pod_server(
    needs_runtime: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerWithNode]:
    """A `mooring up` whose node runs pods, for all tests that do not disturb it.

    Test modules make it their `server`. When all is over nothing is left of it.
    """
    with server_with_node(tmp_path_factory.mktemp("pods") / "data") as running:
        yield running


@pytest.fixture
def unique() -> str:
    """A name that no other test uses: for a namespace, or before the names of cluster objects."""
    return f"t{os.getpid()}-{next(_numbers)}"


@pytest.fixture
def namespace(server: RealServer, unique: str) -> str:
    """With all that the server itself puts into a new one."""
    created = server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": unique}})
    assert created.code == 201
    for plural, name in (("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")):
        wait_for(server, f"/api/v1/namespaces/{unique}/{plural}", name)
    return unique


def wait_for(server: RealServer, collection: str, name: str) -> None:
    """Until an object of this name is there."""
    connection = server.connect()
    connection.request(
        "GET",
        f"{collection}?watch=true&timeoutSeconds=20&fieldSelector=metadata.name={name}",
        headers={"Authorization": f"Bearer {server.token()}"},
    )
    answer = connection.getresponse()
    assert b'"ADDED"' in answer.readline()
    connection.close()


@pytest.fixture
def everything(server: RealServer, unique: str) -> dict[str, Doc]:
    """One stored object of each kind, by its plural; the namespaced ones are in `default`."""
    stored: dict[str, Doc] = {}
    for plural, doc in one_of_each(f"{unique}-each").items():
        version = doc["apiVersion"]
        base = f"/api/{version}" if version == "v1" else f"/apis/{version}"
        answer = server.ask("POST", f"{base}/{plural}", doc)
        if answer.code == 405:
            answer = server.ask("POST", f"{base}/namespaces/default/{plural}", doc)
        assert answer.code == 201, answer.body
        stored[plural] = answer.doc
    about = stored["persistentvolumeclaims"]
    event = an_event(f"{unique}-each", about, "default", "Seen", "by a test")
    answer = server.ask("POST", "/api/v1/namespaces/default/events", event)
    return stored | {"events": answer.doc}


@pytest.fixture(scope="session")
def kubectl_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where kubectl keeps its cache of discovery: ports are reused, so never the user's."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def kubectl(
    request: pytest.FixtureRequest, server: RealServer, kubectl_home: Path, namespace: str
) -> Kubectl:
    """The usual kubectl, or those that `kubectls` asks for; the admin's, in `namespace`."""
    age, since = getattr(request, "param", (Age.USUAL, OLDEST))
    try:
        binary = find_kubectl(age)
    except Missing as reason:
        pytest.skip(f"no {age.value} kubectl: {reason}")
    if binary.version < since:
        pytest.skip(f"{binary.path} is {binary.version}, and this is for {since} and later")
    home = kubectl_home / age.value
    home.mkdir(exist_ok=True)
    return Kubectl(binary.path, binary.version, server.kubeconfig, home, namespace)


@pytest.fixture
def alone(kubectl: Kubectl, own_server: RealServer) -> Kubectl:  # noqa: F811  the fixture
    """A kubectl with a whole `mooring up` of its own, in the namespace `default`."""
    return kubectl.as_user(own_server.kubeconfig).in_namespace("default")
