"""Where a volume can be used, in words."""

from typing import Any

import pytest

from mooring.scheduling.decide.explained import NOT_REACHABLE, out_of_reach
from tests.unit.scheduling.things import a_volume

HOST = "kubernetes.io/hostname"


def term(*requirements: tuple[str, str, list[str]], field: bool = False) -> dict[str, Any]:
    listed = [{"key": key, "operator": how, "values": values} for key, how, values in requirements]
    return {"matchFields" if field else "matchExpressions": listed}


WHERE = {
    "one node": ([term((HOST, "In", ["n1"]))], 'node "n1"'),
    "one node, by its name": ([term(("metadata.name", "In", ["n1"]), field=True)], 'node "n1"'),
    "two nodes": ([term((HOST, "In", ["n1", "n2"]))], 'nodes "n1", "n2"'),
    "two nodes, one by one": (
        [term((HOST, "In", ["n1"])), term((HOST, "In", ["n2"]))],
        'nodes "n1", "n2"',
    ),
    "many nodes": (
        [term((HOST, "In", [f"n{number}" for number in range(9)]))],
        'nodes "n0", "n1", "n2" and 6 more',
    ),
    "a zone": ([term(("zone", "In", ["a"]))], "nodes with zone in a"),
    "zones": ([term(("zone", "In", ["a", "b"]))], "nodes with zone in (a, b)"),
    "several labels": (
        [term(("zone", "NotIn", ["a"]), ("disk", "Exists", []), ("slow", "DoesNotExist", []))],
        "nodes with zone not in a and disk and no slow",
    ),
    "alternatives": (
        [term(("zone", "In", ["a"])), term(("disks", "Gt", ["3"]))],
        "nodes with zone in a or disks > 3",
    ),
}


@pytest.mark.parametrize(("terms", "where"), WHERE.values(), ids=WHERE.keys())
def test_the_volume_and_its_place_are_named(terms: list[dict[str, Any]], where: str) -> None:
    volume = a_volume(nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    assert out_of_reach(volume) == f'{NOT_REACHABLE} (volume "disk" is only on {where})'


def test_a_volume_without_affinity_is_named() -> None:
    assert out_of_reach(a_volume()) == f'{NOT_REACHABLE} (volume "disk")'
