"""Pods that fit nowhere, and what wakes them."""

from mooring.model.keys import Key
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.waiting import WaitingPods
from tests.unit.scheduling.things import a_claim, a_node, a_pod, a_volume

WEB = Key("default", "web")
TAINTS = frozenset({"TaintToleration"})
VOLUMES = frozenset({"VolumeBinding"})
NEW_NODE = Change(None, a_node())


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def woken(waiting: WaitingPods, change: Change) -> dict[str, float]:
    return {key.name: seconds for key, seconds in waiting.wake(change)}


def test_a_pod_is_woken_by_what_its_refuser_names() -> None:
    waiting = WaitingPods(Clock())
    waiting.put(a_pod(), TAINTS)
    assert woken(waiting, Change(None, a_volume())) == {}
    assert WEB in waiting
    assert woken(waiting, NEW_NODE) == {"web": 1.0}
    assert WEB not in waiting
    assert woken(waiting, NEW_NODE) == {}, "once"


def test_the_longer_in_vain_the_longer_the_pause() -> None:
    clock = Clock()
    waiting = WaitingPods(clock)
    pauses = []
    for _ in range(6):
        waiting.put(a_pod(), TAINTS)
        pauses.append(woken(waiting, NEW_NODE)["web"])
    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_pause_that_is_over_is_over() -> None:
    clock = Clock()
    waiting = WaitingPods(clock)
    waiting.put(a_pod(), TAINTS)
    clock.now = 0.75
    assert woken(waiting, NEW_NODE) == {"web": 0.25}
    waiting.put(a_pod(), TAINTS)
    clock.now = 60.0
    assert woken(waiting, NEW_NODE) == {"web": 0.0}


def test_failures_of_any_kind_add_up_until_they_are_history() -> None:
    waiting = WaitingPods(Clock())
    assert waiting.fail(WEB) == 1.0
    assert waiting.fail(WEB) == 2.0
    waiting.forget(WEB)
    assert waiting.fail(WEB) == 1.0


def test_a_claim_wakes_the_pods_that_use_it() -> None:
    waiting = WaitingPods(Clock())
    waiting.put(a_pod("one", "data"), VOLUMES)
    waiting.put(a_pod("two", "data", "other"), VOLUMES)
    waiting.put(a_pod("three", "other"), VOLUMES)
    assert set(woken(waiting, Change(None, a_claim()))) == {"one", "two"}
    assert set(woken(waiting, Change(None, a_claim("other")))) == {"three"}


def test_a_pod_that_changed_is_woken_whatever_refused_it() -> None:
    waiting = WaitingPods(Clock())
    waiting.put(a_pod(), TAINTS)
    assert waiting.wake_pod(WEB) == 1.0
    assert WEB not in waiting
    assert waiting.wake_pod(WEB) == 0.0


def test_a_pod_that_is_taken_or_gone_is_not_woken() -> None:
    waiting = WaitingPods(Clock())
    waiting.put(a_pod("web", "data"), TAINTS | VOLUMES)
    waiting.take(WEB)
    waiting.put(a_pod("gone", "data"), TAINTS | VOLUMES)
    waiting.forget(Key("default", "gone"))
    assert woken(waiting, NEW_NODE) == {}
    assert woken(waiting, Change(None, a_claim())) == {}
