"""What is done about a volume, case by case."""

import pytest
from msgspec.structs import replace

from mooring.controllers.attachment.actual import BLANK, Act, AttachmentAttempt, Failure, Memory
from mooring.controllers.attachment.decide import decide
from mooring.controllers.attachment.plan import (
    CountForced,
    Create,
    Delete,
    Ended,
    Forget,
    LookAgain,
    Remember,
    Report,
    Step,
    Unreport,
    Withdraw,
)
from mooring.controllers.attachment.view import Departure, VolumeView
from mooring.model.node import LEFT_VALUE, NodeSpec
from mooring.model.steps import Emit
from mooring.model.taint import Taint
from mooring.model.wellknown import TaintKey
from tests.unit.controllers.attachment.things import (
    CSI,
    NOW,
    SHARED,
    a_node,
    a_place,
    a_pod,
    a_view,
    an_attachment,
)

POD, OTHER = (
    a_pod("p1", created="2026-01-01T00:00:00Z"),
    a_pod("p2", created="2026-01-02T00:00:00Z"),
)
ATTACHED, ASKED = an_attachment(attached=True), an_attachment()
BROKEN = an_attachment(attach_error="boom")
LEAVING = an_attachment(attached=True, deleting=True)
STUCK = an_attachment(attached=True, deleting=True, detach_error="busy")
ELSEWHERE = an_attachment("n2", attached=True)

ATTACHING = Memory(attempt=AttachmentAttempt(Act.ATTACH, NOW - 1))
LATE_ATTACH = Memory(attempt=AttachmentAttempt(Act.ATTACH, NOW - 120))
DETACHING = Memory(attempt=AttachmentAttempt(Act.DETACH, NOW - 1))
LATE_DETACH = Memory(attempt=AttachmentAttempt(Act.DETACH, NOW - 120))
ATTACH_FAILED = Memory(failure=Failure(Act.ATTACH, 1, NOW + 0.5))
DETACH_FAILED = Memory(failure=Failure(Act.DETACH, 1, NOW + 0.5))
LEFT_LONG_AGO = Memory(leaving_since=NOW - 360)
USING = Departure(NOW - 1, frozenset({CSI.unique}))
LET_GO = Departure(NOW - 1, frozenset())

USED = a_node(in_use=True)
DOWN = a_node(in_use=True, ready=False)
OFF = a_node(in_use=True, out_of_service=True)
BACK = replace(OFF, spec=NodeSpec(taints=(Taint(TaintKey.OUT_OF_SERVICE, value=LEFT_VALUE),)))
NOT_YET_READY = a_node(ready=False)
UNMANAGED = a_node(managed=False)

