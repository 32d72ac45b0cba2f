"""A `mooring up` for Kubernetes' own end-to-end tests, in a world of its own."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.host.command import find_program
from mooring.host.loop_device import detach
from tests.clients.containers import loop_devices
from tests.clients.csi import short_directory
from tests.clients.nodes import NODE, ServerWithNode, need_root
from tests.conformance.csi.clusters import kubectl_of
from tests.conformance.csi.drivers import HOST_PATH, Running
from tests.conformance.csi.drivers import host_path as driver_process
from tests.conformance.e2e.images import build, recipes
from tests.conformance.e2e.suite import Selection, Verdict, run_suite
from tests.conformance.obtain import E2E_TEST, Missing, Say
from tests.conformance.peers import Find
from tests.fakes.real_server import RealServer, command

EXTERNAL = Path(__file__).parent / "external"
LARGEST = 8 * 2**30  # bytes of a volume of csi-driver-host-path: the suite lets claims grow by 1Gi
KNOWN = "jsonpath={.spec.drivers[?(@.name=='hostpath.csi.k8s.io')].name}=hostpath.csi.k8s.io"

Run = Callable[[Selection], Verdict]


class Apart(ServerWithNode):
    """`mooring up` as process 1 of a world of its own, whose mounts and processes end with it.

    The tests' own helpers enter the mounts of process 1, which a sandbox may forbid for its own.
    """

    prefix = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    """Of the `mooring up`; a module of tests may have its own."""
    return ("--no-pull-images",)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, find: Find, flags: tuple[str, ...]
) -> Iterator[Apart]:
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
    running = Apart(folder / "data", *flags)
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


@pytest.fixture
def host_path(server: Apart, find: Find, tmp_path: Path) -> Iterator[Running]:
    """csi-driver-host-path with upstream's registrar, known to the `mooring up`, and its classes.

    It mounts for the node, so it runs in the node's world.
    """
    kubectl = kubectl_of(server.kubeconfig, tmp_path)
    here = f"/proc/{server.pid}/ns"
    enter = ("nsenter", f"--mount={here}/mnt", f"--pid={here}/pid_for_children", "--")
    registrations = server.node_root / "plugins_registry"
    try:
        with (
            short_directory() as place,
            driver_process(find, place, NODE, LARGEST, enter) as driver,
            HOST_PATH.offer(find, driver, registrations),
        ):
            kubectl("apply", "-f", str(EXTERNAL / "host_path_cluster.yaml"))
            kubectl("wait", f"csinode/{NODE}", f"--for={KNOWN}", "--timeout=60s")
            yield driver
    except Missing as reason:
        pytest.skip(str(reason))


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
        verdict = run_suite(program, server.kubeconfig, tmp_path / "report", chosen, say)
        say(f"end-to-end tests: {verdict.summary}")
        for because, count in verdict.declined.items():
            say(f"  {count} skipped: {because}")
        for name, why in sorted(verdict.failed.items()):
            say(f"  failed: {name}: {why}")
        return verdict

    return judge
