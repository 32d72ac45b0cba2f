"""The specs that Kubernetes itself marks [sig-storage] [Conformance], and the wider set.

`MOORING_E2E=wide` also runs the specs of storage that need no driver; they take an hour.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.host.command import find_program
from tests.clients.nodes import need_root
from tests.conformance.e2e.images import build, recipes
from tests.conformance.e2e.suite import Selection, Verdict, run_suite
from tests.conformance.obtain import E2E_TEST, Missing, Say
from tests.conformance.peers import Find
from tests.fakes.real_server import RealServer, command

CONFORMANCE = Selection(r"\[sig-storage\].*\[Conformance\]")
SPECS = 91  # of release 1.35
_ELSEWHERE = (  # what needs a driver, a server, a cloud, stateful sets, or a busybox with `nc -U`
    r"CSI|NFS|nfs|\[Disruptive\]|\[Flaky\]|\[Feature:|StatefulSet|Flexvolume|hostPathSymlink"
    r"|AWS|Type Socket|Driver: (ceph|rbd|iscsi|gce|azure|aws|cinder|vsphere|pd|windows)|Conformance"
)
WIDE = {
    "without a driver, and on host paths and emptyDirs": Selection(
        r"\[sig-storage\]", rf"{_ELSEWHERE}|\[Slow\]|Driver: local|gce-localssd"
    ),
    "host path types, and local directories, devices and tmpfs": Selection(
        r"\[sig-storage\].*(HostPathType|LocalVolumeType: (dir|block|tmpfs)\])", _ELSEWHERE
    ),
}


class Apart(RealServer):
    """`mooring up` as process 1 of a world of its own, whose mounts and processes end with it.

    The tests' own helpers enter the mounts of process 1, which a sandbox may forbid for its own.
    """

    own_flags = ("--node-name", "here")
    prefix = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, find: Find) -> Iterator[RealServer]:
    """A `mooring up` that has the images."""
    need_root()
    for program in ("runc", "conmon", "unshare"):
        if find_program(program) is None:
            pytest.skip(f"no end-to-end tests without {program}: apt-get install runc conmon")
    folder = tmp_path_factory.mktemp("e2e")
    try:
        chosen = recipes(find)
    except Missing as reason:
        pytest.skip(f"no end-to-end tests: {reason}")
    running = Apart(folder / "data")
    try:
        running.start()
        for number, recipe in enumerate(chosen):
            layout = build(recipe, folder / f"image-{number}")
            for name in recipe.names:
                _import(running, name, layout)
        yield running
    finally:
        running.kill()


def _import(server: RealServer, name: str, layout: Path) -> None:
    words = ("image", "import", "--data-dir", str(server.data_dir), name, str(layout))
    subprocess.run(command(*words), check=True, capture_output=True)  # noqa: S603  our own program


def _run(server: RealServer, find: Find, folder: Path, chosen: Selection, say: Say) -> Verdict:
    try:
        program = find(E2E_TEST)
    except Missing as reason:
        pytest.skip(f"no end-to-end tests: {reason}")
    verdict = run_suite(program, server.kubeconfig, folder, chosen)
    say(f"end-to-end tests of storage: {verdict.summary}")
    for name, reason_ in sorted(verdict.failed.items()):
        say(f"  failed: {name}: {reason_}")
    return verdict


def test_kubernetes_own_conformance_tests_of_storage_pass(
    server: RealServer, find: Find, tmp_path: Path, say: Say
) -> None:
    verdict = _run(server, find, tmp_path / "report", CONFORMANCE, say)
    assert verdict.failed == {}
    assert len(verdict.passed) == SPECS


@pytest.mark.skipif(
    os.environ.get("MOORING_E2E") != "wide", reason="takes an hour: MOORING_E2E=wide runs it"
)
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("chosen", WIDE.values(), ids=WIDE)
def test_the_wider_set_of_storage_tests_passes(
    server: RealServer, find: Find, tmp_path: Path, say: Say, chosen: Selection
) -> None:
    verdict = _run(server, find, tmp_path / "report", chosen, say)
    assert verdict.failed == {}
    assert verdict.passed