WANTED: dict[str, tuple[VolumeView, tuple[type[Step], ...]]] = {
    "nothing attaches it: it is asked for": (
        a_view(a_place("n1", None, POD)),
        (Remember, Create, LookAgain),
    ),
    "not to a node that attaches for itself": (a_view(a_place("n1", None, POD, on=UNMANAGED)), ()),
    "nor to one that does not exist": (a_view(a_place("n1", None, POD, gone=True)), ()),
    "not before the pause is over": (
        a_view(a_place("n1", None, POD, memory=ATTACH_FAILED)),
        (LookAgain,),
    ),
    "a failed detach is no reason to wait": (
        a_view(a_place("n1", None, POD, memory=DETACH_FAILED)),
        (Remember, Create, LookAgain),
    ),
    "a list that shows what is not attached is put right first": (
        a_view(a_place("n1", None, POD, reported=True)),
        (Unreport, Remember, Create, LookAgain),
    ),
    "the end of a detach is counted, and it is asked for anew": (
        a_view(a_place("n1", None, POD, memory=DETACHING)),
        (Ended, Remember, Create, LookAgain),
    ),
    "an object that somebody deleted is a failure": (
        a_view(a_place("n1", None, POD, memory=ATTACHING)),
        (Ended, Remember, Emit, LookAgain),
    ),
    "asked for: it is waited for": (
        a_view(a_place("n1", ASKED, POD, memory=ATTACHING)),
        (LookAgain,),
    ),
    "asked for by somebody else: it is waited for from now on": (
        a_view(a_place("n1", ASKED, POD)),
        (Remember, LookAgain),
    ),
    "not attached any more: the node is told": (
        a_view(a_place("n1", ASKED, POD, memory=ATTACHING, reported=True)),
        (Unreport, LookAgain),
    ),
    "refused by the attacher: told, and tried later": (
        a_view(a_place("n1", BROKEN, POD, memory=ATTACHING)),
        (Ended, Remember, Emit, LookAgain),
    ),
    "refused a moment ago: not told again yet": (
        a_view(a_place("n1", BROKEN, POD, memory=ATTACH_FAILED)),
        (LookAgain,),
    ),
    "two minutes without an answer are a failure": (
        a_view(a_place("n1", ASKED, POD, memory=LATE_ATTACH)),
        (Ended, Remember, Emit, LookAgain),
    ),
    "attached: told, reported, and what was before is forgotten": (
        a_view(a_place("n1", ATTACHED, POD, memory=ATTACHING)),
        (Ended, Remember, Emit, Report),
    ),
    "attached and reported: nothing to do": (
        a_view(a_place("n1", ATTACHED, POD, reported=True)),
        (),
    ),
    "every pod on the node is told": (
        a_view(a_place("n1", ATTACHED, POD, OTHER)),
        (Emit, Emit, Report),
    ),
    "a detach that had not begun is taken back without a word": (
        a_view(a_place("n1", ATTACHED, POD, memory=Memory(is_withdrawn=True))),
        (Remember, Report),
    ),
    "a pod that comes back stops the clock": (
        a_view(a_place("n1", ATTACHED, POD, reported=True, memory=LEFT_LONG_AGO)),
        (Remember,),
    ),
    "attached to a node that keeps its own list: not reported": (
        a_view(a_place("n1", ATTACHED, POD, on=UNMANAGED)),
        (),
    ),
    "attached to a node that is gone: stays as long as its pod": (
        a_view(a_place("n1", ATTACHED, POD, gone=True)),
        (),
    ),
    "on its way out by our own doing: waited for in silence": (
        a_view(a_place("n1", LEAVING, POD, memory=DETACHING)),
        (LookAgain,),
    ),
    "on its way out by somebody else's: told": (
        a_view(a_place("n1", LEAVING, POD)),
        (Remember, Emit, LookAgain),
    ),
    "stuck on its way out: told": (
        a_view(a_place("n1", STUCK, POD, memory=DETACHING)),
        (Remember, Emit, LookAgain),
    ),
    "on its way out for two minutes: told": (
        a_view(a_place("n1", LEAVING, POD, memory=LATE_DETACH)),
        (Remember, Emit, LookAgain),
    ),
}

