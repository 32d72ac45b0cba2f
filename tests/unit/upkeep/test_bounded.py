"""Several calls at once, each with a time limit."""

import threading

import pytest

from mooring.errors import HostError, MooringError
from mooring.upkeep.bounded import Unfinished, each_within


def test_results_and_refusals_come_in_the_order_of_the_calls() -> None:
    def refuse() -> int:
        raise HostError("no")

    told = each_within(5.0, [lambda: 1, refuse, lambda: 3], at_once=2)
    assert told[0] == 1
    assert isinstance(told[1], MooringError)
    assert told[2] == 3


def test_one_that_hangs_is_given_up_and_holds_up_no_other() -> None:
    release = threading.Event()

    def hang() -> int:
        release.wait(20)
        return 0

    told = each_within(0.1, [hang, hang, *[lambda: 7] * 10], at_once=2)
    release.set()
    assert told == [Unfinished.HUNG, Unfinished.HUNG, *[7] * 10]


def test_no_calls() -> None:
    assert each_within(1.0, []) == []


def test_a_bug_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        each_within(5.0, [lambda: 1 // 0])
