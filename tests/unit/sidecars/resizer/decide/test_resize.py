"""What is done about a claim that asks for more, and about the driver's answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.csi.capability import Mount, VolumeCapability, WireMode
from mooring.csi.outcome import TABLES, Code, Done, Outcome, judge
from mooring.csi.requests import Expanded, ExpandVolume
from mooring.csi.volume import CapacityRange
from mooring.model import expansion, quantity
from mooring.model.quantity import parse
from mooring.model.steps import Emit, Fail
from mooring.model.storage_terms import STORAGE, AccessMode
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.sidecars.driver import Abilities
from mooring.sidecars.resizer.decide.resize import decide_expanded, decide_resize
from mooring.sidecars.resizer.plan import (
    AwaitNode,
    Expand,
    Finish,
    ForgetBefore,
    GrowVolume,
    Later,
    MarkResizeFailed,
    MarkResizeInfeasible,
    ResizeStep,
)
from mooring.sidecars.resizer.view import ClaimView, SizePause, Use
from tests.unit.sidecars.resizer.claims import (
    ABLE,
    DRIVER,
    NODE_ONLY,
    THEN,
    a_claim,
    a_view,
    a_volume,
)

GI = 1 << 30
CALL = ExpandVolume(
    "h1", CapacityRange(2 * GI), VolumeCapability(Mount(), WireMode.SINGLE_NODE_WRITER)
)
USED = Use(is_in_the_way=True, is_used=True)
IMPOSSIBLE = SizePause(parse("2Gi"), 200.0)
TWO_MODES = replace(
    a_volume(), spec=replace(a_volume().spec, access_modes=(AccessMode.ONCE_POD, AccessMode.MANY))
)

UNTOUCHED = {
    "it has what it asks for": a_view(a_claim("1Gi"), a_volume()),
    "its volume is not known": a_view(a_claim(), None),
    "its volume points at an earlier claim": a_view(a_claim(), a_volume(uid="u0")),
    "its volume is another driver's": a_view(a_claim(), a_volume(), driver="other"),
    "a node has to finish": a_view(
        a_claim(allocated="2Gi", at="NodeResizePending"), a_volume("2Gi", before="1Gi")
    ),
}
ASKED = {
    "it asks for more": (a_view(a_claim(), a_volume()), CALL),
    "only a node can": (a_view(a_claim(), a_volume(), abilities=NODE_ONLY), None),
    "another size was impossible": (
        a_view(a_claim(), a_volume(), size_pause=SizePause(parse("8Gi"), 200.0)),
        CALL,
    ),
    "it is unused": (a_view(a_claim(), a_volume(), use=Use(is_in_the_way=True)), CALL),
}
TOLD = {
    "it is in use": a_view(a_claim(), a_volume(), use=USED),
    "its modes do not go together": a_view(a_claim(), TWO_MODES),
    "the driver cannot": a_view(a_claim(), a_volume(), abilities=Abilities()),
}


@pytest.mark.parametrize("view", UNTOUCHED.values(), ids=UNTOUCHED)
def test_what_is_left_alone(view: ClaimView) -> None:
    assert decide_resize(view).steps == ()


@pytest.mark.parametrize(("view", "call"), ASKED.values(), ids=ASKED)
def test_what_is_asked(view: ClaimView, call: ExpandVolume | None) -> None:
    assert view.volume is not None
    step = Expand(view.claim, view.volume, parse("2Gi"), call, None)
    assert decide_resize(view).steps == (step,)


@pytest.mark.parametrize("view", TOLD.values(), ids=TOLD)
def test_what_is_only_told(view: ClaimView) -> None:
    steps = decide_resize(view).steps
    assert isinstance(steps[0], Emit)
    assert steps[0].reason == "VolumeResizeFailed"
    assert all(isinstance(step, Fail) for step in steps[1:])


def test_an_impossible_size_waits() -> None:
    view = a_view(a_claim(), a_volume(), size_pause=IMPOSSIBLE)
    assert decide_resize(view).steps == (Later(200.0),)


def test_pods_that_are_not_known_yet_are_waited_for() -> None:
    view = a_view(a_claim(), a_volume(), use=Use(is_in_the_way=True, is_used=None))
    assert [type(step) for step in decide_resize(view).steps] == [Fail]


def test_the_volume_forgets_when_the_node_has_followed() -> None:
    volume = a_volume("2Gi", before="1Gi")
    assert decide_resize(a_view(a_claim("2Gi", "2Gi"), volume)).steps == (ForgetBefore(volume),)
    assert decide_resize(a_view(a_claim("1Gi", "1Gi"), volume)).steps == ()


# the driver's answer


def an_answer(code: Code) -> Outcome[Expanded]:
    return judge(TABLES["ControllerExpandVolume"], code, "no")


def answered(outcome: Outcome[Expanded], volume: Volume | None = None) -> list[ResizeStep]:
    claim, volume = a_claim(), volume or a_volume()
    step = Expand(claim, volume, parse("2Gi"), CALL, None)
    return [
        step
        for step in decide_expanded(DRIVER, step, claim, volume, outcome).steps
        if not isinstance(step, Emit)
    ]


IMPOSSIBLE_CODES = {Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.OUT_OF_RANGE}
DOUBTFUL = {
    *(Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED),
    *(Code.ABORTED, Code.UNAVAILABLE),
}


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.OK])
def test_each_code(code: Code) -> None:
    kinds = [type(step) for step in answered(an_answer(code))]
    if code in IMPOSSIBLE_CODES:
        assert kinds == [MarkResizeInfeasible]
    elif code in DOUBTFUL:
        assert kinds == [Fail]
    else:
        assert kinds == [MarkResizeFailed, Fail]


def test_only_one_code_means_in_use() -> None:
    marks = {
        code: step.is_in_use
        for code in Code
        if code is not Code.OK
        for step in answered(an_answer(code))
        if isinstance(step, MarkResizeFailed)
    }
    assert [code for code, in_use in marks.items() if in_use] == [Code.FAILED_PRECONDITION]


def test_success_is_on_the_volume_before_the_claim() -> None:
    assert answered(Done(Expanded(2 * GI, node_expansion_required=False))) == [
        GrowVolume(a_volume(), parse("2Gi"), None),
        Finish(a_claim(), parse("2Gi")),
    ]
    assert answered(Done(Expanded(3 * GI, node_expansion_required=True))) == [
        GrowVolume(a_volume(), parse("3Gi"), "1Gi"),
        AwaitNode(a_claim(), parse("3Gi")),
    ]


def test_what_the_volume_remembers_outlives_another_answer() -> None:
    volume = a_volume("2Gi", before="1Gi")
    steps = answered(Done(Expanded(2 * GI, node_expansion_required=False)), volume)
    assert steps == [AwaitNode(a_claim(), parse("2Gi"))]


def test_a_volume_does_not_shrink() -> None:
    steps = answered(Done(Expanded(2 * GI, node_expansion_required=False)), a_volume("5Gi"))
    assert steps == [Finish(a_claim(), parse("5Gi"))]


# laws: whatever happens, in any order, cut anywhere


class World:
    """A claim, its volume, and what is behind it."""

    def __init__(self, abilities: Abilities, *, needs_node: bool) -> None:
        self.claim, self.volume = a_claim("1Gi"), a_volume()
        self.abilities = abilities
        self.needs_node = needs_node
        self.real = GI

    def request(self, gibibytes: int) -> None:
        """As the API lets users: above what they have."""
        if gibibytes * GI > self.claim.capacity.bytes_ceil():
            resources = replace(self.claim.spec.resources, requests={STORAGE: f"{gibibytes}Gi"})
            self.claim = replace(self.claim, spec=replace(self.claim.spec, resources=resources))

    def node(self, *, succeeds: bool) -> None:
        status = self.claim.status
        if expansion.decide_node(self.claim, self.volume) is not expansion.NodeMove.EXPAND:
            return
        if succeeds:
            target = expansion.node_target(self.claim, self.volume)
            self.real = max(self.real, target.bytes_ceil())
            status = expansion.finish(status, target)
        else:
            status = expansion.refuse_on_node(status, "no", THEN)
        self.claim = replace(self.claim, status=status)

    def controller(self, code: Code, writes: int) -> None:
        """One pass that dies after so many writes."""
        view = a_view(self.claim, self.volume, abilities=self.abilities)
        for step in decide_resize(view).steps:
            if writes and isinstance(step, Expand):
                self._expand(step, code, writes - 1)
            elif writes and isinstance(step, ForgetBefore):
                self._note(None)

    def _expand(self, step: Expand, code: Code, writes: int) -> None:
        started = expansion.start(self.claim.status, step.size, THEN)
        self.claim = replace(self.claim, status=started)
        outcome: Outcome[Expanded]
        if step.request is None:
            outcome = Done(Expanded(step.size.bytes_ceil(), node_expansion_required=True))
        else:
            if code in DOUBTFUL or code is Code.OK:
                self.real = max(self.real, step.size.bytes_ceil())
            expanded = Expanded(self.real, node_expansion_required=self.needs_node)
            outcome = Done(expanded) if code is Code.OK else an_answer(code)
        for after in decide_expanded(DRIVER, step, self.claim, self.volume, outcome).steps:
            if isinstance(after, Emit | Fail):
                continue
            if not writes:
                return
            writes -= 1
            self._write(after)

    def _write(self, step: ResizeStep) -> None:
        status = self.claim.status
        match step:
            case GrowVolume(_, size, before):
                spec = replace(self.volume.spec, capacity={STORAGE: str(size)})
                self.volume = replace(self.volume, spec=spec)
                self._note(before)
            case AwaitNode(_, size):
                status = expansion.await_node(status, THEN, size)
            case Finish(_, size):
                status = expansion.finish(status, size)
            case MarkResizeFailed(_, error, _):
                status = expansion.fail(status, error, THEN)
            case MarkResizeInfeasible(_, error, _):
                status = expansion.refuse(status, error, THEN)
            case other:
                raise AssertionError(other)
        self.claim = replace(self.claim, status=status)

    def _note(self, before: str | None) -> None:
        notes = {Annotation.PRE_RESIZE_CAPACITY: before} if before else {}
        metadata = replace(self.volume.metadata, annotations=notes)
        self.volume = replace(self.volume, metadata=metadata)


MOVES = st.one_of(
    st.tuples(st.just("ask"), st.integers(2, 9)),
    st.tuples(st.sampled_from(tuple(Code)), st.integers(0, 3)),
    st.tuples(st.just("node"), st.booleans()),
)


@pytest.mark.parametrize("abilities", [ABLE, NODE_ONLY], ids=["back end", "node only"])
@pytest.mark.parametrize("needs_node", [False, True], ids=["alone", "with the node"])
@given(moves=st.lists(MOVES, max_size=12))
def test_cut_anywhere_it_is_finished_and_nothing_shrinks(
    abilities: Abilities, moves: list[tuple[object, int]], *, needs_node: bool
) -> None:
    world = World(abilities, needs_node=needs_node)
    for what, amount in moves:
        size, has = world.volume.size, world.claim.capacity
        if what == "ask":
            world.request(amount)
        elif what == "node":
            world.node(succeeds=bool(amount))
        else:
            assert isinstance(what, Code)
            world.controller(what, amount)
        assert world.claim.capacity >= has, "no claim shrinks"
        if abilities is ABLE:
            assert world.volume.size >= size, "no volume shrinks"
            assert world.volume.size <= quantity.from_bytes(world.real), "none is oversold"
    for _ in range(8):
        world.controller(Code.OK, 9)
        world.node(succeeds=True)
    assert world.claim.capacity >= world.claim.requested
    assert expansion.find_resize_status(world.claim.status) is None
    assert world.claim.status.conditions == ()
    assert world.volume.metadata.annotations == {}