UNWANTED: dict[str, tuple[VolumeView, tuple[type[Step], ...]]] = {
    "nothing is left: it is forgotten": (a_view(a_place()), (Forget,)),
    "the end of a detach is counted": (a_view(a_place(memory=DETACHING)), (Ended, Forget)),
    "a list that shows what is not attached is put right": (
        a_view(a_place(reported=True)),
        (Unreport, Forget),
    ),
    "but not while the node says that it uses it": (a_view(a_place(reported=True, on=USED)), ()),
    "attached: the node is told first": (
        a_view(a_place("n1", ATTACHED, reported=True)),
        (Remember, Withdraw),
    ),
    "the node was told and does not use it: it is detached": (
        a_view(a_place("n1", ATTACHED, read=True)),
        (Remember, Delete, LookAgain),
    ),
    "the node was told and uses it: the list says so again": (
        a_view(a_place("n1", ATTACHED, read=True, on=USED)),
        (Report, Remember),
    ),
    "a ready node that uses it is waited for, without a limit": (
        a_view(a_place("n1", ATTACHED, reported=True, on=USED, memory=LEFT_LONG_AGO)),
        (Remember,),
    ),
    "one that is not ready has a limit": (
        a_view(a_place("n1", ATTACHED, reported=True, on=DOWN)),
        (Remember, LookAgain),
    ),
    "the limit is over: the node is told": (
        a_view(a_place("n1", ATTACHED, reported=True, on=DOWN, memory=LEFT_LONG_AGO)),
        (Remember, Withdraw),
    ),
    "and then it is taken, and counted": (
        a_view(a_place("n1", ATTACHED, read=True, on=DOWN, memory=LEFT_LONG_AGO)),
        (CountForced, Remember, Delete, LookAgain),
    ),
    "force is disabled: no limit": (
        a_view(
            a_place("n1", ATTACHED, reported=True, on=DOWN, memory=LEFT_LONG_AGO),
            forces_on_timeout=False,
        ),
        (Remember,),
    ),
    "out of service: taken at once": (
        a_view(a_place("n1", ATTACHED, read=True, on=OFF)),
        (CountForced, Remember, Delete, LookAgain),
    ),
    "a node that had left, came back and uses it, keeps it": (
        a_view(a_place("n1", ATTACHED, read=True, on=BACK)),
        (Report, Remember),
    ),
    "a deleted node that said last that it does not use it is asked about first": (
        a_view(a_place("n1", ATTACHED, gone=True, departure=LET_GO)),
        (Remember, Withdraw),
    ),
    "and then loses it, and nothing is forced": (
        a_view(a_place("n1", ATTACHED, gone=True, read=True, departure=LET_GO)),
        (Remember, Delete, LookAgain),
    ),
    "a deleted node that said last that it uses it is waited for": (
        a_view(a_place("n1", ATTACHED, gone=True, departure=USING)),
        (Remember, LookAgain),
    ),
    "since it was deleted": (
        a_view(a_place("n1", ATTACHED, gone=True, departure=USING, memory=LEFT_LONG_AGO)),
        (Remember, LookAgain),
    ),
    "a deleted node that nobody heard is waited for": (
        a_view(a_place("n1", ATTACHED, gone=True)),
        (Remember, LookAgain),
    ),
    "when the wait is over it is asked about": (
        a_view(a_place("n1", ATTACHED, gone=True, memory=LEFT_LONG_AGO)),
        (Remember, Withdraw),
    ),
    "and then it is taken by force": (
        a_view(a_place("n1", ATTACHED, gone=True, read=True, memory=LEFT_LONG_AGO)),
        (CountForced, Remember, Delete, LookAgain),
    ),
    "a new Node that is not ready yet takes nothing back that the old one said": (
        a_view(a_place("n1", ATTACHED, reported=True, on=NOT_YET_READY, departure=USING)),
        (Remember, LookAgain),
    ),
    "one that is ready speaks for itself": (
        a_view(a_place("n1", ATTACHED, departure=USING)),
        (Remember, Withdraw),
    ),
    "force is disabled and the node deleted: no limit": (
        a_view(a_place("n1", ATTACHED, gone=True, memory=LEFT_LONG_AGO), forces_on_timeout=False),
        (Remember,),
    ),
    "what is not attached to a deleted node is forgotten": (
        a_view(a_place("n1", None, gone=True, reported=True)),
        (Unreport, Forget),
    ),
    "what somebody else attached is left alone": (
        a_view(a_place("n1", ATTACHED, foreign=True)),
        (),
    ),
    "and so is what they detach": (a_view(a_place("n1", LEAVING, foreign=True)), ()),
    "of what a pod only waited for nothing is remembered": (
        a_view(a_place("n1", ASKED, foreign=True, memory=ATTACHING)),
        (Remember,),
    ),
    "an attach under way is not cut short": (
        a_view(a_place("n1", ASKED, memory=ATTACHING)),
        (LookAgain,),
    ),
    "one that failed is cleared away": (
        a_view(a_place("n1", BROKEN, memory=ATTACHING)),
        (Remember, Withdraw),
    ),
    "one that takes too long is cleared away": (
        a_view(a_place("n1", ASKED, memory=LATE_ATTACH)),
        (Remember, Withdraw),
    ),
    "of an attach that somebody else began nobody knows that it is under way": (
        a_view(a_place("n1", ASKED)),
        (Remember, Withdraw),
    ),
    "deleted, and the watch has not shown it: waited for": (
        a_view(a_place("n1", ATTACHED, memory=DETACHING)),
        (LookAgain,),
    ),
    "not before the pause is over": (
        a_view(a_place("n1", ATTACHED, memory=DETACH_FAILED)),
        (LookAgain,),
    ),
    "on its way out: waited for": (a_view(a_place("n1", LEAVING, memory=DETACHING)), (LookAgain,)),
    "on its way out by somebody else's doing: the node is told": (
        a_view(a_place("n1", LEAVING, reported=True)),
        (Unreport, Remember, LookAgain),
    ),
    "stuck on its way out: counted, and looked at later": (
        a_view(a_place("n1", STUCK, memory=DETACHING)),
        (Ended, Remember, LookAgain),
    ),
    "stuck, and a pod waits elsewhere: it is told": (
        a_view(a_place("n1", STUCK, memory=DETACHING), a_place("n2", None, OTHER)),
        (Ended, Remember, Emit, LookAgain),
    ),
    "two minutes without an answer are a failure": (
        a_view(a_place("n1", LEAVING, memory=LATE_DETACH)),
        (Ended, Remember, LookAgain),
    ),
}

