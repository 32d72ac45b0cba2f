"""Pods that fit nowhere, and what wakes them."""

import pytest

from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.waiting import WaitingPods
from tests.unit.scheduling.things import (
    DONE,
    Stored,
    Thing,
    a_claim,
    a_class,
    a_node,
    a_pod,
    a_volume,
    pointing_at,
)

WEB = Key("default", "web")
TAINTS = frozenset({"TaintToleration"})
VOLUMES = frozenset({"VolumeBinding"})
NEW_NODE = Change(None, a_node())


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Around:
    """Everywhere is room, and these things are there."""

    def __init__(self, *things: Thing) -> None:
        self.storage = Stored(*things)
        self.full: set[str] = set()

    def find_refuser(self, pod: Pod, shape: bytes, node: str) -> str | None:
        return "NodeResourcesFit" if node in self.full else None


def woken(waiting: WaitingPods, change: Change) -> dict[str, float]:
    return {key.name: seconds for key, seconds in waiting.wake(change)}


def test_a_pod_is_woken_by_what_its_refuser_names() -> None:
    waiting = WaitingPods(Clock(), Around())
    waiting.put(a_pod(), TAINTS)
    assert woken(waiting, Change(None, a_volume())) == {}
    assert WEB in waiting
    assert woken(waiting, NEW_NODE) == {"web": 1.0}
    assert WEB not in waiting
    assert woken(waiting, NEW_NODE) == {}, "once"
    assert waiting.looked(WEB) == []


def test_the_longer_in_vain_the_longer_the_pause() -> None:
    clock = Clock()
    waiting = WaitingPods(clock, Around())
    pauses = []
    for _ in range(6):
        waiting.put(a_pod(), TAINTS)
        pauses.append(woken(waiting, NEW_NODE)["web"])
        waiting.looked(WEB)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_pause_that_is_over_is_over() -> None:
    clock = Clock()
    waiting = WaitingPods(clock, Around())
    waiting.put(a_pod(), TAINTS)
    clock.now = 0.75
    assert woken(waiting, NEW_NODE) == {"web": 0.25}
    waiting.looked(WEB)
    waiting.put(a_pod(), TAINTS)
    clock.now = 60.0
    assert woken(waiting, NEW_NODE) == {"web": 0.0}


def test_failures_of_any_kind_add_up_until_they_are_history() -> None:
    waiting = WaitingPods(Clock(), Around())
    assert waiting.fail(WEB) == 1.0
    assert waiting.fail(WEB) == 2.0
    waiting.forget(WEB)
    assert waiting.fail(WEB) == 1.0


def test_a_claim_wakes_the_pods_that_use_it() -> None:
    around = Around(*claims("data", "other"))
    waiting = WaitingPods(Clock(), around)
    waiting.put(a_pod("one", "data"), VOLUMES)
    waiting.put(a_pod("two", "data", "other"), VOLUMES)
    waiting.put(a_pod("three", "other"), VOLUMES)
    assert set(woken(waiting, Change(None, a_claim()))) == {"one", "two"}
    assert set(woken(waiting, Change(None, a_claim("other")))) == {"three"}


BOUND = a_claim(volume="disk", annotations=DONE, phase="Bound")

LACKS: dict[str, tuple[Thing, ...]] = {
    "a claim that does not exist": (),
    "a claim that is not bound yet": (a_claim(),),
    "a volume that is not there yet": (BOUND,),
}


@pytest.mark.parametrize("lacking", LACKS.values(), ids=LACKS)
def test_a_pod_that_waits_for_its_claims_is_looked_at_at_once(lacking: tuple[Thing, ...]) -> None:
    around = Around(*lacking)
    waiting = WaitingPods(Clock(), around)
    for _ in range(3):
        around.storage = Stored(*lacking)
        waiting.put(a_pod("web", "data"), VOLUMES)
        around.storage = Stored(BOUND, a_volume("disk"))
        assert woken(waiting, Change(None, a_volume("disk", claimRef=pointing_at("data")))) == {
            "web": 0.0
        }
        waiting.looked(WEB)
    assert waiting.fail(WEB) == 1.0, "no attempt was counted"


def test_a_pod_is_left_alone_while_its_claims_lack_the_same() -> None:
    around = Around(a_claim())
    waiting = WaitingPods(Clock(), around)
    waiting.put(a_pod("web", "data"), VOLUMES)
    around.storage = Stored(a_claim(), a_volume("disk", claimRef=pointing_at("data")))
    written_first = Change(None, a_volume("disk", claimRef=pointing_at("data")))
    for change in (written_first, Change(a_claim(), a_claim()), Change(None, a_volume()), NEW_NODE):
        assert woken(waiting, change) == {}
    assert WEB in waiting


def test_a_class_that_comes_to_wait_for_pods_wakes_the_pods_of_its_claims() -> None:
    around = Around(*claims("data")[1:])
    waiting = WaitingPods(Clock(), around)
    waiting.put(a_pod("web", "data"), VOLUMES)
    around.storage = Stored(*claims("data"))
    assert woken(waiting, Change(None, a_class())) == {"web": 0.0}


