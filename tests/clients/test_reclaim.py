"""The walk-through of `docs/reclaim.md`: Retain, Delete and Recycle, on real directories."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.guides import Typed, code_in, type_steps, typed_in
from tests.clients.kubectl import Kubectl
from tests.clients.nodes import ServerWithNode

GUIDE, SECTION = "reclaim.md", "Try all three"
THEIRS = "/tmp/reclaim"  # noqa: S108  the guide's


@pytest.fixture
def server(pod_server: ServerWithNode) -> ServerWithNode:
    return pod_server


@pytest.fixture
def directories() -> Iterator[Path]:
    """Below /tmp, as in the guide: elsewhere nothing is deleted."""
    path = Path(tempfile.mkdtemp(prefix="reclaim-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)  # the guide removes it


def test_three_policies(kubectl: Kubectl, directories: Path, tmp_path: Path) -> None:
    """Word for word, but in a directory of its own."""
    typed = kubectl.in_namespace("default")
    (manifest,) = code_in(GUIDE, "yaml", SECTION)
    (tmp_path / "three.yaml").write_text(manifest.replace(THEIRS, str(directories)))
    for step in typed_in(GUIDE, SECTION):
        line = step.line.replace(THEIRS, str(directories))
        shown = () if line.startswith("kubectl get") else step.shown  # ages and widths
        if line.startswith("ls"):
            assert typed.shell(line, tmp_path).out.split() == " ".join(shown).split()
        type_steps([Typed(line, () if line.startswith("ls") else shown)], typed, tmp_path)
    assert "Volume recycled" in typed.event("wiped", "VolumeRecycled")
    assert not directories.exists()
