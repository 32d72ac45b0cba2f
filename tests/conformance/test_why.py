"""`mooring why` on Kubernetes' own API server and controllers, and on Mooring: the same answers."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from tests.clients.find_kubectl import Age, Missing, find_kubectl
from tests.clients.kubectl import Kubectl
from tests.clients.why.heal import heal
from tests.clients.why.stage import Stage
from tests.clients.why.table import SITUATIONS
from tests.conformance import obtain
from tests.conformance.obtain import Say
from tests.conformance.peers import (
    HOUSEKEEPING,
    UNLIMITED,
    VOLUME_CONTROLLERS,
    Find,
    controller_manager,
    kubernetes,
)
from tests.fakes.real_server import RealServer

pytestmark = pytest.mark.conformance

CONTROLLERS = (
    *VOLUME_CONTROLLERS,
    *HOUSEKEEPING,
    "persistentvolume-attach-detach-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "pod-garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
)
FLAGS = (*UNLIMITED, "--enable-hostpath-provisioner")
_numbers = count(1)


@pytest.fixture(scope="module", params=["kubernetes", "mooring"])
def cluster(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    find: Find,
    say: Say,
) -> Iterator[tuple[str, Path]]:
    """Whose cluster, and the kubeconfig of its administrator."""
    directory = tmp_path_factory.mktemp(request.param)
    with ExitStack() as running:
        if request.param == "mooring":
            server = RealServer(directory / "data", "--kubernetes-version", "1.35").start()
            running.callback(server.kill)
            yield request.param, server.kubeconfig
            return
        try:
            api = running.enter_context(kubernetes(directory, find))
            running.enter_context(controller_manager(api, find, CONTROLLERS, FLAGS))
        except obtain.Missing as reason:
            say(f"no Kubernetes to ask why: {reason}")
            pytest.skip(f"no Kubernetes to ask why: {reason}")
        yield request.param, api.kubeconfig


@pytest.fixture
def stage(cluster: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    try:
        binary = find_kubectl(Age.USUAL)
    except Missing as reason:
        pytest.skip(f"no kubectl: {reason}")
    namespace = f"why-{next(_numbers)}"
    home = tmp_path_factory.mktemp("home")
    kubectl = Kubectl(binary.path, binary.version, cluster[1], home, namespace)
    stage = Stage(cluster[1], kubectl, namespace)
    code, made = stage.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    assert code == 201, made
    yield stage
    stage.close()


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_cause_is_named_and_the_command_heals(
    name: str, cluster: tuple[str, Path], stage: Stage, tmp_path: Path
) -> None:
    situation = SITUATIONS[name]
    if situation.needs_snapshots and cluster[0] == "kubernetes":
        pytest.skip("its API server has no snapshots")
    if situation.needs_scheduler and cluster[0] == "kubernetes":
        pytest.skip("its scheduler does not run here")
    heal(stage, situation, tmp_path)
