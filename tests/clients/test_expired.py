"""Certificates that ran out while Mooring was off."""

import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from mooring.apiserver.auth.pki import open_pki
from mooring.clock import RealClock
from tests.clients.kubectl import Kubectl
from tests.fakes.real_server import RealServer


def made_long_ago(server: RealServer, days: int) -> None:
    """Its keys are as of a first start so many days ago."""
    long_ago = RealClock().now() - timedelta(days=days)
    server.data_dir.mkdir(mode=0o700)
    open_pki(server.data_dir / "pki", now=long_ago, host_name="here")


def ends(file: Path) -> datetime:
    return x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc


@pytest.mark.parametrize("days", [900, 4000], ids=["the server's", "the authority's too"])
def test_the_next_start_renews_them_and_kubectl_works(
    tmp_path: Path, kubectl: Kubectl, days: int
) -> None:
    server = RealServer(tmp_path / "data")
    made_long_ago(server, days)
    key = (server.data_dir / "pki" / "ca.key").read_bytes()
    assert ends(server.data_dir / "pki" / "server.pem") < RealClock().now()
    server.start()
    try:
        assert ends(server.data_dir / "pki" / "server.pem") > RealClock().now()
        assert ends(server.data_dir / "pki" / "ca.crt") > RealClock().now()
        assert (server.data_dir / "pki" / "ca.key").read_bytes() == key
        mine = kubectl.as_user(server.kubeconfig)
        assert "kube-system" in mine("get", "namespaces", "-o", "name")
    finally:
        server.stop()


def test_a_copy_of_the_kubeconfig_outlives_the_certificate_of_the_server(
    tmp_path: Path, kubectl: Kubectl
) -> None:
    server = RealServer(tmp_path / "data")
    server.start()
    copy = tmp_path / "copy"
    shutil.copy(server.kubeconfig, copy)
    server.stop()
    (server.data_dir / "pki" / "server.pem").unlink()
    long_ago = RealClock().now() - timedelta(days=900)
    open_pki(server.data_dir / "pki", now=long_ago, host_name="here")
    server.start()
    try:
        assert "kube-system" in kubectl.as_user(copy)("get", "namespaces", "-o", "name")
    finally:
        server.stop()