def test_a_refusal_by_others_pauses_although_a_claim_lacks_something() -> None:
    waiting = WaitingPods(Clock(), Around())
    waiting.put(a_pod("web", "data"), TAINTS | VOLUMES)
    assert woken(waiting, NEW_NODE) == {"web": 1.0}


def test_a_pod_that_changed_is_woken_whatever_refused_it() -> None:
    waiting = WaitingPods(Clock(), Around())
    waiting.put(a_pod(), TAINTS)
    assert waiting.wake_pod(WEB) == 1.0
    assert WEB not in waiting
    assert waiting.wake_pod(WEB) == 0.0


def test_a_pod_that_is_taken_or_gone_is_not_woken() -> None:
    waiting = WaitingPods(Clock(), Around())
    waiting.put(a_pod("web", "data"), TAINTS | VOLUMES)
    waiting.take(WEB)
    waiting.put(a_pod("gone", "data"), TAINTS | VOLUMES)
    waiting.forget(Key("default", "gone"))
    assert woken(waiting, NEW_NODE) == {}
    assert woken(waiting, Change(None, a_claim())) == {}


def names(*keys: str) -> list[Key]:
    return [Key("default", key) for key in keys]


def a_crowd(around: Around, clock: Clock, **priorities: int) -> WaitingPods:
    """Pods that want a volume each, in this order; their pauses are over."""
    waiting = WaitingPods(clock, around)
    for name, priority in priorities.items():
        waiting.put(a_pod(name, name, priority=priority), VOLUMES)
    clock.now += 60.0
    return waiting


def claims(*keys: str) -> list[Thing]:
    return [a_class(), *(a_claim(key, storage_class="local") for key in keys)]


def test_a_volume_is_offered_to_one_pod_after_the_other_by_priority_then_arrival() -> None:
    volume = a_volume()
    around = Around(volume, *claims("a", "b", "c", "d"))
    waiting = a_crowd(around, Clock(), a=0, b=5, c=0, d=5)
    order = [*woken(waiting, Change(None, volume))]
    for _ in range(4):
        order += [key.name for key, _ in waiting.looked(Key("default", order[-1]))]
    assert order == ["b", "d", "a", "c"]


def test_a_volume_that_is_taken_is_offered_no_further() -> None:
    around = Around(a_volume(), *claims("a", "b"))
    waiting = a_crowd(around, Clock(), a=0, b=0)
    assert [*woken(waiting, Change(None, a_volume()))] == ["a"]
    around.storage = Stored(a_volume(claimRef=pointing_at("a")), *claims("a", "b"))
    assert waiting.looked(*names("a")) == []
    assert names("b")[0] in waiting


def test_a_volume_wakes_nobody_whom_it_does_not_suit() -> None:
    around = Around(*claims("a", "b"))
    waiting = a_crowd(around, Clock(), a=0, b=0)
    for volume in (a_volume(storage="1Mi"), a_volume(storage_class="other")):
        assert woken(waiting, Change(None, volume)) == {}


def test_a_volume_kept_for_a_claim_wakes_the_pods_of_that_claim() -> None:
    around = Around(*claims("a", "b"))
    waiting = a_crowd(around, Clock(), a=0, b=0)
    assert [*woken(waiting, Change(None, a_volume(claimRef=pointing_at("b"))))] == ["b"]


def test_who_need_not_be_left_alone_is_woken_before_who_must() -> None:
    clock = Clock()
    around = Around(a_volume(), *claims("a", "b"))
    waiting = a_crowd(around, clock, a=0, b=0)
    waiting.put(a_pod("a", "a"), VOLUMES)  # refused again, just now
    assert woken(waiting, Change(None, a_volume())) == {"b": 0.0}
    assert waiting.looked(*names("b")) == [(*names("a"), 2.0)]


def test_a_node_is_offered_only_to_pods_that_it_would_take() -> None:
    around = Around(*claims("a", "b"))
    around.full.add("n1")
    waiting = a_crowd(around, Clock(), a=0, b=0)
    assert woken(waiting, NEW_NODE) == {}
    around.full.clear()
    assert [*woken(waiting, NEW_NODE)] == ["a"]
    around.full.add("n1")
    assert waiting.looked(*names("a")) == [], "nothing is left of it"
    assert names("b")[0] in waiting


def test_a_heartbeat_of_a_node_wakes_nobody() -> None:
    waiting = a_crowd(Around(*claims("a")), Clock(), a=0)
    assert woken(waiting, Change(a_node(), a_node())) == {}


def test_news_of_a_node_while_it_is_offered_begin_the_offer_anew() -> None:
    around = Around(*claims("a", "b"))
    waiting = a_crowd(around, Clock(), a=0, b=0)
    assert [*woken(waiting, NEW_NODE)] == ["a"]
    assert woken(waiting, Change(a_node(), a_node(labels={"zone": "z"}))) == {}, "one at a time"
    waiting.put(a_pod("a", "a"), VOLUMES)
    assert [key.name for key, _ in waiting.looked(*names("a"))] == ["b"]
    assert [key.name for key, _ in waiting.looked(*names("b"))] == ["a"], "it may fit by now"
