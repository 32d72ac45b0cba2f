"""How a node words what it has."""

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.model.kubernetes_version import V1_35, V1_37, VERSIONS, KubernetesVersion
from mooring.model.node import Node, NodeImage
from mooring.model.quantity import canonical
from mooring.model.wire import read_document
from mooring.node.status import document
from mooring.node.status.hardware import Amounts
from mooring.oci.contract import ImageConfig, StoredImage
from tests.unit.node.status.world import AMOUNTS, GIB, IDENTITY

TOLD = document.Told(
    name="worker-1",
    version="0",
    identity=IDENTITY,
    amounts=AMOUNTS,
    has_memory_pressure=False,
    has_disk_pressure=False,
    in_use=(),
)


@pytest.mark.parametrize(
    ("release", "storage"),
    [(V1_35, "100Gi"), (V1_37, str(100 * GIB))],
    ids=["1.35 counts storage in binary", "1.37 counts it as what pods may have"],
)
def test_pods_may_have_less_than_the_machine_has(release: KubernetesVersion, storage: str) -> None:
    amounts = replace(AMOUNTS, huge_pages={2 << 20: GIB})
    assert document.capacity(amounts, release) == {
        "cpu": "4",
        "memory": "8Gi",
        "ephemeral-storage": storage,
        "pods": "110",
        "hugepages-2Mi": "1Gi",
    }
    assert document.allocatable(amounts, release) == {
        "cpu": "4",
        "memory": "7068Mi",  # but for 100Mi, and for what is set aside as huge pages
        "ephemeral-storage": str(100 * GIB - 10 * GIB),
        "pods": "110",
        "hugepages-2Mi": "1Gi",
    }


@pytest.mark.parametrize("amounts", [AMOUNTS, Amounts(), Amounts(memory=12345678, storage=10**9)])
@pytest.mark.parametrize("release", VERSIONS.values(), ids=str)
def test_amounts_are_spelled_as_the_api_spells_them(
    amounts: Amounts, release: KubernetesVersion
) -> None:
    for told in (document.capacity(amounts, release), document.allocatable(amounts, release)):
        for amount in told.values():
            assert canonical(amount) == amount


def test_images_largest_first_with_their_digests() -> None:
    digest = f"sha256:{'d' * 64}"
    small = StoredImage("sha256:1", ("quay.io/a:1", "quay.io/b:1"), (), ImageConfig(), 10, (), ())
    large = StoredImage(
        "sha256:2", ("quay.io/a:2", f"quay.io/a@{digest}"), (), ImageConfig(), 20, (), (digest,)
    )
    nameless = StoredImage("sha256:3", (), (), ImageConfig(), 5)
    found = document.images([small, nameless, large])
    assert [(one.names, one.size_bytes) for one in found] == [
        ((f"quay.io/a@{digest}", "quay.io/a:2"), 20),
        (("quay.io/a:1", "quay.io/b:1"), 10),
        (("sha256:3",), 5),
    ]
    assert len(document.images([small] * 60)) == 50


def test_images_are_news_and_written_until_there_are_none() -> None:
    told = replace(TOLD, images=(NodeImage(("quay.io/a:1",), 10),))
    status = document.status(None, told, "now")
    assert status["images"] == [{"names": ["quay.io/a:1"], "sizeBytes": 10}]
    node = read_document({"metadata": {"name": "worker-1"}, "status": status}, Node)
    assert node.status.images == told.images
    assert "images" not in document.status(None, TOLD, "now")
    assert document.is_news(node, TOLD)
    assert document.status(node, TOLD, "now")["images"] == []


SHORTAGES = {
    "memory, below 100Mi": (replace(AMOUNTS, memory_free=100 * 1024**2 - 1), (True, False)),
    "no memory, at 100Mi": (replace(AMOUNTS, memory_free=100 * 1024**2), (False, False)),
    "disk, below a tenth": (replace(AMOUNTS, storage_free=10 * GIB - 1), (False, True)),
    "no disk, at a tenth": (replace(AMOUNTS, storage_free=10 * GIB), (False, False)),
    "inodes, below a twentieth": (replace(AMOUNTS, inodes_free=49), (False, True)),
    "a machine that tells nothing": (Amounts(), (False, False)),
}


