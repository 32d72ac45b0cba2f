"""How the growth of a claim is recorded."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model import expansion
from mooring.model.claim import Claim, ClaimPhase, ClaimResources, ClaimSpec, ClaimStatus
from mooring.model.condition import Condition
from mooring.model.expansion import (
    Grow,
    LeaveAlone,
    LeaveToNode,
    NodeMove,
    ResizeStatus,
    RetryOnNode,
    Target,
    decide_node,
    decide_target,
    find_allocated,
    find_resize_status,
    is_request_changed,
    node_target,
    status_patch,
)
from mooring.model.meta import ObjectMeta
from mooring.model.quantity import Quantity, parse
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.wire import read_document

NOW = "2026-01-02T03:04:05Z"
BEFORE = "2026-01-01T00:00:00Z"
NOT_REQUIRED = {"volume.kubernetes.io/node-expansion-not-required": "true"}


def a_claim(
    asks: str = "10Gi",
    has: str = "5Gi",
    allocated: str = "",
    at: str = "",
    *conditions: Condition,
    annotations: dict[str, str] | None = None,
    modes: tuple[AccessMode, ...] = (AccessMode.ONCE,),
) -> Claim:
    return Claim(
        metadata=ObjectMeta(name="data", namespace="ns", annotations=annotations or {}),
        spec=ClaimSpec(access_modes=modes, resources=ClaimResources({"storage": asks})),
        status=ClaimStatus(
            phase=ClaimPhase.BOUND,
            capacity={"storage": has},
            allocated_resources={"storage": allocated} if allocated else {},
            allocated_resource_statuses={"storage": at} if at else {},
            conditions=conditions,
        ),
    )


def a_volume(size: str = "5Gi") -> Volume:
    return Volume(spec=VolumeSpec(capacity={"storage": size}))


def a_condition(kind: str, status: str = "True", message: str = "") -> Condition:
    return Condition(kind, status, message=message, last_transition_time=BEFORE)


# the controller's goal

SEVEN, TEN = Grow(parse("7Gi")), Grow(parse("10Gi"))

TARGETS: dict[str, tuple[str, str, str, Target]] = {
    # volume, allocated, status, then; the claim asks for 10Gi
    "volume smaller, idle, nothing recorded: the request": ("5Gi", "", "", TEN),
    "volume smaller, idle, an older size recorded: the request": ("5Gi", "7Gi", "", TEN),
    "volume smaller, infeasible for the controller: the request": (
        "5Gi",
        "7Gi",
        "ControllerResizeInfeasible",
        TEN,
    ),
    "volume smaller, controller at work: what it began": (
        "5Gi",
        "7Gi",
        "ControllerResizeInProgress",
        SEVEN,
    ),
    "volume smaller, controller at work without a record: the request": (
        "5Gi",
        "",
        "ControllerResizeInProgress",
        TEN,
    ),
    "volume smaller, pending on the node: what was begun": (
        "5Gi",
        "7Gi",
        "NodeResizePending",
        SEVEN,
    ),
    "volume smaller, node at work: what was begun": ("5Gi", "7Gi", "NodeResizeInProgress", SEVEN),
    "volume smaller, infeasible on the node: what was begun": (
        "5Gi",
        "7Gi",
        "NodeResizeInfeasible",
        SEVEN,
    ),
    "volume smaller, infeasible on the node without a record: the request": (
        "5Gi",
        "",
        "NodeResizeInfeasible",
        TEN,
    ),
    "volume smaller, a state nobody knows: left alone": (
        "5Gi",
        "7Gi",
        "DefrostInProgress",
        LeaveAlone(),
    ),
    "volume large enough, a state nobody knows: left alone": (
        "10Gi",
        "7Gi",
        "DefrostInProgress",
        LeaveAlone(),
    ),
    "volume large enough, pending on the node: the node's": (
        "10Gi",
        "10Gi",
        "NodeResizePending",
        LeaveToNode(),
    ),
    "volume large enough, node at work: the node's": (
        "10Gi",
        "10Gi",
        "NodeResizeInProgress",
        LeaveToNode(),
    ),
    "volume large enough, infeasible on the node: it tries again": (
        "10Gi",
        "10Gi",
        "NodeResizeInfeasible",
        RetryOnNode(),
    ),
    "volume large enough, controller at work: record what it began": (
        "20Gi",
        "7Gi",
        "ControllerResizeInProgress",
        SEVEN,
    ),
    "volume large enough, infeasible for the controller: what it began": (
        "20Gi",
        "7Gi",
        "ControllerResizeInfeasible",
        SEVEN,
    ),
    "volume large enough, controller at work without a record: the request": (
        "10Gi",
        "",
        "ControllerResizeInProgress",
        TEN,
    ),
    "volume large enough, idle with a record: the record": ("20Gi", "7Gi", "", SEVEN),
    "volume large enough, idle without a record: the request": ("20Gi", "", "", TEN),
}


@pytest.mark.parametrize(("volume", "allocated", "at", "then"), TARGETS.values(), ids=TARGETS)
def test_target(volume: str, allocated: str, at: str, then: Target) -> None:
    assert decide_target(a_claim("10Gi", "5Gi", allocated, at), a_volume(volume)) == then


@pytest.mark.parametrize("at", ["", *ResizeStatus])
def test_a_lowered_request_counts_only_once_the_present_size_is_abandoned(at: str) -> None:
    """20Gi cannot be had; the claim now asks for 10Gi, and the back end has not grown."""
    target = decide_target(a_claim("10Gi", "5Gi", "20Gi", at), a_volume("5Gi"))
    is_abandoned = at in {"", ResizeStatus.CONTROLLER_INFEASIBLE}
    assert target == Grow(parse("10Gi" if is_abandoned else "20Gi"))


# the node's move

MANY = (AccessMode.MANY,)
MOVES: dict[str, tuple[Claim, str, NodeMove]] = {
    "pending: expand": (
        a_claim("10Gi", "5Gi", "10Gi", "NodeResizePending"),
        "10Gi",
        NodeMove.EXPAND,
    ),
    "cut short at work: expand": (
        a_claim("10Gi", "5Gi", "10Gi", "NodeResizeInProgress"),
        "10Gi",
        NodeMove.EXPAND,
    ),
    "infeasible: the controller has to look first": (
        a_claim("10Gi", "5Gi", "10Gi", "NodeResizeInfeasible"),
        "10Gi",
        NodeMove.WAIT,
    ),
    "controller at work: wait": (
        a_claim("10Gi", "5Gi", "10Gi", "ControllerResizeInProgress"),
        "5Gi",
        NodeMove.WAIT,
    ),
    "infeasible for the controller: wait": (
        a_claim("10Gi", "5Gi", "10Gi", "ControllerResizeInfeasible"),
        "5Gi",
        NodeMove.WAIT,
    ),
    "idle and recorded but too small: wait": (
        a_claim("10Gi", "5Gi", "10Gi"),
        "10Gi",
        NodeMove.WAIT,
    ),
    "an old resizer, which records nothing: expand": (
        a_claim("10Gi", "5Gi"),
        "10Gi",
        NodeMove.EXPAND_UNRECORDED,
    ),
    "has its size: done": (a_claim("10Gi", "10Gi", "10Gi"), "10Gi", NodeMove.DONE),
    "has its size and is shared: this node has to expand too": (
        a_claim("10Gi", "10Gi", "10Gi", modes=MANY),
        "10Gi",
        NodeMove.EXPAND_AGAIN,
    ),
    "has its size and is shared, and nodes need not expand: done": (
        a_claim("10Gi", "10Gi", "10Gi", annotations=NOT_REQUIRED, modes=MANY),
        "10Gi",
        NodeMove.DONE,
    ),
}


@pytest.mark.parametrize(("claim", "volume", "then"), MOVES.values(), ids=MOVES)
def test_move_of_the_node(claim: Claim, volume: str, then: NodeMove) -> None:
    assert decide_node(claim, a_volume(volume)) is then


def test_a_node_reaches_for_the_recorded_size_and_without_a_record_for_the_volume() -> None:
    assert node_target(a_claim(allocated="7Gi"), a_volume("20Gi")) == parse("7Gi")
    assert node_target(a_claim(), a_volume("20Gi")) == parse("20Gi")


def test_a_node_knows_when_its_target_is_no_longer_wanted() -> None:
    assert is_request_changed(a_claim("8Gi"), parse("10Gi"))
    assert not is_request_changed(a_claim("10Gi"), parse("10240Mi"))


# transitions


def test_start_drops_what_earlier_attempts_left_and_keeps_the_conditions_of_others() -> None:
    mine, error, others = map(a_condition, ("Resizing", "NodeResizeError", "ModifyingVolume"))
    begun = expansion.start(
        a_claim("10Gi", "5Gi", "", "", error, others, mine).status, parse("10Gi"), NOW
    )
    assert begun.conditions == (others, mine), "and the time of an unchanged condition stays"
    assert find_resize_status(begun) is ResizeStatus.CONTROLLER_IN_PROGRESS
    assert find_allocated(begun) == parse("10Gi")
    assert begun.capacity == {"storage": "5Gi"}


def test_start_of_a_fresh_claim() -> None:
    begun = expansion.start(a_claim().status, parse("10Gi"), NOW)
    assert begun.conditions == (Condition("Resizing", "True", last_transition_time=NOW),)


def test_a_condition_whose_status_changes_is_written_anew() -> None:
    begun = expansion.start(
        a_claim("1", "1", "", "", a_condition("Resizing", "False")).status, parse("10Gi"), NOW
    )
    assert begun.conditions == (Condition("Resizing", "True", last_transition_time=NOW),)


def test_awaiting_the_node_keeps_the_other_conditions() -> None:
    claim = a_claim("10Gi", "5Gi", "10Gi", "ControllerResizeInProgress", a_condition("Resizing"))
    pending = expansion.await_node(claim.status, NOW)
    assert [condition.type for condition in pending.conditions] == [
        "Resizing",
        "FileSystemResizePending",
    ]
    assert pending.conditions[1].message == (
        "Waiting for user to (re-)start a pod to finish file system resize of volume on node."
    )
    assert find_resize_status(pending) is ResizeStatus.NODE_PENDING


def test_starting_on_the_node_changes_nothing_but_the_status() -> None:
    claim = a_claim("10Gi", "5Gi", "10Gi", "NodeResizePending", a_condition("Resizing"))
    at_work = expansion.start_on_node(claim.status)
    assert (
        at_work
        == a_claim("10Gi", "5Gi", "10Gi", "NodeResizeInProgress", a_condition("Resizing")).status
    )


def test_finishing_clears_all_but_the_recorded_size() -> None:
    left = map(
        a_condition,
        (
            "Resizing",
            "FileSystemResizePending",
            "NodeResizeError",
            "ControllerResizeError",
            "ModifyingVolume",
        ),
    )
    claim = a_claim("10Gi", "5Gi", "10Gi", "NodeResizeInProgress", *left)
    done = expansion.finish(claim.status, parse("10Gi"))
    assert done == a_claim("10Gi", "10Gi", "10Gi", "", a_condition("ModifyingVolume")).status


def test_finishing_leaves_the_status_of_other_resources() -> None:
    status = a_claim("10Gi", "5Gi", "10Gi", "NodeResizeInProgress").status
    others = {"example.com/iops": "NodeResizePending"}
    both = {**status.allocated_resource_statuses, **others}
    busy = msgspec.structs.replace(status, allocated_resource_statuses=both)
    done = expansion.finish(busy, parse("10Gi"))
    assert done.allocated_resource_statuses == others
    assert status_patch(busy, done)["allocatedResourceStatuses"] == {"storage": None}


FAILURES = {
    "of the controller, to be tried again": (
        expansion.fail,
        "ControllerResizeInProgress",
        "ControllerResizeError",
    ),
    "of the controller, for good": (
        expansion.refuse,
        "ControllerResizeInfeasible",
        "ControllerResizeError",
    ),
    "of the node, to be tried again": (
        expansion.fail_on_node,
        "ControllerResizeInProgress",
        "NodeResizeError",
    ),
    "of the node, for good": (expansion.refuse_on_node, "NodeResizeInfeasible", "NodeResizeError"),
}


@pytest.mark.parametrize(("transition", "at", "condition"), FAILURES.values(), ids=FAILURES)
def test_a_failure(transition: Any, at: str, condition: str) -> None:
    claim = a_claim("10Gi", "5Gi", "10Gi", "ControllerResizeInProgress", a_condition("Resizing"))
    failed = transition(claim.status, "no room", NOW)
    assert find_resize_status(failed) == at
    assert failed.conditions == (
        a_condition("Resizing"),
        Condition(
            condition,
            "True",
            message="failed to expand pvc with no room",
            last_transition_time=NOW,
        ),
    )
    assert transition(failed, "no room at all", NOW) == failed, "the first words stay"


# writing


def merged(document: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


sizes = st.sampled_from(["5Gi", "7Gi", "10Gi"])
conditions = st.lists(
    st.sampled_from(
        ["Resizing", "FileSystemResizePending", "NodeResizeError", "ModifyingVolume"]
    ).map(a_condition),
    unique_by=lambda condition: condition.type,
)
statuses = st.builds(
    lambda has, allocated, at, told, others: msgspec.structs.replace(
        a_claim("10Gi", has, allocated, at, *told).status,
        **(
            {"allocated_resource_statuses": {"example.com/x": "NodeResizePending"}}
            if others
            else {}
        ),
    ),
    sizes,
    st.just("") | sizes,
    st.sampled_from(["", *ResizeStatus]),
    conditions,
    st.booleans(),
)
transitions = st.sampled_from(
    [
        lambda status: expansion.start(status, parse("10Gi"), NOW),
        lambda status: expansion.await_node(status, NOW),
        expansion.start_on_node,
        lambda status: expansion.finish(status, parse("10Gi")),
        lambda status: expansion.refuse(status, "no", NOW),
        lambda status: expansion.refuse_on_node(status, "no", NOW),
    ]
)


@given(before=statuses, transition=transitions)
def test_a_patch_written_is_the_state_read_back(before: ClaimStatus, transition: Any) -> None:
    after = transition(before)
    document = {**msgspec.to_builtins(before), "fieldOfTomorrow": 1}
    written = merged(document, status_patch(before, after))
    assert read_document(written, ClaimStatus) == after
    assert written["fieldOfTomorrow"] == 1
    assert status_patch(after, after) == {}


def test_a_map_that_becomes_empty_is_removed() -> None:
    before = a_claim("10Gi", "5Gi", "10Gi", "NodeResizeInProgress", a_condition("Resizing")).status
    assert status_patch(before, expansion.finish(before, parse("10Gi"))) == {
        "capacity": {"storage": "10Gi"},
        "allocatedResourceStatuses": None,
        "conditions": None,
    }


# the whole way, with a user who changes their mind and a world that fails


class _World(msgspec.Struct, frozen=True):
    claim: Claim
    volume: int  # size in Gi


def _set(world: _World, status: ClaimStatus, volume: int | None = None) -> _World:
    claim = msgspec.structs.replace(world.claim, status=status)
    return _World(claim, world.volume if volume is None else volume)


def _gi(size: Quantity) -> int:
    return size.bytes_ceil() >> 30


def _controller(world: _World, stop: int, limit: int) -> _World:
    """One pass of whoever grows the back end, cut after `stop` writes; more than `limit` fails."""
    if world.claim.requested <= world.claim.capacity:
        return world
    match decide_target(world.claim, a_volume(f"{world.volume}Gi")):
        case LeaveToNode() | LeaveAlone():
            return world
        case RetryOnNode():
            return _set(world, expansion.await_node(world.claim.status, NOW))
        case Grow(size):
            for step in range(stop):
                status = world.claim.status
                if step == 0:
                    world = _set(world, expansion.start(status, size, NOW))
                elif step == 1 and _gi(size) > limit:
                    return _set(world, expansion.refuse(status, "no room", NOW))
                elif step == 1:
                    world = _set(world, status, max(world.volume, _gi(size)))
                elif step == 2:
                    world = _set(world, expansion.await_node(status, NOW))
    return world


def _node(world: _World, stop: int) -> _World:
    volume = a_volume(f"{world.volume}Gi")
    target = node_target(world.claim, volume)
    if decide_node(world.claim, volume) is NodeMove.EXPAND:
        if stop > 0:
            world = _set(world, expansion.start_on_node(world.claim.status))
        if stop > 1:
            world = _set(world, expansion.finish(world.claim.status, target))
    return world


def _asks(world: _World, size: int) -> _World:
    """The user's edit, if the API allows it."""
    if size <= _gi(world.claim.capacity):
        return world
    spec = msgspec.structs.replace(
        world.claim.spec, resources=ClaimResources({"storage": f"{size}Gi"})
    )
    return _World(msgspec.structs.replace(world.claim, spec=spec), world.volume)


