"""The claims of a pod, before any node is looked at."""

import pytest

from mooring.model.pod import Pod
from mooring.scheduling.decide.claims import PodClaims, sort_claims
from mooring.scheduling.decide.contract import Refused
from tests.unit.scheduling.things import (
    DONE,
    Doc,
    Stored,
    a_bound_claim,
    a_claim,
    a_class,
    a_pod,
)

UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
MINE = a_pod("web", "data")
EPHEMERAL = a_pod(volumes=[{"name": "v", "ephemeral": {}}])


def owned_by(uid: str) -> Doc:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": uid, "controller": True}
    return {"ownerReferences": [owner]}


REFUSED: dict[str, tuple[Pod, Stored, str]] = {
    "missing": (MINE, Stored(), 'persistentvolumeclaim "data" not found'),
    "missing, and to be made for the pod": (
        EPHEMERAL,
        Stored(),
        'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-v"',
    ),
    "lost": (
        MINE,
        Stored(a_claim(volume="disk", annotations=DONE, phase="Lost")),
        'persistentvolumeclaim "data" bound to non-existent persistentvolume "disk"',
    ),
    "being deleted": (
        MINE,
        Stored(a_bound_claim(metadata={"deletionTimestamp": "2026-01-02T03:04:05Z"})),
        'persistentvolumeclaim "data" is being deleted',
    ),
    "somebody else's": (
        EPHEMERAL,
        Stored(a_bound_claim("web-v", metadata=owned_by("another"))),
        "PVC default/web-v was not created for pod default/web (pod is not owner)",
    ),
    "unbound without a class": (MINE, Stored(a_claim()), UNBOUND),
    "unbound, of a class that is not there": (MINE, Stored(a_claim(storage_class="x")), UNBOUND),
    "unbound, of a class that binds at once": (
        MINE,
        Stored(a_claim(storage_class="fast"), a_class("fast", waits=False)),
        UNBOUND,
    ),
    "unbound, its volume chosen by its user": (
        MINE,
        Stored(a_claim(storage_class="local", volume="disk"), a_class()),
        UNBOUND,
    ),
    "not finished yet": (MINE, Stored(a_claim(volume="disk", phase="Bound")), UNBOUND),
}


@pytest.mark.parametrize(("pod", "storage", "why"), REFUSED.values(), ids=REFUSED)
def test_a_claim_that_keeps_its_pod_from_any_node(pod: Pod, storage: Stored, why: str) -> None:
    assert sort_claims(storage, pod) == Refused((why,))


def test_bound_claims_and_those_that_wait_for_the_pod() -> None:
    bound, waiting = a_bound_claim("a"), a_claim("b", storage_class="local")
    storage = Stored(bound, waiting, a_class())
    assert sort_claims(storage, a_pod("web", "a", "b")) == PodClaims((bound,), (waiting,))


def test_a_claim_that_a_pod_names_twice_counts_once() -> None:
    waiting = a_claim(storage_class="local")
    found = sort_claims(Stored(waiting, a_class()), a_pod("web", "data", "data"))
    assert found == PodClaims((), (waiting,))


def test_the_phase_is_for_people() -> None:
    claim = a_claim(volume="disk", annotations=DONE, phase="Pending")
    assert sort_claims(Stored(claim), MINE) == PodClaims((claim,), ())


def test_a_claim_made_for_the_pod() -> None:
    claim = a_bound_claim("web-v", metadata=owned_by("uid-web") | {"annotations": DONE})
    assert sort_claims(Stored(claim), EPHEMERAL) == PodClaims((claim,), ())
