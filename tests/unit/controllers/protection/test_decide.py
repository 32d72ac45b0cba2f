"""When protected objects are let go."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.controllers.protection.decide import (
    decide_claim,
    decide_class,
    decide_volume,
    is_used_by,
    needs_action,
)
from mooring.controllers.protection.plan import (
    AddFinalizer,
    AskServer,
    RemoveFinalizer,
    Step,
)
from mooring.controllers.protection.view import ClaimView, ClassView, Evidence, classes_of_claim
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim, ClaimSpec, ClaimStatus, ModifyStatus
from mooring.model.event import EventType
from mooring.model.meta import ApiObject, ObjectMeta, OwnerReference
from mooring.model.pod import Pod, PodPhase, PodSpec, PodStatus
from mooring.model.pod_volume import ClaimSource, EphemeralSource, PodVolume
from mooring.model.steps import Emit
from mooring.model.volume import Volume, VolumePhase, VolumeStatus

ON_CLAIMS = "kubernetes.io/pvc-protection"
ON_VOLUMES = "kubernetes.io/pv-protection"
ON_CLASSES = "kubernetes.io/vac-protection"
THEN = "2026-01-02T03:04:05Z"


def meta(*finalizers: str, deleting: bool = False, **fields: Any) -> ObjectMeta:
    given = {"name": "data", "uid": "u", "finalizers": finalizers} | fields
    return ObjectMeta(**given, deletion_timestamp=THEN if deleting else None)


def a_claim(*finalizers: str, deleting: bool = False, owner: str = "") -> Claim:
    owners = (OwnerReference("v1", "Pod", "web", owner, controller=True),) if owner else ()
    return Claim(
        metadata=meta(*finalizers, deleting=deleting, namespace="ns", owner_references=owners)
    )


def a_pod(
    *volumes: PodVolume, name: str = "web", node: str = "n1", namespace: str = "ns", **fields: Any
) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=f"u-{name}", **fields),
        spec=PodSpec(volumes=volumes, node_name=node),
    )


def at_phase(pod: Pod, phase: PodPhase) -> Pod:
    return msgspec.structs.replace(pod, status=PodStatus(phase=phase))


NAMED = PodVolume(name="v", persistent_volume_claim=ClaimSource("data"))
OTHER = PodVolume(name="v", persistent_volume_claim=ClaimSource("other"))
EPHEMERAL = PodVolume(name="v", ephemeral=EphemeralSource())
GOING = a_claim(ON_CLAIMS, deleting=True)
MADE_FOR_WEB = msgspec.structs.replace(
    a_claim(ON_CLAIMS, deleting=True, owner="u-web"),
    metadata=meta(
        ON_CLAIMS,
        deleting=True,
        name="web-v",
        namespace="ns",
        owner_references=(OwnerReference("v1", "Pod", "web", "u-web", controller=True),),
    ),
)
USER = a_pod(NAMED)

USES: dict[str, tuple[Claim, Pod, bool]] = {
    "a scheduled pod that names it": (GOING, USER, True),
    "a pod whose second volume names it": (GOING, a_pod(OTHER, NAMED), True),
    "a pod that names another": (GOING, a_pod(OTHER), False),
    "a pod without a node": (GOING, a_pod(NAMED, node=""), False),
    "a pod of another namespace": (GOING, a_pod(NAMED, namespace="elsewhere"), False),
    "a running pod": (GOING, at_phase(USER, PodPhase.RUNNING), True),
    "a pod that succeeded": (GOING, at_phase(USER, PodPhase.SUCCEEDED), True),
    "a pod that failed": (GOING, at_phase(USER, PodPhase.FAILED), True),
    "a pod forced away that names it": (
        GOING,
        a_pod(NAMED, deletion_timestamp=THEN, deletion_grace_period_seconds=0),
        True,
    ),
    "the pod it was made for": (MADE_FOR_WEB, a_pod(EPHEMERAL), True),
    "the pod it was made for, on its way out": (
        MADE_FOR_WEB,
        a_pod(EPHEMERAL, deletion_timestamp=THEN, deletion_grace_period_seconds=30),
        True,
    ),
    "the pod it was made for, shut down": (
        MADE_FOR_WEB,
        a_pod(EPHEMERAL, deletion_timestamp=THEN, deletion_grace_period_seconds=0),
        False,
    ),
    "the pod it was made for, without a node": (MADE_FOR_WEB, a_pod(EPHEMERAL, node=""), False),
    "a pod whose ephemeral volume has its name, made for another": (
        msgspec.structs.replace(
            MADE_FOR_WEB, metadata=meta(ON_CLAIMS, name="web-v", namespace="ns")
        ),
        a_pod(EPHEMERAL),
        False,
    ),
}


@pytest.mark.parametrize(("claim", "pod", "then"), USES.values(), ids=USES)
def test_a_claim_is_used_by(claim: Claim, pod: Pod, then: bool) -> None:  # noqa: FBT001 - a column
    assert is_used_by(claim, pod) is then


def on_cache(claim: Claim, *pods: Pod, recorded: str = "") -> ClaimView:
    return ClaimView(claim, pods, Evidence.CACHE, recorded)


def on_server(claim: Claim, *pods: Pod) -> ClaimView:
    return ClaimView(claim, pods, Evidence.SERVER)


WAITS = "Waiting for pods that use this claim to be deleted: "


def blocked(names: str) -> Emit:
    return Emit(GOING, EventType.NORMAL, "DeletionBlocked", WAITS + names)


ALIVE, BARE = a_claim(ON_CLAIMS), a_claim("example.com/mine")
CLAIMS: dict[str, tuple[ClaimView, tuple[Step, ...]]] = {
    "alive and protected: nothing": (on_cache(ALIVE), ()),
    "alive without the finalizer: it is added": (
        on_cache(BARE),
        (AddFinalizer(BARE, ON_CLAIMS),),
    ),
    "deleting without the finalizer: nothing": (
        on_cache(a_claim("example.com/mine", deleting=True)),
        (),
    ),
    "deleting and used: people are told": (on_cache(GOING, USER), (blocked("web"),)),
    "deleting and used, as people know: nothing": (
        on_cache(GOING, USER, recorded=WAITS + "web"),
        (),
    ),
    "deleting and used by more than people know: they are told": (
        on_cache(GOING, USER, a_pod(NAMED, name="w2"), recorded=WAITS + "web"),
        (blocked("w2, web"),),
    ),
    "deleting and unused as far as the cache knows: ask the server": (
        on_cache(GOING),
        (AskServer(GOING),),
    ),
    "deleting, with only a pod without a node: ask the server": (
        on_cache(GOING, a_pod(NAMED, node="")),
        (AskServer(GOING),),
    ),
    "deleting and used as only the server knows: people are told": (
        on_server(GOING, USER),
        (blocked("web"),),
    ),
    "deleting and unused, says the server: let go": (
        on_server(GOING),
        (RemoveFinalizer(GOING, ON_CLAIMS),),
    ),
}


@pytest.mark.parametrize(("view", "then"), CLAIMS.values(), ids=CLAIMS)
def test_claim(view: ClaimView, then: tuple[Step, ...]) -> None:
    assert decide_claim(view).steps == then


def a_volume(phase: VolumePhase, *finalizers: str, deleting: bool = False) -> Volume:
    return Volume(metadata=meta(*finalizers, deleting=deleting), status=VolumeStatus(phase=phase))


LOOSE = a_volume(VolumePhase.AVAILABLE)


@pytest.mark.parametrize("phase", VolumePhase)
def test_a_deleting_volume_is_let_go_unless_it_is_bound(phase: VolumePhase) -> None:
    volume = a_volume(phase, ON_VOLUMES, deleting=True)
    kept = phase is VolumePhase.BOUND
    assert decide_volume(volume).steps == (() if kept else (RemoveFinalizer(volume, ON_VOLUMES),))


VOLUMES: dict[str, tuple[Volume, tuple[Step, ...]]] = {
    "deleting in a phase nobody knows: kept, it may be in use": (
        a_volume(VolumePhase("Quiescing"), ON_VOLUMES, deleting=True),
        (),
    ),
    "alive and protected: nothing": (a_volume(VolumePhase.AVAILABLE, ON_VOLUMES), ()),
    "alive without the finalizer: it is added": (LOOSE, (AddFinalizer(LOOSE, ON_VOLUMES),)),
    "deleting without the finalizer: nothing": (a_volume(VolumePhase.BOUND, deleting=True), ()),
}


def test_a_crowd_of_pods_is_not_listed_in_full() -> None:
    crowd = [a_pod(NAMED, name=f"web-{number}") for number in range(8)]
    assert decide_claim(on_server(GOING, *crowd)).steps == (
        blocked("web-0, web-1, web-2, web-3, web-4 and 3 more"),
    )


@pytest.mark.parametrize(("volume", "then"), VOLUMES.values(), ids=VOLUMES)
def test_volume(volume: Volume, then: tuple[Step, ...]) -> None:
    assert decide_volume(volume).steps == then


def a_class(*finalizers: str, deleting: bool = False) -> AttributesClass:
    return AttributesClass(metadata=meta(*finalizers, deleting=deleting))


CLOSING, PLAIN = a_class(ON_CLASSES, deleting=True), a_class()
CLASSES: dict[str, tuple[ClassView, tuple[Step, ...]]] = {
    "alive and protected: nothing": (ClassView(a_class(ON_CLASSES), (), ()), ()),
    "alive without the finalizer: it is added": (
        ClassView(PLAIN, (), ()),
        (AddFinalizer(PLAIN, ON_CLASSES),),
    ),
    "deleting, a volume has it: kept": (ClassView(CLOSING, (Volume(),), ()), ()),
    "deleting, a claim refers to it: kept": (ClassView(CLOSING, (), (Claim(),)), ()),
    "deleting, nothing refers to it: let go": (
        ClassView(CLOSING, (), ()),
        (RemoveFinalizer(CLOSING, ON_CLASSES),),
    ),
}


@pytest.mark.parametrize(("view", "then"), CLASSES.values(), ids=CLASSES)
def test_class(view: ClassView, then: tuple[Step, ...]) -> None:
    assert decide_class(view).steps == then


REFERENCES: dict[str, tuple[Claim, frozenset[str]]] = {
    "none": (Claim(), frozenset()),
    "the one it wants": (
        Claim(spec=ClaimSpec(volume_attributes_class_name="gold")),
        frozenset({"gold"}),
    ),
    "the one it has": (
        Claim(status=ClaimStatus(current_volume_attributes_class_name="gold")),
        frozenset({"gold"}),
    ),
    "the one it is being changed to": (
        Claim(status=ClaimStatus(modify_volume_status=ModifyStatus("InProgress", "gold"))),
        frozenset({"gold"}),
    ),
    "all of them": (
        Claim(
            spec=ClaimSpec(volume_attributes_class_name="gold"),
            status=ClaimStatus(
                current_volume_attributes_class_name="silver",
                modify_volume_status=ModifyStatus("InProgress", "gold"),
            ),
        ),
        frozenset({"gold", "silver"}),
    ),
    "an empty name is none": (Claim(spec=ClaimSpec(volume_attributes_class_name="")), frozenset()),
}


@pytest.mark.parametrize(("claim", "then"), REFERENCES.values(), ids=REFERENCES)
def test_classes_that_a_claim_refers_to(claim: Claim, then: frozenset[str]) -> None:
    assert classes_of_claim(claim) == then


@pytest.mark.parametrize("deleting", [False, True])
@pytest.mark.parametrize("finalizers", [(), (ON_CLAIMS,)])
def test_what_needs_no_action_gives_an_empty_plan(
    finalizers: tuple[str, ...],
    deleting: bool,  # noqa: FBT001 - a column
) -> None:
    claim = a_claim(*finalizers, deleting=deleting)
    assert needs_action(claim, ON_CLAIMS) is bool(decide_claim(on_server(claim)).steps)


# laws: any world, any stale cache, a stop after any step


class World(msgspec.Struct, frozen=True):
    """What the server has. A claim that lost its last finalizer while deleting is gone."""

    claims: dict[str, Claim]
    pods: tuple[Pod, ...]


NAMES = ("data", "web-v", "other")
claims = st.builds(
    lambda name, deleting, held, owned: msgspec.structs.replace(
        GOING,
        metadata=meta(
            *((ON_CLAIMS,) if held or deleting else ()),
            deleting=deleting,
            name=name,
            namespace="ns",
            owner_references=MADE_FOR_WEB.metadata.owner_references if owned else (),
        ),
    ),
    st.sampled_from(NAMES),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
pods = st.builds(
    lambda name, node, volumes, grace: a_pod(
        *volumes,
        name=name,
        node=node,
        **({} if grace is None else {"deletion_timestamp": THEN}),
        deletion_grace_period_seconds=grace,
    ),
    st.sampled_from(["web", "w2"]),
    st.sampled_from(["", "n1"]),
    st.lists(st.sampled_from([NAMED, OTHER, EPHEMERAL]), max_size=2),
    st.sampled_from([None, 0, 30]),
)
worlds = st.builds(
    lambda claims, pods: World({claim.name: claim for claim in claims}, tuple(pods)),
    st.lists(claims, max_size=3),
    st.lists(pods, max_size=3, unique_by=lambda pod: pod.name),
)


def apply(world: World, step: Step) -> World:
    match step:
        case AddFinalizer(to, finalizer):
            changed = _holding(to, (*to.metadata.finalizers, finalizer))
            return World({**world.claims, to.name: changed}, world.pods)
        case RemoveFinalizer(of, finalizer):
            left = tuple(name for name in of.metadata.finalizers if name != finalizer)
            if left:
                return World({**world.claims, of.name: _holding(of, left)}, world.pods)
            kept = {name: claim for name, claim in world.claims.items() if name != of.name}
            return World(kept, world.pods)
        case _:
            return world


def _holding(held: ApiObject, finalizers: tuple[str, ...]) -> Claim:
    assert isinstance(held, Claim)
    metadata = msgspec.structs.replace(held.metadata, finalizers=finalizers)
    return msgspec.structs.replace(held, metadata=metadata)


def one_pass(world: World, cached: tuple[Pod, ...]) -> list[Step]:
    """All that a pass over the claims does when the cache of pods is as given."""
    steps: list[Step] = []
    for claim in world.claims.values():
        made = decide_claim(on_cache(claim, *cached)).steps
        if any(isinstance(step, AskServer) for step in made):
            made = decide_claim(on_server(claim, *world.pods)).steps
        steps += made
    return steps


@given(world=worlds, cached=st.lists(pods, max_size=3), cut=st.integers(0, 3))
def test_a_claim_in_use_is_never_let_go_and_a_cut_pass_is_finished_by_the_next(
    world: World, cached: list[Pod], cut: int
) -> None:
    in_use = {
        name
        for name, claim in world.claims.items()
        if any(is_used_by(claim, pod) for pod in world.pods)
    }
    halfway = world
    for step in one_pass(world, tuple(cached))[:cut]:
        halfway = apply(halfway, step)
        for name in in_use:
            assert name in halfway.claims
            had = ON_CLAIMS in world.claims[name].metadata.finalizers
            assert ON_CLAIMS in halfway.claims[name].metadata.finalizers or not had
    for step in one_pass(halfway, halfway.pods):
        halfway = apply(halfway, step)
    for name, claim in world.claims.items():
        assert (name in halfway.claims) is (name in in_use or not claim.is_deleting)
    assert all(ON_CLAIMS in claim.metadata.finalizers for claim in halfway.claims.values())
    assert not any(
        isinstance(step, AddFinalizer | RemoveFinalizer) for step in one_pass(halfway, halfway.pods)
    )
