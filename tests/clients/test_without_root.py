"""A session of somebody who is not root, from the first start to the last: real user, no rights."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.clients.nodes import NODE, need_root
from tests.fakes.real_server import RealServer, command
from tests.fakes.waiting import until

USER = 61234
AS_USER = (
    "setpriv",
    f"--reuid={USER}",
    f"--regid={USER}",
    "--clear-groups",
    "--bounding-set=-all",
    "--inh-caps=-all",
)
CLAIM: Doc = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Mi"}}},
}
POD: Doc = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        "containers": [
            {
                "name": "main",
                "image": "none",
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }
        ],
    },
}


class UsersServer(RealServer):
    own_flags = ("--node-name", NODE)
    prefix = AS_USER


def as_user(*words: object) -> "subprocess.CompletedProcess[str]":
    run = [*AS_USER, *command(*map(str, words))]
    return subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603


@pytest.fixture
def home() -> Iterator[Path]:
    """Of the user; pytest's own directories are closed to others."""
    need_root()
    if shutil.which(AS_USER[0]) is None:
        pytest.skip("setpriv, which changes the user, is not installed")
    reads = [*AS_USER, sys.executable, "-c", "import mooring"]
    if subprocess.run(reads, capture_output=True, check=False, timeout=60).returncode:  # noqa: S603
        pytest.skip("another user cannot read this installation")
    directory = Path(tempfile.mkdtemp(prefix="m-user-"))
    os.chown(directory, USER, USER)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def server(home: Path) -> Iterator[UsersServer]:
    running = UsersServer(home / "data")
    running.start()
    yield running
    running.kill()


@pytest.mark.timeout(180)
async def test_a_session_from_the_first_start_to_the_reset(
    server: UsersServer, home: Path, kubectl: Kubectl
) -> None:
    assert server.next_line() == f"  node: {NODE}"
    assert server.next_line() == "  default class: mooring-host-path (kubernetes.io/host-path)"
    limits = [server.next_line(), server.next_line()]
    assert [line.split(":")[1].strip() for line in limits] == ["volumes that are mounted", "pods"]
    assert all(line.endswith("; run mooring as root") for line in limits)
    assert server.log.read_text() == ""  # it is said once

    mine = kubectl.as_user(server.kubeconfig).in_namespace("default")
    mine("create", "-f", "-", given=CLAIM)
    mine("create", "-f", "-", given=POD)
    tokenless = {**POD["spec"], "automountServiceAccountToken": False}
    mine("create", "-f", "-", given=POD | {"metadata": {"name": "bare"}, "spec": tokenless})
    mine("wait", "pvc/data", "--for=jsonpath={.status.phase}=Bound", "--timeout=30s")
    (made,) = (server.data_dir / "volumes" / "hostpath_pv").iterdir()
    assert (made.stat().st_uid, stat.S_ISDIR(made.stat().st_mode)) == (USER, True)

    def warnings() -> dict[tuple[str, str], str]:
        found = json.loads(mine("get", "events", "-o", "json"))["items"]
        told = [one for one in found if one["type"] == "Warning"]
        told = [one for one in told if one["reason"] != "FailedScheduling"]
        assert len({(one["reason"], one["involvedObject"]["name"]) for one in told}) == len(told)
        return {(one["involvedObject"]["name"], one["reason"]): one["message"] for one in told}

    await until(lambda: len(warnings()) == 2)
    assert set(warnings()) == {("web", "FailedMount"), ("bare", "FailedCreatePodSandBox")}
    assert all(message.endswith("run mooring as root") for message in warnings().values())
    assert mine("get", "pods", "-o", "jsonpath={.items[*].status.phase}") == "Pending Pending"
    mine("delete", "pod", "web", "bare", "--timeout=15s")

    flags = ("--data-dir", server.data_dir)
    assert as_user("backup", home / "one.tar", "--with-volumes", *flags).returncode == 0
    assert as_user("check", *flags).returncode == 0
    assert server.stop() == 0
    down = as_user("down", *flags)
    assert (down.returncode, down.stdout) == (0, "nothing was running or mounted\n")
    assert as_user("reset", "--yes", *flags).returncode == 0
    assert not server.data_dir.exists()
    restored = as_user("restore", home / "one.tar", *flags)
    assert (restored.returncode, restored.stderr) == (0, "")
    assert made.is_dir()
    again = as_user("check", *flags)
    assert (again.returncode, again.stderr) == (0, "")
