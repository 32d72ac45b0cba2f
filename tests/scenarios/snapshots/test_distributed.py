"""Snapshotters on each node: the controller says which one a snapshot is for."""

import pytest
from msgspec.structs import replace

from mooring.controllers.snapshots.options import SnapshotOptions
from tests.fakes.objects import NODES, VOLUMES, a_node
from tests.scenarios.snapshots.cluster import Cluster

MANAGED_BY = "snapshot.storage.kubernetes.io/managed-by"
HOST = "kubernetes.io/hostname"


async def given(cluster: Cluster, *hosts: str, is_distributed: bool = True) -> None:
    """A bound claim whose volume belongs to these hosts, and three nodes."""
    cluster.options = replace(
        cluster.options, snapshots=SnapshotOptions(is_distributed=is_distributed)
    )
    for name in ("n1", "n2", "n3"):
        node = a_node(name)
        node["metadata"]["labels"] = {HOST: f"host-{name}"}
        await cluster.create(NODES, node)
    await cluster.claim()
    await cluster.snapshot_class()
    if hosts:
        term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": list(hosts)}]}
        affinity = {"required": {"nodeSelectorTerms": [term]}}
        await cluster.patch(VOLUMES, "pv-data", {"spec": {"nodeAffinity": affinity}})


CASES = {
    "the node that the volume belongs to": (("host-n2",), True, {MANAGED_BY: "n2"}),
    "the first of several": (("host-n3", "host-n2"), True, {MANAGED_BY: "n2"}),
    "none, if the volume belongs to no node": ((), True, None),
    "none, if its node is gone": (("host-n9",), True, None),
    "none, unless it is asked for": (("host-n2",), False, None),
}


@pytest.mark.parametrize(("hosts", "is_distributed", "labels"), CASES.values(), ids=CASES)
async def test_a_content_is_labelled_with(
    cluster: Cluster, hosts: tuple[str, ...], labels: dict[str, str] | None, *, is_distributed: bool
) -> None:
    await given(cluster, *hosts, is_distributed=is_distributed)
    async with cluster.controller():
        await cluster.snapshot()
        await cluster.goes_on()
        assert (await cluster.content_of())["metadata"].get("labels") == labels
