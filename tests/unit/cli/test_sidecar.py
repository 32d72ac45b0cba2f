"""`mooring sidecar` refuses in one line what it cannot do."""

import pytest
from typer.testing import CliRunner

from mooring.cli import app
from mooring.cli.sidecar import SERVED
from mooring.errors import UsageError
from mooring.sidecars.role import SIDECARS

REFUSED = {
    "a sidecar that is not there yet": (
        ["snapshotter"],
        "the snapshotter is not there yet; choose provisioner, attacher, resizer, health-monitor",
    ),
    "a sidecar that nobody knows": (
        ["pilot"],
        "there is no sidecar 'pilot';"
        " choose one of provisioner, attacher, resizer, health-monitor, registrar, release",
    ),
    "a registrar with another": (
        ["registrar", "attacher"],
        "a registrar runs alone, for one driver: give it a process of its own",
    ),
    "a release with a driver's socket": (
        ["release"],
        "release runs alone, and talks to no driver",
    ),
}


@pytest.mark.parametrize(("roles", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(roles: list[str], text: str) -> None:
    result = CliRunner().invoke(app, ["sidecar", *roles, "--csi-address", "/run/csi.sock"])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == text


def test_without_a_socket_there_is_nobody_to_serve() -> None:
    result = CliRunner().invoke(app, ["sidecar", "provisioner"])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == "give --csi-address, the socket of a driver"


def test_a_misspelt_role_is_named_even_without_a_socket() -> None:
    result = CliRunner().invoke(app, ["sidecar", "relese"])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith("there is no sidecar 'relese'; choose one of ")


def test_every_sidecar_can_be_asked_for() -> None:
    assert set(SERVED) == set(SIDECARS)