SHARING: dict[str, tuple[VolumeView, tuple[type[Step], ...]]] = {
    "another node has it: refused, and told what it waits for": (
        a_view(a_place("n1", None, POD), a_place("n2", ELSEWHERE, OTHER, reported=True)),
        (Emit, Emit, Remember, LookAgain, LookAgain),
    ),
    "a shared one may be on both": (
        a_view(
            a_place("n1", None, POD), a_place("n2", ELSEWHERE, OTHER, reported=True), volume=SHARED
        ),
        (Remember, Create, LookAgain),
    ),
    "another node may have it: nobody is told, and nothing is asked for": (
        a_view(a_place("n1", None, POD), a_place("n2", an_attachment("n2", deleting=True))),
        (Remember, LookAgain),  # the detach is watched
    ),
    "two nodes want it and none has it: the oldest pod's comes first": (
        a_view(a_place("n1", None, OTHER), a_place("n2", None, POD)),
        (Remember, Create, LookAgain),
    ),
    "a node that uses it already comes before any other": (
        a_view(a_place("n1", None, POD), a_place("n2", None, OTHER, on=a_node("n2", in_use=True))),
        (Remember, Create, LookAgain),
    ),
    "a node that cannot have it keeps it from nobody": (
        a_view(a_place("n1", None, POD, gone=True), a_place("n2", None, OTHER)),
        (Remember, Create, LookAgain),
    ),
}


def steps(view: VolumeView) -> tuple[type[Step], ...]:
    return tuple(map(type, decide(view).steps))


@pytest.mark.parametrize(("given", "then"), WANTED.values(), ids=WANTED)
def test_where_pods_want_it(given: VolumeView, then: tuple[type[Step], ...]) -> None:
    assert steps(given) == then


@pytest.mark.parametrize(("given", "then"), UNWANTED.values(), ids=UNWANTED)
def test_where_nobody_wants_it(given: VolumeView, then: tuple[type[Step], ...]) -> None:
    assert steps(given) == then


@pytest.mark.parametrize(("given", "then"), SHARING.values(), ids=SHARING)
def test_where_several_want_it(given: VolumeView, then: tuple[type[Step], ...]) -> None:
    assert steps(given) == then


FIRST = {
    "the oldest pod's node": (a_place("n1", None, OTHER), a_place("n2", None, POD)),
    "the node that uses it": (
        a_place("n1", None, POD),
        a_place("n2", None, OTHER, on=a_node("n2", in_use=True)),
    ),
    "the node that was told to have it": (
        a_place("n1", None, POD),
        a_place("n2", None, OTHER, reported=True),
    ),
    "the only one that exists": (
        a_place("n1", None, POD, gone=True),
        a_place("n2", None, OTHER),
    ),
}


@pytest.mark.parametrize("on_nodes", FIRST.values(), ids=FIRST)
def test_who_is_first(on_nodes: tuple[object, ...]) -> None:
    plan = decide(a_view(*on_nodes))  # type: ignore[arg-type]  # a table of pairs
    (created,) = (step for step in plan.steps if isinstance(step, Create))
    assert created.where.node == "n2"


def test_the_memory_of_an_attach_is_kept_before_it_is_asked_for() -> None:
    remembered, created, _ = decide(a_view(a_place("n1", None, POD))).steps
    assert isinstance(remembered, Remember)
    assert isinstance(created, Create)
    assert remembered.memory.attempt == AttachmentAttempt(Act.ATTACH, NOW)


def test_an_attached_volume_leaves_no_memory() -> None:
    view = a_view(a_place("n1", ATTACHED, POD, memory=ATTACHING))
    assert Remember(view.on_nodes[0].where, BLANK) in decide(view).steps


@pytest.mark.parametrize(
    ("times", "wait"),
    list(enumerate((0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 122.0, 122.0))),
)
def test_pauses_between_failures(times: int, wait: float) -> None:
    failure = Failure(Act.ATTACH, times, NOW) if times else None
    memory = Memory(attempt=AttachmentAttempt(Act.ATTACH, NOW - 1), failure=failure)
    plan = decide(a_view(a_place("n1", BROKEN, POD, memory=memory)))
    assert plan.steps[-1] == LookAgain(wait)