acts = st.one_of(
    st.tuples(st.just("asks"), st.integers(1, 40)),
    st.tuples(st.just("controller"), st.integers(0, 3)),
    st.tuples(st.just("node"), st.integers(0, 2)),
)


@given(acts=st.lists(acts, max_size=12), limit=st.integers(10, 20), last=st.integers(1, 10))
def test_growth_cut_anywhere_ends_and_never_shrinks(
    acts: list[tuple[str, int]], limit: int, last: int
) -> None:
    world = _World(a_claim("5Gi", "5Gi"), 5)
    played = [*acts, ("asks", limit + 1), ("controller", 3), ("asks", last)]
    for who, much in [*played, *[("controller", 3), ("node", 2)] * 4]:
        old = world
        match who:
            case "asks":
                world = _asks(world, much)
            case "controller":
                world = _controller(world, much, limit)
            case _:
                world = _node(world, much)
        assert world.volume >= old.volume
        assert world.claim.capacity >= old.claim.capacity
        assert _gi(world.claim.capacity) <= world.volume, "never more is told than there is"
    if _gi(world.claim.requested) <= limit:
        assert world.claim.capacity >= world.claim.requested
        assert find_resize_status(world.claim.status) is None
        assert world.claim.status.conditions == ()
    else:
        assert find_resize_status(world.claim.status) is ResizeStatus.CONTROLLER_INFEASIBLE


