"""Flags of single drivers on the command line of `mooring up`."""

import pytest
from typer.testing import CliRunner

from mooring.cli import app
from mooring.errors import UsageError
from mooring.sidecars.driver_flags import parse_flags
from mooring.sidecars.options import SidecarOptions

DEFAULT = SidecarOptions()
D, E = "d.example.com", "e.example.com"


def test_each_driver_has_its_own() -> None:
    found = parse_flags(
        [
            f"{D}:strict-topology=true",
            f"{D}:timeout=1m",
            f"{D}:--extra-create-metadata=true",
            f"{E}:default-fstype=xfs",
            f"{E}:snapshot-name-prefix=nightly",
            f"{E}:groupsnapshot-name-uuid-length=8",
        ],
        DEFAULT,
    )
    assert set(found) == {D, E}
    first, second = found[D], found[E]
    assert first.provisioner.strict_topology
    assert first.provisioner.extra_create_metadata
    assert first.snapshotter.extra_create_metadata
    assert (first.provisioner.call_seconds, first.snapshotter.call_seconds) == (60.0, 60.0)
    assert second.provisioner.default_fs_type == "xfs"
    assert second.snapshotter.names.prefix == "nightly"
    assert second.snapshotter.group_names.uid_length == 8
    assert not second.provisioner.strict_topology
    assert parse_flags([], DEFAULT) == {}


REFUSED = {
    "no driver": ("strict-topology=true", "must be DRIVER:FLAG=VALUE"),
    "no name of a driver": ("//:strict-topology=true", "'//' is no name of a CSI driver"),
    "no value": (f"{D}:strict-topology", "must be DRIVER:FLAG=VALUE"),
    "no such flag": (f"{D}:strict-topologie=true", "did you mean strict-topology?"),
    "neither true nor false": (f"{D}:strict-topology=maybe", "neither true nor false"),
    "no number": (f"{D}:timeout=soon", "is no number of seconds"),
    "no time": (f"{D}:timeout=0s", "is no number of seconds"),
    "an empty prefix": (f"{D}:snapshot-name-prefix=", "must not be empty"),
    "no length": (f"{D}:snapshot-name-uuid-length=x", "invalid literal"),
}


@pytest.mark.parametrize(("flag", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(flag: str, text: str) -> None:
    with pytest.raises(UsageError, match="--sidecar-flag") as caught:
        parse_flags([flag], DEFAULT)
    assert text in str(caught.value)


def test_up_refuses_it_before_anything_starts() -> None:
    result = CliRunner().invoke(app, ["up", "--sidecar-flag", f"{D}:colour=red"])
    assert isinstance(result.exception, UsageError)
    assert "there is no flag colour; there are controller-publish-readonly" in str(result.exception)


@pytest.mark.parametrize("name", ["//", "", "a driver", "x" * 64])
def test_up_leaves_no_driver_alone_that_cannot_be_one(name: str) -> None:
    result = CliRunner().invoke(app, ["up", "--no-sidecars-for", name])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith("--no-sidecars-for")
    assert "is no name of a CSI driver" in str(result.exception)
