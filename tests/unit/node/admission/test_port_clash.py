"""Ports that two pods of a node declare."""

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.model.pod import Pod, PodPhase
from mooring.node.admission.port_clash import find_clashes
from tests.unit.scheduling.things import a_pod

TOLD = (
    "pod default/other declares port {} too: pods share the network of their node, so only one "
    "of them can listen on it"
)


def listening(name: str, *ports: tuple[int, str], **body: Any) -> Pod:
    declared = [{"containerPort": number, "protocol": protocol} for number, protocol in ports]
    pod = a_pod(name, containers=[{"name": "c", "ports": declared}])
    return replace(pod, **body)


ONE, OTHER = listening("one", (80, "TCP")), listening("other", (80, "TCP"), (81, "TCP"))

CASES: dict[str, tuple[Pod, Pod, list[str]]] = {
    "the same port": (ONE, OTHER, [TOLD.format("80/TCP")]),
    "other ports": (listening("one", (82, "TCP")), OTHER, []),
    "another protocol": (listening("one", (80, "UDP")), OTHER, []),
    "no port": (a_pod("one"), OTHER, []),
    "itself": (OTHER, OTHER, []),
    "one that has ended": (
        ONE,
        replace(OTHER, status=replace(OTHER.status, phase=PodPhase.SUCCEEDED)),
        [],
    ),
    "two ports": (
        listening("one", (81, "TCP"), (80, "TCP")),
        OTHER,
        [TOLD.format("80/TCP"), TOLD.format("81/TCP")],
    ),
}


@pytest.mark.parametrize(("pod", "other", "expected"), CASES.values(), ids=CASES)
def test_what_is_told(pod: Pod, other: Pod, expected: list[str]) -> None:
    assert list(find_clashes(pod, [pod, other])) == expected


def test_of_many_clashes_three_are_told() -> None:
    many = [(number, "TCP") for number in range(10)]
    assert len(list(find_clashes(listening("one", *many), [listening("other", *many)]))) == 3
