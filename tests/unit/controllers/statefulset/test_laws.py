"""Laws of stateful sets: safe after each step, finished from any cut, claims never lost."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mooring.controllers.owned_pods.plan import CreatePods, DeletePod
from mooring.controllers.statefulset.decide.stateful_set import decide
from mooring.controllers.statefulset.plan import Step
from mooring.controllers.statefulset.view import members
from mooring.model.document import Doc
from mooring.model.stateful_set import PodManagement
from tests.unit.controllers.statefulset.worlds import World, a_set, template

MOST_PASSES = 200  # more than any of these worlds needs

wishes = st.fixed_dictionaries(
    {
        "replicas": st.integers(0, 3),
        "ordinals": st.builds(lambda start: {"start": start}, st.integers(0, 1)),
        "template": st.sampled_from("xyz").map(template),
    }
)
policies = st.sampled_from(PodManagement)
retentions = st.fixed_dictionaries(
    {field: st.sampled_from(("Retain", "Delete")) for field in ("whenScaled", "whenDeleted")}
)
NODES = ("runs", "is ready", "fails", "is gone", "is deleted")
happenings = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.integers(0, 6)),  # carried out up to so many steps
        st.tuples(st.just("all"), st.integers(1, 4)),  # so many passes, and all pods are ready
        st.tuples(st.just("wish"), wishes),
        st.tuples(st.sampled_from(NODES), st.integers(0, 3)),
    ),
    max_size=12,
)


def begin(policy: PodManagement, retention: dict[str, str]) -> World:
    said: Doc = {
        "podManagementPolicy": policy.value,
        "persistentVolumeClaimRetentionPolicy": retention,
    }
    return World(a_set(3, **said))


def play(world: World, happening: tuple[str, Any]) -> None:
    match happening:
        case ("pass", most):
            one_pass(world, most)
        case ("all", passes):
            for _ in range(passes):
                one_pass(world)
                for name in world.pods:
                    world.say(name, "Running", ready=True)
        case ("wish", said):
            wish(world, said)
        case (what, number):
            on_node(world, what, number)


def wish(world: World, said: dict[str, Any]) -> None:
    """The spec is changed in what may change at any time."""
    before = world.set.spec
    spec = msgspec.structs.replace(
        a_set(**said).spec,
        pod_management_policy=before.pod_management_policy,
        retention=before.retention,
    )
    world.set = msgspec.structs.replace(world.set, spec=spec)


def on_node(world: World, what: str, number: int) -> None:
    """Something happens to the pod of this number, if there is one."""
    name = f"web-{number}"
    if (pod := world.pods.get(name)) is None:
        return
    if what == "is gone":
        if pod.is_deleting:
            del world.pods[name]
    elif what == "is deleted":
        world.carry_out(DeletePod(world.set, pod))
    else:
        world.say(name, "Failed" if what == "fails" else "Running", ready=what == "is ready")


def check(world: World, step: Step) -> None:
    """What must be true of a step in the world that it is carried out in."""
    set_, found = world.set, members(world.view(), world.pods.values())
    match step:
        case CreatePods(_, documents):
            (document,) = documents
            ordinal = set_.find_ordinal(document["metadata"]["name"])
            assert ordinal is not None
            assert ordinal in set_.ordinals
            assert ordinal not in found, "two pods of one number"
            if set_.is_ordered:
                below = range(set_.ordinals.start, ordinal)
                assert all(n in found and found[n].is_healthy for n in below), "out of order"
        case DeletePod(_, pod) if not pod.is_finished:
            ordinal = set_.find_ordinal(pod.name)
            assert ordinal is not None
            assert not found[ordinal].is_leaving, "deleted twice"
            wanted = set_.ordinals
            others = [n for n in wanted if n != ordinal and (set_.is_ordered or n > ordinal)]
            if set_.is_ordered or ordinal in wanted:
                assert all(n in found and found[n].is_healthy for n in others), "two at once"
            if set_.is_ordered and ordinal not in wanted:
                assert ordinal == max(set(found) - set(set_.ordinals)), "not the highest"


def one_pass(world: World, most: int = 10**6) -> bool:
    """Whether there was anything to do."""
    plan = decide(world.view())
    for step in plan.steps[:most]:
        claims = set(world.claims)
        check(world, step)
        world.carry_out(step)
        assert claims <= set(world.claims), "a claim is lost"
    return bool(plan.steps)


def finish(world: World) -> None:
    """Nodes do what they should, until nothing is left to do."""
    for _ in range(MOST_PASSES):
        worked = one_pass(world)
        idle = [name for name, pod in world.pods.items() if not _is_well(world, name)]
        for name in idle:
            if world.pods[name].is_deleting:
                del world.pods[name]
            elif not world.pods[name].is_finished:
                world.say(name, "Running", ready=True)
        if not worked and not idle:
            return
    raise AssertionError("it never ends")


def _is_well(world: World, name: str) -> bool:
    pod = world.pods[name]
    return not pod.is_deleting and any(each.is_true for each in pod.status.conditions)


@given(policies, retentions, happenings)
def test_safe_after_each_step_and_finished_from_any_cut(
    policy: PodManagement, retention: dict[str, str], story: list[tuple[str, Any]]
) -> None:
    world = begin(policy, retention)
    for happening in story:
        play(world, happening)
    finish_with_garbage(world)
    set_ = world.set
    wanted = {set_.pod_name(n): set_.status.update_revision for n in set_.ordinals}
    found = {n: pod.metadata.labels["controller-revision-hash"] for n, pod in world.pods.items()}
    assert found == wanted
    assert {f"data-{name}" for name in wanted} <= set(world.claims)
    status = set_.status
    assert (status.ready_replicas, status.updated_replicas) == (len(wanted), len(wanted))


def finish_with_garbage(world: World) -> None:
    """As `finish`, with a garbage collector that takes claims whose pod is gone."""
    for _ in range(MOST_PASSES):
        before = (dict(world.pods), dict(world.claims), world.set)
        finish(world)
        _collect_garbage(world)
        if (dict(world.pods), dict(world.claims), world.set) == before:
            return
    raise AssertionError("it never ends")


def _collect_garbage(world: World) -> None:
    uids = {world.set.uid, *(pod.uid for pod in world.pods.values())}
    for name, claim in list(world.claims.items()):
        owners = claim.metadata.owner_references
        if owners and all(owner.uid not in uids for owner in owners):
            del world.claims[name]


@given(policies, happenings)
def test_claims_that_are_kept_never_have_an_owner(
    policy: PodManagement, story: list[tuple[str, Any]]
) -> None:
    world = begin(policy, {"whenScaled": "Retain", "whenDeleted": "Retain"})
    for happening in story:
        play(world, happening)
        owners = [claim.metadata.owner_references for claim in world.claims.values()]
        assert not any(owners)
