import pytest

from mooring.driver.in_flight import InFlight
from mooring.driver.refusal import ABORTED
from tests.unit.driver.calls import refused


def test_the_second_to_change_one_thing_is_told_to_come_again() -> None:
    in_flight = InFlight()
    with in_flight.holding("v"):
        with refused(ABORTED, "v"), in_flight.holding("v"):
            pass
        with in_flight.holding("w"):
            pass
    with in_flight.holding("v"):
        pass


def test_many_read_what_nobody_changes() -> None:
    in_flight = InFlight()
    with in_flight.holding("a", reading=["s"]):
        with in_flight.holding("b", reading=["s"]):
            pass
        with refused(ABORTED, "s"), in_flight.holding("s"):
            pass
    with in_flight.holding("s"), refused(ABORTED, "s"), in_flight.holding("c", reading=["s"]):
        pass


def test_a_refusal_holds_nothing() -> None:
    in_flight = InFlight()
    with in_flight.holding("v"):
        with refused(ABORTED), in_flight.holding("w", "v"):
            pass
        with in_flight.holding("w"):
            pass


def test_a_failure_lets_go() -> None:
    in_flight = InFlight()
    with pytest.raises(ZeroDivisionError), in_flight.holding("v", reading=["s"]):
        raise ZeroDivisionError
    with in_flight.holding("v", "s"):
        pass


def test_one_thing_may_be_named_twice() -> None:
    in_flight = InFlight()
    with in_flight.holding("v", "v", reading=["v", "s", "s"]):
        pass
    with in_flight.holding("v", "s"):
        pass