@pytest.mark.parametrize(("amounts", "then"), SHORTAGES.values(), ids=SHORTAGES)
def test_shortage(amounts: Amounts, then: tuple[bool, bool]) -> None:
    felt = document.is_short_of_memory(amounts), document.is_short_of_storage(amounts)
    assert felt == then


def test_stuck_volumes_are_told_while_there_are_some_and_afterwards_that_there_are_none() -> None:
    stuck = replace(TOLD, stuck="pv-1: stat /mnt/x has not returned since 12:00")
    first = document.status(None, stuck, "now")["conditions"]
    told = {one["type"]: (one["status"], one["message"]) for one in first}
    assert told["mooring.dev/StuckVolumes"] == ("True", stuck.stuck)
    node = read_document({"metadata": {"name": "n1"}, "status": {"conditions": first}}, Node)
    assert document.is_news(node, TOLD)
    then = document.status(node, TOLD, "later")["conditions"]
    assert {one["type"]: one["status"] for one in then}["mooring.dev/StuckVolumes"] == "False"


def test_conditions_are_worded_as_upstream_words_them() -> None:
    status = document.status(None, TOLD, "now")
    assert [(one["type"], one["status"], one["reason"]) for one in status["conditions"]] == [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ]
    assert status["conditions"][-1]["message"] == "kubelet is posting ready status"


def test_it_is_reached_by_its_addresses_and_its_name() -> None:
    assert document.status(None, TOLD, "now")["addresses"] == [
        {"type": "InternalIP", "address": "10.0.0.7"},
        {"type": "Hostname", "address": "worker-1"},
    ]


def test_volumes_in_use_are_left_alone_while_they_are_not_known() -> None:
    assert "volumesInUse" not in document.status(None, replace(TOLD, in_use=None), "now")


def test_a_new_node_is_not_ready_before_it_knows_what_it_has_mounted() -> None:
    ready = {one["type"]: one["status"] for one in _status(None, in_use=None)["conditions"]}
    assert ready["Ready"] == "False"
    node = read_document({"metadata": {"name": "n1"}, "status": _status(None, in_use=None)}, Node)
    assert not document.is_news(node, replace(TOLD, in_use=None))
    assert document.is_news(node, replace(TOLD, in_use=()))
    ready = {one["type"]: one["status"] for one in _status(node, in_use=())["conditions"]}
    assert ready["Ready"] == "True"


def test_a_node_that_starts_again_is_as_ready_as_it_was() -> None:
    node = read_document({"metadata": {"name": "n1"}, "status": _status(None, in_use=())}, Node)
    assert not document.is_news(node, replace(TOLD, in_use=None))
    ready = {one["type"]: one["status"] for one in _status(node, in_use=None)["conditions"]}
    assert ready["Ready"] == "True"


def _status(node: Node | None, *, in_use: tuple[str, ...] | None) -> dict[str, Any]:
    return document.status(node, replace(TOLD, in_use=in_use), "2026-01-02T03:04:05Z")


def test_what_was_told_is_no_news() -> None:
    metadata = {"name": TOLD.name}
    assert document.is_news(read_document({"metadata": metadata}, Node), TOLD)
    told = {"metadata": metadata, "status": document.status(None, TOLD, "now")}
    node = read_document(told, Node)
    assert not document.is_news(node, TOLD)
    assert document.is_news(node, replace(TOLD, in_use=("v",)))
    assert document.is_news(node, replace(TOLD, has_disk_pressure=True))


def test_a_node_that_carries_its_marks_needs_no_others() -> None:
    made = read_document(document.creation(TOLD.name, IDENTITY, {}), Node)
    assert document.marks(made, IDENTITY) == {}
    bare = read_document({"metadata": {"name": TOLD.name}}, Node)
    assert document.marks(bare, IDENTITY)["metadata"]["annotations"] == {
        "volumes.kubernetes.io/controller-managed-attach-detach": "true"
    }
