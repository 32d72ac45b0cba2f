"""The guides of `docs` on `mooring up` with its bundled driver, typed as they stand there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.driver.objects import CLASS
from tests.clients.csi import server_with_driver
from tests.clients.guides import ROOT, Typed, type_steps, typed_in
from tests.clients.kubectl import Kubectl
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import WITHIN

CLAIM = "notebook-physics"
LARGER = '{"spec":{"size":"64Mi"}}'


class Operator:
    """The process of `examples/operator`."""

    def __init__(self, kubeconfig: Path, log: Path) -> None:
        self._kubeconfig = kubeconfig
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, step: Typed) -> None:
        program = ROOT / step.line.split()[1]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  a program of the documentation
                [sys.executable, str(program)],
                env={**os.environ, "KUBECONFIG": str(self._kubeconfig)},
                stdout=log,
                stderr=log,
            )

    @property
    def said(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture(scope="module")
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with server_with_driver() as running:
        yield running


def test_a_stateful_set_with_snapshots_of_its_claims(kubectl: Kubectl) -> None:
    kubectl("wait", "--for=create", f"sc/{CLASS}", WITHIN)

    type_steps(typed_in("statefulset-snapshots.md"), kubectl)

    left = kubectl("get", "pods,pvc,volumesnapshots,statefulsets,services", "-o", "name")
    assert left == "", f"left by the guide: {left}"


@pytest.fixture
def operator(server: ServerWithNode, tmp_path: Path) -> Iterator[Operator]:
    running = Operator(server.kubeconfig, tmp_path / "operator.log")
    yield running
    running.stop()
    print(running.said)  # noqa: T201  shown if the test fails


def test_an_operator_with_a_kind_of_its_own(kubectl: Kubectl, operator: Operator) -> None:
    steps = list(typed_in("custom-resources.md"))
    (start,) = (number for number, step in enumerate(steps) if step.line.startswith("python "))
    type_steps(steps[:start], kubectl)
    operator.start(steps[start])
    (deletion,) = (number for number, step in enumerate(steps) if " delete notebook " in step.line)

    type_steps(steps[start + 1 : deletion], kubectl)
    refused = kubectl.refused("patch", "nb/physics", "--type=merge", "-p", LARGER)
    assert "the size of a notebook stays as it is" in refused, refused
    operator.stop()
    kubectl("delete", "nb/physics", "--wait=false")
    assert kubectl("get", "pvc", "-o", "name") == f"persistentvolumeclaim/{CLAIM}"
    operator.start(steps[start])
    kubectl("wait", "nb/physics", "--for=delete", WITHIN)
    type_steps(steps[deletion + 1 :], kubectl)
