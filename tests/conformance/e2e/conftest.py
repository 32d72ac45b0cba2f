"""A `mooring up` for Kubernetes' own end-to-end tests, in a world of its own."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.host.command import find_program
from mooring.host.loop_device import detach
from tests.clients.containers import loop_devices
from tests.clients.nodes import ServerWithNode, need_root
from tests.conformance.e2e.images import build, recipes
from tests.conformance.e2e.suite import Selection, Verdict, run_suite
from tests.conformance.obtain import E2E_TEST, Missing, Say
from tests.conformance.peers import Find
from tests.fakes.real_server import RealServer, command

Run = Callable[[Selection], Verdict]


class Apart(ServerWithNode):
    """`mooring up` as process 1 of a world of its own, whose mounts and processes end with it.

    The tests' own helpers enter the mounts of process 1, which a sandbox may forbid for its own.
    """

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
        for device in loop_devices(folder):
            detach(device)


def _import(server: RealServer, name: str, layout: Path) -> None:
    words = ("image", "import", "--data-dir", str(server.data_dir), name, str(layout))
    subprocess.run(command(*words), check=True, capture_output=True)  # noqa: S603  our own program


@pytest.fixture
def run(server: RealServer, find: Find, tmp_path: Path, say: Say) -> Run:
    """Runs the specs that are chosen, and tells how that ended."""

    def judge(chosen: Selection) -> Verdict:
        try:
            program = find(E2E_TEST)
        except Missing as reason:
            pytest.skip(f"no end-to-end tests: {reason}")
        verdict = run_suite(program, server.kubeconfig, tmp_path / "report", chosen)
        say(f"end-to-end tests of storage: {verdict.summary}")
        for because, count in verdict.declined.items():
            say(f"  {count} skipped: {because}")
        for name, why in sorted(verdict.failed.items()):
            say(f"  failed: {name}: {why}")
        return verdict

    return judge
