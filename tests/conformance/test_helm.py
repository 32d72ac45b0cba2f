"""A chart with all that operators bring: installed, upgraded, rolled back and removed by helm.

Its pods run on fake nodes: there is no image.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.testing import Cluster, Kube, Refused
from tests.conformance.helm import Helm
from tests.conformance.obtain import HELM, Missing
from tests.conformance.peers import Find

CHART = Path(__file__).parent / "charts/ledgers"
WAITING = ("--wait", "--timeout=60s")
OPERATOR, STORE = "deploy/moor-operator", "sts/moor-store"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        running.add_node("n1")
        running.add_node("n2")
        running.add_csi_driver()
        yield running


@pytest.fixture
def books(cluster: Cluster) -> Iterator[Kube]:
    with cluster.namespace("books") as namespace:
        yield namespace


@pytest.fixture
def helm(find: Find, cluster: Cluster, tmp_path: Path) -> Helm:
    try:
        return Helm(find(HELM), tmp_path, cluster.kubeconfig)
    except Missing as reason:
        pytest.skip(f"no helm: {reason}")


def a_ledger(pages: int) -> dict[str, object]:
    return {
        "apiVersion": "books.example.com/v1",
        "kind": "Ledger",
        "metadata": {"name": "other"},
        "spec": {"pages": pages},
    }


def image_of(books: Kube, reference: str) -> str:
    (container,) = books.get(reference)["spec"]["template"]["spec"]["containers"]
    return str(container["image"])


def claims(books: Kube) -> list[str]:
    return sorted(claim["metadata"]["name"] for claim in books.list("pvc"))


def refusal(books: Kube, pages: int) -> str:
    with pytest.raises(Refused) as refused:
        books.apply(a_ledger(pages))
    return str(refused.value)


def install(helm: Helm, *words: str) -> None:
    helm("install", "moor", CHART, "-n=books", *WAITING, *words)


def upgrade(*words: str) -> tuple[str | Path, ...]:
    return ("upgrade", "moor", CHART, "-n=books", *WAITING, *words)


def test_what_is_installed_works_when_helm_says_so(helm: Helm, books: Kube) -> None:
    install(helm)
    assert books.get(OPERATOR)["status"]["readyReplicas"] == 1
    assert books.get(STORE)["status"]["readyReplicas"] == 1
    assert books.get("pvc/data-moor-store-0")["status"]["phase"] == "Bound"
    assert books.get("job/moor-migration")["status"]["succeeded"] == 1
    assert books.get("ledgers/moor")["spec"] == {"pages": 3, "paper": "white"}
    assert "a ledger has at most 10 pages" in refusal(books, 11)
    assert "STATUS: deployed" in helm("status", "moor", "-n=books")


def test_an_upgrade_rolls_it_out_and_a_rollback_takes_it_back(helm: Helm, books: Kube) -> None:
    install(helm)
    more = ("image=example.com/ledgers:2", "operator.replicas=3", "store.replicas=2")
    helm(*upgrade("--set", ",".join((*more, "policy.most=20"))))
    for reference, replicas in ((OPERATOR, 3), (STORE, 2)):
        assert image_of(books, reference) == "example.com/ledgers:2"
        assert books.get(reference)["status"]["updatedReplicas"] == replicas
    assert claims(books) == ["data-moor-store-0", "data-moor-store-1"]
    assert books.get("job/moor-migration")["metadata"]["labels"]["revision"] == "2"
    assert "at most 20 pages" in refusal(books, 21)
    books.apply(a_ledger(11))

    helm("rollback", "moor", "1", "-n=books", *WAITING)
    assert image_of(books, OPERATOR) == "example.com/ledgers:1"
    books.wait(OPERATOR, "status.replicas=1")
    books.wait(STORE, "status.replicas=1")
    assert claims(books) == ["data-moor-store-0", "data-moor-store-1"]
    assert books.get("ledgers/other")["spec"]["pages"] == 11
    assert "at most 10 pages" in refusal(books, 12)


def test_a_hook_that_fails_stops_the_upgrade_before_anything_changes(
    helm: Helm, books: Kube
) -> None:
    install(helm)
    ran = helm.run(*upgrade("--set", "migration.exitCode=1,image=example.com/ledgers:2"))
    assert ran.returncode != 0
    assert "pre-upgrade hooks failed" in ran.stderr
    assert "BackoffLimitExceeded" in ran.stderr
    assert image_of(books, OPERATOR) == "example.com/ledgers:1"
    helm(*upgrade("--set", "image=example.com/ledgers:3"))
    assert image_of(books, OPERATOR) == "example.com/ledgers:3"


def test_what_the_api_refuses_is_told_and_undone(helm: Helm, books: Kube) -> None:
    install(helm)
    ran = helm.run(*upgrade("--atomic", "--set", "store.size=2Gi,policy.most=1"))
    assert ran.returncode != 0
    assert "updates to statefulset spec for fields other than" in ran.stderr
    assert "at most 10 pages" in refusal(books, 11)


@pytest.mark.parametrize("kept", [True, False], ids=["claims are kept", "claims go too"])
def test_what_was_installed_is_removed_but_for_its_kind(
    helm: Helm, books: Kube, cluster: Cluster, *, kept: bool
) -> None:
    install(helm, "--set", f"store.keepClaims={str(kept).lower()}")
    helm("uninstall", "moor", "-n=books", *WAITING)
    for kind in ("deploy", "rs", "sts", "services", "pdb", "ledgers"):
        assert books.list(kind) == [], kind
    assert books.list("pods", "app") == []
    assert [job["metadata"]["name"] for job in books.list("jobs")] == ["moor-migration"]  # a hook
    if not kept:
        books.wait("pvc/data-moor-store-0", "deleted")
    assert claims(books) == (["data-moor-store-0"] if kept else [])
    assert cluster.list("validatingadmissionpolicies") == []
    assert books.apply(a_ledger(11))["spec"]["pages"] == 11
    install(helm)
    assert books.get("pvc/data-moor-store-0")["status"]["phase"] == "Bound"
