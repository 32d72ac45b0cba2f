"""The judge of leaders' histories finds what it is for, and nothing else."""

import pytest

from tests.fakes.leaders import Acted, Called, Held, called_beside_a_leader, of_two_leaders

LEASE = "/leases/mooring-scheduler"
HELD = [Held(10, "a-1"), Held(20, "a-1"), Held(30, ""), Held(40, "b-1"), Held(60, "a-2")]


def leased(began: float, revision: int, holder: str) -> Acted:
    return Acted(began, began + 0.1, "PATCH", LEASE, revision, holder)


def wrote(began: float, revision: int) -> Acted:
    return Acted(began, began + 0.1, "PATCH", "/pods/x", revision)


A = (leased(1, 10, "a-1"), leased(2, 20, "a-1"), leased(6, 60, "a-2"))
B = (leased(4, 40, "b-1"),)

HISTORIES: dict[str, tuple[tuple[Acted, ...], tuple[Acted, ...], list[str]]] = {
    "each writes while it leads, in two lives": (
        (wrote(1.5, 15), wrote(6.5, 65)),
        (wrote(4.5, 45),),
        [],
    ),
    "one writes when the other leads": ((wrote(4.5, 45),), (), ["a wrote while b-1 led"]),
    "one writes when nobody leads": ((), (wrote(3.5, 35),), ["b wrote while nobody led"]),
    "what changed nothing has an old revision": ((), (wrote(4.5, 15),), []),
}


@pytest.mark.parametrize(("a", "b", "told"), HISTORIES.values(), ids=HISTORIES)
def test_writes(a: tuple[Acted, ...], b: tuple[Acted, ...], told: list[str]) -> None:
    flaws = of_two_leaders(HELD, {"a": (*A, *a), "b": (*B, *b)}, LEASE)
    assert [flaw.partition(":")[0] for flaw in flaws] == told


CALLS: dict[str, tuple[Called, bool]] = {
    "who leads may call": (Called("a", 2.5, "CreateVolume", "v"), True),
    "who asks for the lease may have it already": (Called("b", 4.05, "CreateVolume", "v"), True),
    "who slept while another took over may not": (Called("a", 4.5, "CreateVolume", "v"), False),
    "who has it again may": (Called("a", 6.5, "CreateVolume", "v"), True),
    "who never led may not": (Called("b", 2.5, "CreateVolume", "v"), False),
}


@pytest.mark.parametrize(("call", "is_fine"), CALLS.values(), ids=CALLS)
def test_calls(call: Called, *, is_fine: bool) -> None:
    assert (called_beside_a_leader([call], {"a": A, "b": B}) == []) is is_fine
