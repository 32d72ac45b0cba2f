"""Which claims a pod's ephemeral volumes get."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.controllers.ephemeral.decide import decide
from mooring.controllers.ephemeral.plan import CreateClaim, Step
from mooring.controllers.ephemeral.view import has_ephemeral_volume, view
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.steps import Emit, Fail
from mooring.model.wire import read_document

Doc = dict[str, Any]

SPEC: Doc = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
    "selector": {"matchLabels": {"tier": "gold"}},
    "storageClassName": "",
    "volumeMode": "Block",
    "volumeName": "disk",
    "dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"},
    "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "seed", "namespace": "other"},
    "volumeAttributesClassName": "gold",
}
TEMPLATE: Doc = {
    "metadata": {"labels": {"app": "web"}, "annotations": {"note": "mine"}},
    "spec": SPEC,
}


def a_pod(*volumes: Doc, **metadata: Any) -> Pod:
    document = {
        "metadata": {"name": "web", "namespace": "ns", "uid": "u-web"} | metadata,
        "spec": {"volumes": list(volumes)},
    }
    return read_document(document, Pod)


def ephemeral(name: str, template: Doc = TEMPLATE) -> Doc:
    return {"name": name, "ephemeral": {"volumeClaimTemplate": template}}


def a_claim(name: str, owner: str = "u-web", *, controller: bool = True) -> Claim:
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": owner}
    metadata = {
        "name": name,
        "namespace": "ns",
        "ownerReferences": [reference | {"controller": controller}],
    }
    return read_document({"metadata": metadata}, Claim)


def steps_of(pod: Pod, *claims: Claim) -> tuple[Step, ...]:
    return decide(view(pod, {claim.key: claim for claim in claims}.get)).steps


def told(step: Step) -> tuple[str, str]:
    match step:
        case CreateClaim(_, volume, name):
            return volume, f"create {name}"
        case Emit(_, _, reason, message):
            return reason, message
        case Fail(message):
            return "failed", message


EMPTY = {"name": "scratch", "emptyDir": {}}
NAMED = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
FOREIGN = "ephemeral volume a: PVC ns/web-a was not created for pod ns/web (pod is not owner)"
REFUSED = [("FailedBinding", FOREIGN), ("failed", FOREIGN)]

TABLE: dict[str, tuple[Pod, tuple[Claim, ...], list[tuple[str, str]]]] = {
    "no ephemeral volume: nothing": (a_pod(EMPTY, NAMED), (), []),
    "its claim is missing: created under the names of pod and volume": (
        a_pod(EMPTY, ephemeral("a")),
        (),
        [("a", "create ns/web-a")],
    ),
    "its claim is there: nothing": (a_pod(ephemeral("a")), (a_claim("web-a"),), []),
    "several: in the order of the volumes": (
        a_pod(ephemeral("b"), ephemeral("a")),
        (),
        [("b", "create ns/web-b"), ("a", "create ns/web-a")],
    ),
    "one is there: only the other is created": (
        a_pod(ephemeral("a"), ephemeral("b")),
        (a_claim("web-a"),),
        [("b", "create ns/web-b")],
    ),
    "a claim of that name is another pod's: refused": (
        a_pod(ephemeral("a")),
        (a_claim("web-a", "u-older"),),
        REFUSED,
    ),
    "a claim of that name is owned but not controlled: refused": (
        a_pod(ephemeral("a")),
        (a_claim("web-a", controller=False),),
        REFUSED,
    ),
    "a claim of that name belongs to nobody: refused": (
        a_pod(ephemeral("a")),
        (read_document({"metadata": {"name": "web-a", "namespace": "ns"}}, Claim),),
        REFUSED,
    ),
    "what comes after a refusal waits": (
        a_pod(ephemeral("c"), ephemeral("a"), ephemeral("b")),
        (a_claim("web-a", "u-older"),),
        [("c", "create ns/web-c"), *REFUSED],
    ),
    "the pod is being deleted: nothing": (
        a_pod(ephemeral("a"), deletionTimestamp="2026-01-02T03:04:05Z"),
        (),
        [],
    ),
}


@pytest.mark.parametrize(("pod", "claims", "then"), TABLE.values(), ids=TABLE)
def test_pod(pod: Pod, claims: tuple[Claim, ...], then: list[tuple[str, str]]) -> None:
    assert [told(step) for step in steps_of(pod, *claims)] == then


def test_the_claim_is_the_template_owned_by_the_pod() -> None:
    (step,) = steps_of(a_pod(ephemeral("a")))
    assert isinstance(step, CreateClaim)
    assert step.document() == {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "metadata": {
            "name": "web-a",
            "namespace": "ns",
            "labels": {"app": "web"},
            "annotations": {"note": "mine"},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": "web",
                    "uid": "u-web",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": SPEC,
    }


def test_what_the_template_leaves_open_is_left_to_the_api() -> None:
    (step,) = steps_of(a_pod(ephemeral("a", {"spec": {"accessModes": ["ReadWriteOnce"]}})))
    assert isinstance(step, CreateClaim)
    assert step.document()["spec"] == {"accessModes": ["ReadWriteOnce"]}
    assert set(step.document()["metadata"]) == {"name", "namespace", "ownerReferences"}


def test_only_pods_with_an_ephemeral_volume_are_of_interest() -> None:
    assert has_ephemeral_volume(a_pod(EMPTY, ephemeral("a")))
    assert not has_ephemeral_volume(a_pod(EMPTY, NAMED))


volumes = st.lists(st.sampled_from("abcd"), unique=True)
present = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["u-web", "u-older"]))


@given(volumes=volumes, present=present, cut=st.integers(0, 4))
def test_nothing_is_made_twice_or_taken_over_and_a_cut_pass_is_finished_by_the_next(
    volumes: list[str], present: dict[str, str], cut: int
) -> None:
    pod = a_pod(*map(ephemeral, volumes))
    before = {Key("ns", f"web-{name}"): a_claim(f"web-{name}", o) for name, o in present.items()}

    def apply(claims: dict[Key, Claim], steps: tuple[Step, ...]) -> dict[Key, Claim]:
        for step in steps:
            if isinstance(step, CreateClaim):
                assert step.name not in claims
                made = read_document(step.document(), Claim)
                claims = {**claims, step.name: made}
        return claims

    halfway = apply(before, decide(view(pod, before.get)).steps[:cut])
    after = apply(halfway, decide(view(pod, halfway.get)).steps)
    assert after == apply(before, decide(view(pod, before.get)).steps)
    assert {key: after[key] for key in before} == before
    again = decide(view(pod, after.get)).steps
    assert not any(isinstance(step, CreateClaim) for step in again)
    if not any(isinstance(step, Fail) for step in again):
        assert all(Key("ns", f"web-{name}") in after for name in volumes)