def an_error(at: str = NOW) -> Condition:
    return Condition("ControllerResizeError", "True", last_transition_time=at)


def begun(at: str = NOW) -> Condition:
    return Condition("Resizing", "True", last_transition_time=at)


@pytest.mark.parametrize(
    ("conditions", "answered"),
    [
        ((), False),
        ((begun(),), False),
        ((begun(), an_error()), True),
        ((begun(BEFORE), an_error()), True),
        ((begun(), an_error(BEFORE)), False),
        ((an_error(),), True),
    ],
    ids=["nothing", "begun", "failed", "failed later", "begun anew since", "no beginning"],
)
def test_a_final_failure_counts_until_the_next_attempt(
    conditions: tuple[Condition, ...], *, answered: bool
) -> None:
    status = a_claim("10Gi", "5Gi", "10Gi", "ControllerResizeInProgress", *conditions).status
    assert expansion.is_answered(status) == answered
    assert not expansion.is_answered(expansion.start(status, parse("10Gi"), NOW))


def test_the_node_is_told_of_a_size_that_is_more_than_was_asked_for() -> None:
    status = expansion.start(a_claim().status, parse("10Gi"), NOW)
    assert find_allocated(expansion.await_node(status, NOW)) == parse("10Gi")
    assert find_allocated(expansion.await_node(status, NOW, parse("12Gi"))) == parse("12Gi")
