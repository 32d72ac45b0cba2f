"""kubectl auth, kubeconfigs of other roles, and pages read as they are."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.clients.kubectl import SECONDS, Kubectl, kubectls
from tests.clients.manifests import a_claim, a_config_map, a_secret
from tests.fakes.real_server import RealServer, command


@pytest.fixture
def as_role(server: RealServer, kubectl: Kubectl, tmp_path: Path) -> Kubectl:
    """The same kubectl with the rights to look and no more."""
    return kubectl.as_user(a_kubeconfig(server, "read-only", tmp_path))


def a_kubeconfig(server: RealServer, role: str, directory: Path) -> Path:
    path = directory / "kubeconfig"
    wanted = ("--role", role, "--data-dir", str(server.data_dir), "--output", str(path))
    subprocess.run(  # noqa: S603  our own program
        command("kubeconfig", *wanted), check=True, timeout=SECONDS, capture_output=True
    )
    return path


@kubectls()
def test_the_admin_may_do_everything(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "persistentvolumes") == "yes"
    assert kubectl("auth", "can-i", "*", "*") == "yes"
    assert kubectl("auth", "can-i", "get", "/metrics") == "yes"


@kubectls()
def test_a_reader_may_look_and_not_touch(as_role: Kubectl) -> None:
    assert as_role("auth", "can-i", "list", "pvc") == "yes"
    assert as_role("auth", "can-i", "get", "pv/any") == "yes"
    for verb, kind in (("create", "pvc"), ("get", "secrets"), ("delete", "pv")):
        ran = as_role.run("auth", "can-i", verb, kind)
        assert (ran.code, ran.out.strip()) == (1, "no"), (verb, kind)


@kubectls()
def test_a_reader_is_refused_in_so_many_words(kubectl: Kubectl, as_role: Kubectl) -> None:
    kubectl("create", "-f", "-", given=[a_claim(), a_secret("login", password="x")])

    assert as_role("get", "pvc", "-o", "name") == "persistentvolumeclaim/data"
    refused = as_role.refused("delete", "pvc", "data")
    assert 'cannot delete resource "persistentvolumeclaims" in API group ""' in refused
    assert f'in the namespace "{kubectl.namespace}"' in refused
    assert "(Forbidden)" in as_role.refused("get", "secret", "login")
    assert "(Forbidden)" in as_role.refused("create", "-f", "-", given=a_config_map())


@kubectls()
def test_what_a_reader_may_do_is_listed(as_role: Kubectl) -> None:
    listed = as_role("auth", "can-i", "--list")

    rows = [line.split() for line in listed.splitlines()]
    assert any(row[0] == "persistentvolumeclaims" and "[get" in row[-3] for row in rows)


@kubectls(since=(1, 28))
def test_whoami(kubectl: Kubectl, as_role: Kubectl) -> None:
    me = json.loads(kubectl("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    other = json.loads(as_role("auth", "whoami", "-o", "json"))["status"]["userInfo"]

    assert "system:masters" in me["groups"]
    assert "system:masters" not in other["groups"]
    assert "system:authenticated" in other["groups"]


@kubectls(since=(1, 24))
def test_a_service_account_signs_in_with_its_token(
    kubectl: Kubectl, server: RealServer, tmp_path: Path
) -> None:
    token = kubectl("create", "token", "default")
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    path = tmp_path / "account"
    path.write_text(yaml.safe_dump(config))

    refused = kubectl.as_user(path).refused("get", "pvc")

    account = f"system:serviceaccount:{kubectl.namespace}:default"
    assert f'User "{account}" cannot list resource "persistentvolumeclaims"' in refused


@kubectls()
def test_a_wrong_token_is_told_so(kubectl: Kubectl, server: RealServer, tmp_path: Path) -> None:
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": "made-up"}
    path = tmp_path / "stranger"
    path.write_text(yaml.safe_dump(config))

    assert "You must be logged in to the server" in kubectl.as_user(path).refused("get", "pvc")


@kubectls()
def test_a_stranger_to_the_certificate_is_not_served(
    kubectl: Kubectl, server: RealServer, tmp_path: Path
) -> None:
    config = yaml.safe_load(server.kubeconfig.read_text())
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    path = tmp_path / "untrusting"
    path.write_text(yaml.safe_dump(config))

    assert "x509: certificate signed by unknown authority" in kubectl.as_user(path).refused(
        "get", "pvc"
    )


@kubectls()
def test_pages_are_read_raw(kubectl: Kubectl) -> None:
    assert kubectl("get", "--raw", "/livez") == "ok"
    assert kubectl("get", "--raw", "/readyz?verbose").endswith("readyz check passed")
    assert json.loads(kubectl("get", "--raw", "/version"))["minor"] == "37"
    assert "apiserver_request_total" in kubectl("get", "--raw", "/metrics")
    claims = f"/api/v1/namespaces/{kubectl.namespace}/persistentvolumeclaims"
    assert json.loads(kubectl("get", "--raw", claims))["items"] == []
    kubectl("create", "--raw", claims, "-f", "-", given=a_claim())
    assert len(json.loads(kubectl("get", "--raw", claims))["items"]) == 1


@kubectls()
def test_versions(kubectl: Kubectl) -> None:
    shown = json.loads(kubectl("version", "-o", "json"))

    assert shown["serverVersion"]["gitVersion"].startswith("v1.37.")
    assert shown["clientVersion"]["major"] == "1"


@kubectls(since=(1, 27))
def test_acting_as_somebody_else(kubectl: Kubectl) -> None:
    refused = kubectl.refused("get", "pvc", "--as=bob")

    assert 'User "bob" cannot list resource "persistentvolumeclaims"' in refused
