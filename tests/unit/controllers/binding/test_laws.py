"""Two laws of the binder: safe after every single write, finished from wherever it was cut."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.controllers.binding.plan import AssignClass, SaveClaim, SaveVolume, Wake
from mooring.model.claim import ClaimPhase
from mooring.model.steps import Emit
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wellknown import Annotation, Plugin
from tests.unit.controllers.binding.things import (
    BBC,
    DONE,
    RWO,
    RWX,
    a_claim,
    a_class,
    a_volume,
    by,
    ref,
)
from tests.unit.controllers.binding.world import World, world

NAMES = ("c", "d")
CLASSES = ("", "gold", "made")

volumes = st.builds(
    lambda name, size, many, storage_class, phase, reference, marks, policy: a_volume(
        name,
        size,
        *((RWO, RWX) if many else (RWO,)),
        storage_class_name=storage_class,
        phase=phase,
        claim_ref=reference,
        annotations=marks,
        reclaim_policy=policy,
    ),
    st.sampled_from(("v1", "v2", "v3")),
    st.sampled_from(("1Gi", "2Gi")),
    st.booleans(),
    st.sampled_from(CLASSES),
    st.sampled_from(VolumePhase),
    st.one_of(
        st.none(),
        st.builds(ref, st.sampled_from(NAMES), st.sampled_from(("", "u-c", "u-d", "old"))),
    ),
    st.sampled_from(({}, BBC, by(Plugin.HOST_PATH), by("external.io/x"))),
    st.sampled_from(ReclaimPolicy),
)

claims = st.builds(
    lambda name, size, volume, phase, marks, storage_class: a_claim(
        size,
        name=name,
        uid=f"u-{name}",
        volume=volume,
        phase=phase,
        annotations=marks,
        storage_class_name=storage_class,
    ),
    st.sampled_from(NAMES),
    st.sampled_from(("1Gi", "2Gi")),
    st.sampled_from(("", "", "v1", "v2", "gone")),
    st.sampled_from(ClaimPhase),
    st.sampled_from(({}, {}, BBC, DONE, BBC | DONE, {Annotation.SELECTED_NODE: "n1"})),
    st.sampled_from((None, *CLASSES)),
)

worlds = st.builds(
    lambda some, wishes, waits: world(
        *some,
        *wishes,
        a_class("gold", waits=waits),
        a_class("made", Plugin.HOST_PATH),
    ),
    st.lists(volumes, max_size=3, unique_by=lambda volume: volume.name),
    st.lists(claims, max_size=2, unique_by=lambda claim: claim.name),
    st.booleans(),
)

peaceful_worlds = st.builds(
    lambda sizes, reserved, wishes: world(
        *(
            a_volume(f"v{i}", size, phase=VolumePhase.PENDING, claim_ref=ref("c") if hit else None)
            for i, (size, hit) in enumerate(zip(sizes, reserved, strict=True))
        ),
        *(a_claim(size, name=f"c{i or ''}", uid=f"u{i}") for i, size in enumerate(wishes)),
    ),
    st.lists(st.sampled_from(("1Gi", "2Gi", "3Gi")), min_size=3, max_size=3),
    st.lists(st.booleans(), min_size=3, max_size=3),
    st.lists(st.sampled_from(("1Gi", "2Gi")), max_size=3),
)
"""Worlds as users make them: nothing half-done, nothing contradictory."""


def has_believers(made: World, volume: str) -> bool:
    """Claims that were bound to the volume, and know nothing else."""
    return any(
        claim.spec.volume_name == volume and claim.is_bind_completed
        for claim in made.claims.values()
    )


def check_invariants(was: World, now: World) -> None:
    for claim in now.claims.values():
        before = was.claims.get(claim.key)
        if claim.is_bound and (before is None or not before.is_bound):
            volume = now.volumes[claim.spec.volume_name]
            assert volume.spec.claim_ref is not None
            assert volume.spec.claim_ref.uid == claim.uid, "bound to a volume of another claim"
    for name, volume in was.volumes.items():
        kept = volume.spec.reclaim_policy == ReclaimPolicy.RETAIN
        assert not kept or name in now.volumes, "nothing that is to be kept is deleted"
        reference, after = volume.spec.claim_ref, now.volumes.get(name)
        destroys = volume.spec.reclaim_policy is not ReclaimPolicy.RETAIN
        if destroys and reference is not None and reference.uid and has_believers(was, name):
            assert after is not None, "deleted under a claim that was bound to it"
            released = after.status.phase is VolumePhase.RELEASED is not volume.status.phase
            assert not released, "others delete what is released"
        if reference is None or not reference.uid or after is None:
            continue
        owner = now.claims.get(reference.key)
        if owner is not None and owner.uid == reference.uid and owner.spec.volume_name == name:
            assert after.spec.claim_ref is not None, "a volume forgot its claim"
            assert after.spec.claim_ref.uid == owner.uid, "a volume was taken from its claim"


def bound_pairs(made: World) -> list[str]:
    """Volumes of claims that are bound and were bound by us: a phase alone may be anybody's."""
    return [
        claim.spec.volume_name
        for claim in made.claims.values()
        if claim.is_bound and claim.is_bind_completed
    ]


