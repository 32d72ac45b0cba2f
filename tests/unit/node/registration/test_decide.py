"""What sockets mean, and who may register."""

from pathlib import Path

import pytest

from mooring.csi.plugin_info import CSI_PLUGIN, Plugin, Version
from mooring.node.registration.decide import (
    Accepted,
    Registered,
    Rejected,
    View,
    decide,
    judge,
)
from mooring.node.registration.plan import Register, SocketId, Step, Unregister

SOCKET = Path("/reg/a.sock")
OLD, NEW = SocketId(1, 2, 3), SocketId(1, 2, 4)
V1_0, V1_2 = Version((1, 0, 0)), Version((1, 2, 0))


def a_driver(identity: SocketId | None = OLD, version: Version = V1_0) -> Registered:
    return Registered(SOCKET, identity, "d.example.com", "/csi.sock", version)


STEPS: dict[str, tuple[SocketId | None, Registered | None, Step | None]] = {
    "a new socket is asked": (NEW, None, Register(SOCKET, NEW)),
    "what has registered is left alone": (OLD, a_driver(), None),
    "another socket of the same name is asked anew": (NEW, a_driver(), Register(SOCKET, NEW)),
    "what is to be told again is asked again": (OLD, a_driver(None), Register(SOCKET, OLD)),
    "a socket that is gone takes its driver along": (None, a_driver(), Unregister(SOCKET)),
    "one that never had a driver takes nothing": (None, None, None),
}


@pytest.mark.parametrize(("seen", "registered", "then"), STEPS.values(), ids=STEPS)
def test_sockets(seen: SocketId | None, registered: Registered | None, then: Step | None) -> None:
    assert decide(View(SOCKET, seen, registered)) == then


def a_plugin(
    *versions: str, name: str = "d.example.com", kind: str = CSI_PLUGIN, endpoint: str = "/c.sock"
) -> Plugin:
    return Plugin(kind, name, endpoint, versions)


INVALID = (
    "RegisterPlugin error -- plugin validation failed with err: validation failed for CSI Driver "
    "d.example.com at endpoint /c.sock: kubernetes.io/csi: ValidatePlugin for CSI driver "
    '"d.example.com" failed. '
)

JUDGED: dict[str, tuple[Plugin, tuple[Registered, ...], Accepted | Rejected]] = {
    "the version that all registrars offer": (a_plugin("1.0.0"), (), Accepted(V1_0)),
    "the highest that we speak": (a_plugin("1.0.0", "2.0.0"), (), Accepted(V1_0)),
    "no version": (
        a_plugin(),
        (),
        Rejected(f"{INVALID}Plugin returned an empty list for supported versions"),
    ),
    "no version that we speak": (
        a_plugin("2.0.0"),
        (),
        Rejected(
            f'{INVALID}None of the versions specified ["2.0.0"] are supported. err=could not find '
            "a highest supported version from versions ([2.0.0]) reported: <nil>"
        ),
    ),
    "a second driver of the name": (
        a_plugin("1.0.0"),
        (a_driver(),),
        Rejected(
            f"{INVALID}Another driver with the same name is already registered with a higher "
            'supported version: "1.0.0"'
        ),
    ),
    "a newer driver of the name": (a_plugin("1.2.0"), (a_driver(),), Accepted(V1_2)),
    "beside a driver of another name": (
        a_plugin("1.0.0", name="other.example.com"),
        (a_driver(),),
        Accepted(V1_0),
    ),
    "something else than a driver": (
        a_plugin("1.0.0", kind="DRAPlugin"),
        (),
        Rejected(
            "RegisterPlugin error -- no handler registered for plugin type: DRAPlugin "
            "at socket /reg/a.sock"
        ),
    ),
}


@pytest.mark.parametrize(("plugin", "others", "verdict"), JUDGED.values(), ids=JUDGED)
def test_who_may_register(
    plugin: Plugin, others: tuple[Registered, ...], verdict: Accepted | Rejected
) -> None:
    assert judge(plugin, SOCKET, others) == verdict


@pytest.mark.parametrize("name", ["", "../../etc", "a/b", "x" * 64])
def test_a_name_that_would_lead_elsewhere_is_none(name: str) -> None:
    verdict = judge(a_plugin("1.0.0", name=name), SOCKET, ())
    assert isinstance(verdict, Rejected)
    assert "is no name for a CSI driver" in verdict.text


def test_without_an_endpoint_the_socket_is_it() -> None:
    verdict = judge(a_plugin(endpoint=""), SOCKET, ())
    assert isinstance(verdict, Rejected)
    assert "at endpoint /reg/a.sock: " in verdict.text
