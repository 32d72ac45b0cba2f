"""What pods are told that cannot have a volume, word by word."""

import pytest

from mooring.controllers.attachment.multi_attach import refusal
from mooring.model.pod import Pod
from tests.unit.controllers.attachment.things import a_pod

OPENING = 'Multi-Attach error for volume "pv1" Volume is already '
REFUSALS: dict[str, tuple[list[Pod], str]] = {
    "nobody uses it": ([], "exclusively attached to one node and can't be attached to another"),
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


@pytest.mark.parametrize(("users", "words"), REFUSALS.values(), ids=REFUSALS)
def test_refusal(users: list[Pod], words: str) -> None:
    assert refusal("pv1", a_pod("web"), users) == OPENING + words
