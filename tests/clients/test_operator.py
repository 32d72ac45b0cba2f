"""The operator in `examples/operator`, as docs/custom-resources.md shows it, on `mooring up`."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.guides import ROOT, type_section
from tests.clients.kubectl import Kubectl, kubectls
from tests.fakes.real_server import RealServer

OPERATOR = ROOT / "examples" / "operator" / "notebooks.py"
BOUND = "--for=jsonpath={.status.phase}=Bound"
WITHIN = "--timeout=15s"


@pytest.fixture
def server(own_server: RealServer) -> RealServer:
    return own_server


@pytest.fixture
def operator(kubectl: Kubectl, server: RealServer, tmp_path: Path) -> Iterator[Path]:
    """It runs; its output."""
    kubectl("apply", "-f", str(ROOT / "examples" / "operator" / "definition.yaml"))
    kubectl("wait", "crd/notebooks.example.com", "--for=condition=established", WITHIN)
    yield tmp_path / "operator.log"
