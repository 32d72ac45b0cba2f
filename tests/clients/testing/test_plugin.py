"""`pytest --mooring`: each test here is a run of pytest on tests of somebody else."""

import pytest

pytest_plugins = ("pytester",)
pytestmark = pytest.mark.timeout(240)  # a whole pytest starts, on whatever else the machine does

CLAIM = """
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
"""
THREE = f"""
{CLAIM}
def test_binds(kube):
    kube.apply(CLAIM)
    kube.wait("pvc/data", "Bound", timeout=60)

def test_is_alone(kube, namespace):
    assert kube.name == namespace
    assert kube.list("pvc") == []

def test_has_the_cluster(cluster, own_cluster):
    assert cluster.url != own_cluster.url
    assert cluster.kubeconfig.exists()
"""
FAILING = f"""
{CLAIM}
def test_fails(kube):
    kube.apply(CLAIM | {{"spec": CLAIM["spec"] | {{"storageClassName": "missing"}}}})
    kube.wait_event("data", "ProvisioningFailed", timeout=60)
    assert kube.get("pvc/data")["status"]["phase"] == "Bound"

def test_has_the_options(cluster):
    assert cluster.list("storageclass") == []
"""
WITHOUT_THE_FLAG = """
import sys

def test_cheap():
    assert "mooring.testing.plugin" in sys.modules
    assert [name for name in sys.modules if name.startswith("mooring.testing.c")] == []
    assert "uvloop" not in sys.modules

def test_asks_in_vain(cluster):
    pass
"""
ASYNC = """
import pytest, pytest_asyncio
from mooring.testing import AsyncCluster

pytestmark = pytest.mark.asyncio(loop_scope="module")

@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared():
    async with AsyncCluster(controllers=False) as running:
        yield running

async def test_uses_one_of_the_module(shared):
    assert (await shared.get("namespace/default"))["status"]["phase"] == "Active"

async def test_has_its_own_beside_the_plugins(shared, cluster):
    async with AsyncCluster(controllers=False) as own:
        assert len({own.url, shared.url, cluster.url}) == 3
"""
OPTIONS = """
import pytest

@pytest.fixture(scope="session")
def cluster_options():
    return {"default_class": False}
"""


def _run(pytester: pytest.Pytester, tests: str, *flags: str) -> pytest.RunResult:
    pytester.makepyfile(tests)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *flags)


def test_fixtures_on_every_worker_of_xdist(pytester: pytest.Pytester) -> None:
    ran = _run(pytester, THREE, "--mooring", "-n", "2")
    ran.assert_outcomes(passed=3)


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_async_tests_in_either_mode(pytester: pytest.Pytester, mode: str) -> None:
    ran = _run(pytester, ASYNC, "--mooring", f"--asyncio-mode={mode}")
    ran.assert_outcomes(passed=2)


def test_a_failure_shows_the_namespace_and_options_can_be_chosen(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(OPTIONS)
    ran = _run(pytester, FAILING, "--mooring", "--mooring-process", "child")
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.fnmatch_lines(
        [
            "*Kubernetes namespace test-*",
            "objects of the namespace test-*",
            "  PersistentVolumeClaim/data  Pending",
            "  Warning ProvisioningFailed PersistentVolumeClaim/data: *",
        ]
    )


def test_without_the_flag_it_costs_and_does_nothing(pytester: pytest.Pytester) -> None:
    ran = _run(pytester, WITHOUT_THE_FLAG)
    ran.assert_outcomes(passed=1, errors=1)
    ran.stdout.fnmatch_lines(["*fixture 'cluster' not found*"])
