"""By which names a server is reached, and what is said of that."""

import pytest

from mooring.stack.listening import Reach, find_reach, is_local

EVERYWHERE = "0.0.0.0"  # noqa: S104  nothing is bound
OWN = ("10.0.0.5", "fd00::5")

CASES: dict[
    str, tuple[tuple[str, tuple[str, ...], tuple[str, ...]], tuple[str, tuple[str, ...]]]
] = {
    "loopback needs nothing": (("127.0.0.1", (), OWN), ("127.0.0.1", ())),
    "what was asked for stays": (("127.0.0.1", ("a.example",), OWN), ("127.0.0.1", ("a.example",))),
    "one address is itself": (("10.0.0.5", (), OWN), ("10.0.0.5", ("10.0.0.5",))),
    "all addresses are this machine's": ((EVERYWHERE, (), OWN), ("10.0.0.5", ("10.0.0.5",))),
    "of both families": (("::", (), OWN), ("10.0.0.5", ("10.0.0.5", "fd00::5"))),
    "a name that was asked for is the one to use": (
        (EVERYWHERE, ("a.example",), OWN),
        ("a.example", ("a.example", "10.0.0.5")),
    ),
    "without a network there is loopback": ((EVERYWHERE, (), ()), ("127.0.0.1", ())),
}


@pytest.mark.parametrize(("given", "then"), CASES.values(), ids=CASES)
def test_reach(
    given: tuple[str, tuple[str, ...], tuple[str, ...]], then: tuple[str, tuple[str, ...]]
) -> None:
    found = find_reach(*given)
    assert (found.host, found.names) == then
    assert bool(found.warning) is not is_local(given[0])
    assert "\n" not in found.warning


LOCAL = {"127.0.0.1": True, "127.1.2.3": True, "::1": True, "localhost": True, "10.0.0.5": False}


@pytest.mark.parametrize("host", LOCAL)
def test_local(host: str) -> None:
    assert is_local(host) is LOCAL[host]
    assert isinstance(find_reach(host, (), OWN), Reach)
