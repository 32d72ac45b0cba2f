"""What pods are told that cannot have a volume, word by word."""

import pytest

from mooring.controllers.attachment.multi_attach import refusal
from mooring.model.kubernetes_version import V1_35, V1_37, KubernetesVersion
from mooring.model.pod import Pod
from tests.unit.controllers.attachment.things import a_pod

OPENINGS = {
    V1_35: 'Multi-Attach error for volume "pv1" Volume is already ',
    V1_37: 'Waiting for detach for volume "pv1" Volume is already ',
}
ALONE = {
    V1_35: "exclusively attached to one node and can't be attached to another",
    V1_37: "exclusively attached to one node, waiting on detach before it can be attached to "
    "another node",
}
REFUSALS: dict[str, tuple[list[Pod], str]] = {
    "pods of the same namespace": ([a_pod("b"), a_pod("a")], "used by pod(s) a, b"),
    "pods of another namespace": (
        [a_pod("a", "far"), a_pod("b", "far")],
        "used by 2 pod(s) in different namespaces",
    ),
    "pods of both": (
        [a_pod("a"), a_pod("b", "far"), a_pod("c", "far")],
        "used by pod(s) a and 2 pod(s) in different namespaces",
    ),
}


@pytest.mark.parametrize("release", OPENINGS, ids=str)
@pytest.mark.parametrize(("users", "words"), REFUSALS.values(), ids=REFUSALS)
def test_refusal(users: list[Pod], words: str, release: KubernetesVersion) -> None:
    assert refusal("pv1", a_pod("web"), users, release) == OPENINGS[release] + words


@pytest.mark.parametrize("release", ALONE, ids=str)
def test_nobody_uses_it(release: KubernetesVersion) -> None:
    assert refusal("pv1", a_pod("web"), [], release) == OPENINGS[release] + ALONE[release]