@given(worlds)
@settings(max_examples=300, deadline=None)
def test_every_single_write_is_safe(made: World) -> None:
    for _ in range(4):
        looks = [partial(made.look_at_claim, key) for key in made.claims]
        looks += [partial(made.look_at_volume, name) for name in made.volumes]
        for look in looks:
            for step in look().steps:
                was = made.copy()
                made.apply([step])
                check_invariants(was, made)
        orders, made.started = made.started, []
        for order in orders:
            was = made.copy()
            made.carry_out(order)
            check_invariants(was, made)


@given(worlds)
@settings(max_examples=300, deadline=None)
def test_every_world_settles(made: World) -> None:
    made.settle()
    pairs = bound_pairs(made)
    assert len(pairs) == len(set(pairs)), "two claims bound to one volume"


@given(worlds, st.data())
@settings(max_examples=300, deadline=None)
def test_a_look_leaves_nothing_to_write(made: World, data: st.DataObject) -> None:
    """So the binder need not look again at what it has just written."""
    key = data.draw(st.sampled_from(sorted(made.claims))) if made.claims else None
    if key is not None:
        steps = made.look_at_claim(key).steps
        made.apply(steps)
        if not any(isinstance(step, AssignClass) for step in steps):
            again = made.look_at_claim(key).steps
            assert not any(isinstance(step, SaveClaim | SaveVolume) for step in again)
    for name in list(made.volumes):
        made.pass_volume(name)
        again = made.look_at_volume(name).steps
        assert not any(isinstance(step, SaveClaim | SaveVolume) for step in again)


@given(peaceful_worlds, st.integers(0, 12))
@settings(max_examples=300, deadline=None)
def test_a_plan_cut_short_anywhere_is_finished_by_the_next_passes(made: World, cut: int) -> None:
    whole, halfway = made.copy(), made.copy()
    whole.settle()
    done = 0
    for key in list(halfway.claims):
        for step in halfway.look_at_claim(key).steps:
            if done < cut:
                halfway.apply([step])
                done += not isinstance(step, Emit | Wake)
    halfway.settle()
    assert sorted(bound_pairs(halfway)) == sorted(bound_pairs(whole))
    assert halfway.objects() == whole.objects()


@given(peaceful_worlds)
@settings(max_examples=200, deadline=None)
def test_a_claim_deleted_between_the_two_writes_releases_the_volume(made: World) -> None:
    for key in list(made.claims):
        steps = made.look_at_claim(key).steps
        if not any(isinstance(step, SaveVolume) for step in steps):
            continue
        made.apply(steps[:1])
        del made.claims[key]
        made.settle()
        first = steps[0]
        assert isinstance(first, SaveVolume)
        assert made.volumes[first.seen.name].status.phase is VolumePhase.RELEASED
        return


def test_a_world_of_two_claims_and_one_volume_binds_one() -> None:
    made = world(a_volume("v1"), a_claim(name="c", uid="u-c"), a_claim(name="d", uid="u-d"))
    made.settle()
    phases = [claim.status.phase for claim in made.claims.values()]
    assert sorted(phases) == [ClaimPhase.BOUND, ClaimPhase.PENDING]


def test_invariants_notice_a_volume_taken_from_its_claim() -> None:
    """The checker itself can fail."""
    volume = a_volume("v1", claim_ref=ref("c", "u-c"), phase=VolumePhase.BOUND)
    owner = a_claim(name="c", uid="u-c", volume="v1", phase=ClaimPhase.BOUND, annotations=DONE)
    was = world(volume, owner)
    now = was.copy()
    stolen: Volume = replace(volume, spec=replace(volume.spec, claim_ref=ref("d", "u-d")))
    now.volumes["v1"] = stolen
    with pytest.raises(AssertionError, match="taken from its claim"):
        check_invariants(was, now)
