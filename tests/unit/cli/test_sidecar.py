"""`mooring sidecar` refuses in one line what it cannot do."""

import pytest
import yaml
from typer.testing import CliRunner

from mooring.apiserver.auth import roles
from mooring.apiserver.auth.rules import Rule
from mooring.cli import app
from mooring.cli.sidecar import SERVED
from mooring.errors import UsageError
from mooring.sidecars.role import SIDECARS

REFUSED = {
    "a sidecar that nobody knows": (
        ["pilot"],
        "there is no sidecar 'pilot'; choose one of provisioner, attacher, resizer, snapshotter,"
        " health-monitor, all, snapshot-metadata, registrar, release, rbac",
    ),
    "a registrar with another": (
        ["registrar", "attacher"],
        "registrar runs alone, for one driver: give it a process of its own",
    ),
    "changed blocks beside another": (
        ["snapshot-metadata", "attacher"],
        "snapshot-metadata runs alone, for one driver: give it a process of its own",
    ),
    "changed blocks without a certificate": (
        ["snapshot-metadata"],
        "snapshot-metadata is served with TLS only: give --tls-cert and --tls-key, in PEM",
    ),
    "a node that is not named": (
        ["all", "--node-deployment"],
        "--node-deployment: set NODE_NAME to the name of this node",
    ),
    "a release with a driver's socket": (
        ["release"],
        "release runs alone, and talks to no driver",
    ),
}


@pytest.mark.parametrize(("asked", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(asked: list[str], text: str) -> None:
    result = CliRunner().invoke(app, ["sidecar", *asked, "--csi-address", "/run/csi.sock"])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == text


def test_without_a_socket_there_is_nobody_to_serve() -> None:
    result = CliRunner().invoke(app, ["sidecar", "provisioner"])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == "give --csi-address, the socket of a driver"


def test_a_socket_that_no_program_could_connect_to_is_refused() -> None:
    address = f"unix:///{'x' * 107}"
    result = CliRunner().invoke(app, ["sidecar", "provisioner", "--csi-address", address])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).endswith(
        "too long for a socket: at most 107 bytes work; link to it"
    )


def test_a_misspelt_role_is_named_even_without_a_socket() -> None:
    result = CliRunner().invoke(app, ["sidecar", "relese"])
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith("there is no sidecar 'relese'; choose one of ")


def test_every_sidecar_can_be_asked_for() -> None:
    assert set(SERVED) == set(SIDECARS)


def test_rbac_grants_what_the_role_in_this_server_grants() -> None:
    result = CliRunner().invoke(app, ["sidecar", "rbac", "--for", "all", "--namespace", "storage"])
    assert result.exit_code == 0, result.output
    account, role, binding = yaml.safe_load_all(result.output)
    assert account["metadata"] == {"name": "mooring-sidecars", "namespace": "storage"}
    granted = [
        Rule(tuple(rule["verbs"]), tuple(rule["apiGroups"]), tuple(rule["resources"]))
        for rule in role["rules"]
    ]
    assert set(granted) == set(roles.SIDECARS.rules)
    assert (binding["roleRef"]["name"], binding["subjects"][0]["namespace"]) == (
        role["metadata"]["name"],
        "storage",
    )


@pytest.mark.parametrize("name", SERVED)
def test_rbac_for_one_sidecar_is_less(name: str) -> None:
    result = CliRunner().invoke(app, ["sidecar", "rbac", "--for", name])
    assert result.exit_code == 0, result.output
    _, role, _ = yaml.safe_load_all(result.output)
    assert 0 < len(role["rules"]) < len(roles.SIDECARS.rules)


def test_rbac_for_nobody_known() -> None:
    result = CliRunner().invoke(app, ["sidecar", "rbac", "--for", "pilot"])
    assert "there is no sidecar 'pilot'" in str(result.exception)


def test_an_empty_prefix_is_refused() -> None:
    flags = ["--csi-address", "/run/csi.sock", "--snapshot-name-prefix", "", "--no-leader-elect"]
    result = CliRunner().invoke(app, ["sidecar", "snapshotter", *flags])
    assert "a name prefix must not be empty" in str(result.exception)
