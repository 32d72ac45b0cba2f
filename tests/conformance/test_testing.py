"""Test clusters beside what others test with: controller-runtime's envtest, an old client."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mooring.testing import Cluster

ENVTEST = Path(__file__).parents[2] / "examples" / "testing" / "envtest"
OLD_CLIENT = "kubernetes==12.0.1"  # of 2020, for Kubernetes 1.16
BUILD_SECONDS = 1500.0
RUN_SECONDS = 120.0

OLD_TEST = """
import sys
from kubernetes import client, config, watch

config.load_kube_config(sys.argv[1])
core = client.CoreV1Api()
spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
claim = {"metadata": {"name": "data"}, "spec": spec}
core.create_namespaced_persistent_volume_claim("default", claim)
following = watch.Watch()
claims = core.list_namespaced_persistent_volume_claim
for event in following.stream(claims, "default", timeout_seconds=60):
    if event["object"].status.phase == "Bound":
        following.stop()
        print("Bound")
marked = {"metadata": {"labels": {"a": "b"}}}
core.patch_namespaced_persistent_volume_claim("data", "default", marked)
assert claims("default", label_selector="a=b").items
core.delete_namespaced_persistent_volume_claim("data", "default")
"""


def _run(command: list[str], seconds: float, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603  programs of the test
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        env=os.environ | more,
    )


def test_envtest_takes_it_as_an_existing_cluster(tmp_path: Path) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("envtest is written in Go, and there is no `go` on PATH")
    binary = tmp_path / "claim.test"
    built = _run([go, "test", "-C", str(ENVTEST), "-c", "-o", str(binary), "."], BUILD_SECONDS)
    if built.returncode:
        pytest.skip(f"controller-runtime cannot be built here: {built.stderr[-500:]}")
    with Cluster() as c:
        existing = {"USE_EXISTING_CLUSTER": "true", "KUBECONFIG": str(c.kubeconfig)}
        ran = _run([str(binary), "-test.v"], RUN_SECONDS, **existing)
    assert "--- PASS: TestAClaimBinds" in ran.stdout, ran.stdout + ran.stderr


def test_an_old_client_of_kubernetes_works(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(tmp_path), OLD_CLIENT]
    installed = _run(pip, BUILD_SECONDS)
    if installed.returncode:
        pytest.skip(f"{OLD_CLIENT} cannot be installed: {installed.stderr[-500:]}")
    with Cluster() as c:
        asked = [sys.executable, "-c", OLD_TEST, str(c.kubeconfig)]
        ran = _run(asked, RUN_SECONDS, PYTHONPATH=str(tmp_path))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "Bound\n"
