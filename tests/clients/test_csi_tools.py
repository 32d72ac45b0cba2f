"""`mooring csi run`, `call` and `trace`, and `mooring timeline`, beside a running `mooring up`."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.clients.csi import bare_claim, need_loop_devices, short_directory
from tests.clients.kubectl import Kubectl
from tests.clients.mooring_command import done, refused
from tests.clients.nodes import NODE, ServerWithNode
from tests.clients.pods import Pods, a_script, mounting, of_claim
from tests.clients.tables import read_tables
from tests.fakes.real_server import command
from tests.fakes.waiting import until

DRIVER = "pd.csi.storage.gke.io"  # a name that the bundled driver can take
CLASS = "of-my-driver"
READY = "Ctrl-C undoes all of this"
LONGEST = 60  # seconds
STEPS = (
    *("claim created", "provisioned", "bound", "scheduled", "attached", "staged", "published"),
    *("container started", "ready"),
)


@pytest.fixture(scope="module")
def server(pod_server: ServerWithNode) -> ServerWithNode:
    return pod_server


class Run:
    """A `mooring csi run`, and what it has said."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.said: list[str] = []

    def until(self, words: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said.append(line)
            if words in line:
                return line
        raise AssertionError(f"it ended without saying {words!r}: {self.said}")

    def interrupt(self) -> None:
        """Ctrl-C; it ends in good order."""
        self._process.send_signal(signal.SIGINT)
        rest, _ = self._process.communicate(timeout=LONGEST)
        self.said += rest.splitlines(keepends=True)
        assert self._process.returncode == 0, self.said

    @property
    def socket(self) -> Path:
        (line,) = [line for line in self.said if " answers at " in line]
        return Path(line.rpartition("unix://")[2].strip())


@contextmanager
def running(server: ServerWithNode, *words: str) -> Iterator[Run]:
    flags = ("--data-dir", str(server.data_dir), "--node-name", NODE, "--class", CLASS)
    process = subprocess.Popen(  # noqa: S603  our own program
        command("csi", "run", *flags, "--", *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield Run(process)
    finally:
        process.kill()
        process.wait(LONGEST)
        if process.stdout is not None:
            process.stdout.close()


async def test_a_driver_is_run_called_traced_and_undone(
    kubectl: Kubectl, server: ServerWithNode, tmp_path: Path
) -> None:
    need_loop_devices()
    pods, flags = Pods(kubectl), ("--kubeconfig", server.kubeconfig)
    driver = ("driver", "--endpoint", "{endpoint}", "--node-id", "{node}", "--state-dir")
    with short_directory() as state:
        words = [*command(*driver, str(state / "s")), "--stand-in-for", DRIVER]
        with running(server, *words) as run:
            run.until(READY)
            assert kubectl.field(".provisioner", "sc", CLASS) == DRIVER, run.said
            assert kubectl.field(".spec.attachRequired", "csidriver", DRIVER) == "true"
            info = json.loads(done("csi", "call", run.socket, "GetPluginInfo"))
            assert info["name"] == DRIVER
            line = refused("csi", "call", run.socket, "DeleteVolume", "{}")
            assert line.startswith("DeleteVolume: InvalidArgument (3): "), line

            pods.create(bare_claim("data", "32Mi", storageClassName=CLASS))
            pods.ready(
                a_script("web", volumes=[of_claim("data", "data")], container=mounting(data="/d"))
            )
            asked = ("csi", "trace", "--driver", DRIVER, *flags)
            traced = json.loads(done(*asked, "--method", "NodePublishVolume", "-o", "json"))
            because = traced["calls"][-1]["because"]
            assert (because["kind"], because["name"]) == ("Pod", "web"), traced
            table = read_tables(done(*asked, "--method", "CreateVolume"))
            assert [row["CODE"] for row in table] == ["OK"], table
            assert table[0]["BECAUSE OF"].endswith("/data"), table

            where = ("-n", kubectl.namespace, *flags)
            shown = read_tables(done("timeline", "pod/web", *where).rpartition("pod/web:")[0])
            steps = {row["STEP"]: row["STATE"] for row in shown}
            assert steps == dict.fromkeys(STEPS, "done"), shown
            config = yaml.safe_load(server.kubeconfig.read_text(encoding="utf-8"))
            config["contexts"][0]["context"]["namespace"] = kubectl.namespace
            there = tmp_path / "kubeconfig"
            there.write_text(json.dumps(config), encoding="utf-8")
            drawn = done("timeline", "pvc", "data", "-o", "svg", "--kubeconfig", there)
            assert drawn.startswith("<svg "), drawn

            volume = kubectl.field(".spec.volumeName", "pvc", "data")
            kubectl("delete", "pod/web", "pvc/data", "--wait=true")
            await until(lambda: volume not in kubectl("get", "pv", "-o", "name"), LONGEST)
            run.interrupt()
    kept = kubectl("get", "sc,csidriver,volumesnapshotclass", "-o", "name")
    assert CLASS not in kept, (kept, run.said)
    assert DRIVER not in kept, (kept, run.said)
    assert not run.socket.parent.exists()


def test_a_driver_that_ends_before_it_answers_is_told_in_one_line(server: ServerWithNode) -> None:
    flags = ("--data-dir", server.data_dir, "--")
    line = refused("csi", "run", *flags, sys.executable, "-c", "raise SystemExit(3)")
    assert line == f"{sys.executable} ended with code 3 before its socket answered"
    assert "cannot start /no/such/program" in refused("csi", "run", *flags, "/no/such/program")
