"""The walk-through of `docs/reclaim.md`: Retain, Delete and Recycle, on real directories."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import WITHIN

GUIDE = Path(__file__).parents[2] / "docs" / "reclaim.md"
NAMES = ("kept", "deleted", "wiped")
PHASE = "--for=jsonpath={.status.phase}"


@pytest.fixture
def server(pod_server: ServerWithNode) -> ServerWithNode:
    return pod_server


@pytest.fixture
def directories() -> Iterator[Path]:
    """Below /tmp, as in the guide: elsewhere nothing is deleted."""
    path = Path(tempfile.mkdtemp(prefix="reclaim-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


def test_three_policies(kubectl: Kubectl, directories: Path) -> None:
    for name in NAMES:
        (directories / name).mkdir()
        (directories / name / "file").write_text("important\n")
    (manifest,) = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    given = manifest.replace("/tmp/reclaim", str(directories))  # noqa: S108  the guide's
    claims = [f"pvc/{name}" for name in NAMES]

    kubectl("create", "-f-", given=given)
    kubectl("wait", *claims, f"{PHASE}=Bound", WITHIN)
    kubectl("delete", *claims)

    kubectl.run("wait", "pv/deleted", "--for=delete", WITHIN)
    kubectl("wait", "pv/wiped", f"{PHASE}=Available", WITHIN)
    kubectl("wait", "pv/kept", f"{PHASE}=Released", WITHIN)
    assert sorted(path.name for path in directories.iterdir()) == ["kept", "wiped"]
    assert list((directories / "wiped").iterdir()) == []
    assert (directories / "kept/file").read_text() == "important\n"
    told = kubectl.in_namespace("default").event("wiped", "VolumeRecycled")
    assert "Volume recycled" in told

    free = [{"op": "remove", "path": "/spec/claimRef"}]
    kubectl("patch", "pv", "kept", "--type=json", "-p", json.dumps(free))
    kubectl("wait", "pv/kept", f"{PHASE}=Available", WITHIN)
    kubectl("delete", "pv", "kept", "wiped")
