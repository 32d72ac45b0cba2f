"""Tests that treat their clusters badly: it just works, or it says why not, and nothing is left."""

import asyncio
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop

from mooring.testing import AsyncCluster, Cluster, ClusterError
from tests.clients.nodes import need_root

pytestmark = pytest.mark.timeout(240)
PATIENCE = 60.0
SECONDS = 120.0  # for a program of its own

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(controllers=False) as running:
        yield running


class Program:
    """A Python program in a temporary directory of its own; `left` is what it leaves there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.environment = os.environ | {"TMPDIR": str(folder)}

    def start(self, code: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def run(self, code: str) -> str:
        """What it printed."""
        process = self.start(code)
        told, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, errors
        return told

    @property
    def left(self) -> list[str]:
        return sorted(path.name for path in self._folder.glob("mooring-*"))


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def test_a_program_that_never_stops_its_clusters_leaves_nothing(program: Program) -> None:
    told = program.run(
        "from mooring.testing import Cluster\n"
        "kept = Cluster(controllers=False).start()\n"
        "child = Cluster(controllers=False, process='child').start()\n"
        "print(child._running.control._process.pid)\n"
    )
    assert program.left == []
    assert not Path(f"/proc/{told.strip()}").exists()


def test_a_cluster_that_nobody_holds_goes(cluster: Cluster) -> None:
    lost = Cluster(controllers=False).start()
    home = lost.kubeconfig.parent.parent
    with pytest.warns(ResourceWarning, match="never stopped"):
        del lost
    assert not home.exists()


def test_a_child_ends_when_its_parent_is_killed_and_the_next_cluster_tidies_up(
    program: Program,
) -> None:
    process = program.start(
        "from mooring.testing import Cluster\n"
        "here = Cluster(controllers=False).start()\n"
        "child = Cluster(controllers=False, process='child').start()\n"
        "print(child._running.control._process.pid, flush=True)\n"
        "input()\n"
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    handle = os.pidfd_open(child)
    process.kill()
    process.communicate()
    _wait_for_end(handle)
    assert len(program.left) <= 1  # that of the thread, which died with its process
    program.run("from mooring.testing import Cluster\nwith Cluster(controllers=False): pass")
    assert program.left == []


def _wait_for_end(handle: int) -> None:
    readable, _, _ = select.select([handle], [], [], PATIENCE)
    os.close(handle)
    assert readable, "the child goes on without its parent"


def test_ctrl_c_ends_the_test_and_its_cluster(program: Program) -> None:
    process = program.start(
        "from mooring.testing import Cluster\n"
        "with Cluster(controllers=False) as a, Cluster(controllers=False, process='child') as b:\n"
        "    print('ready', flush=True)\n"
        "    a.wait('configmap/never', 'exists', timeout=600)\n"
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=SECONDS)
    assert "KeyboardInterrupt" in errors
    assert program.left == []


def test_ctrl_c_while_it_starts_leaves_nothing(program: Program) -> None:
    program.run(
        "import _thread, threading\n"
        "from mooring.testing import Cluster\n"
        "import mooring.testing.world as world\n"
        "serving = world.serving\n"
        "def interrupting(*args):\n"
        "    _thread.interrupt_main()\n"
        "    return serving(*args)\n"
        "world.serving = interrupting\n"
        "try:\n"
        "    Cluster(controllers=False).start()\n"
        "except KeyboardInterrupt:\n"
        "    for thread in threading.enumerate():\n"
        "        if thread.name == 'mooring-cluster':\n"
        "            thread.join(60)\n"
        "            assert not thread.is_alive()\n"
        "else:\n"
        "    raise SystemExit('it was not interrupted')\n"
    )
    assert program.left == []


def test_a_fork_uses_the_api_and_leaves_the_cluster_to_its_parent(program: Program) -> None:
    told = program.run(
        "import json, os, sys\n"
        "from mooring.testing import Cluster, ClusterError\n"
        "MAP = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'a'}}\n"
        "with Cluster() as c:\n"
        "    c.get('namespace/default')\n"
        "    if (fork := os.fork()) == 0:\n"
        "        c.apply(MAP)\n"
        "        try:\n"
        "            c.add_node('n1')\n"
        "        except ClusterError as error:\n"
        "            print(error, flush=True)\n"
        "        with Cluster(controllers=False) as own:\n"
        "            own.apply(MAP)\n"
        "        sys.exit(0)\n"  # with all that runs at the end of an interpreter
        "    assert os.waitpid(fork, 0)[1] == 0\n"
        "    c.get('configmap/a')\n"
        "    c.add_node('n1')\n"
    )
    assert "of which this is a fork: here only its API can be used" in told
    assert program.left == []


def test_neither_a_broken_kubeconfig_nor_a_home_matters(program: Program) -> None:
    program.environment |= {
        "KUBECONFIG": "/proc/self/mem:/nowhere",
        "HOME": "/proc",  # nothing can be written there, not even by root
        "XDG_DATA_HOME": "/proc",
        "XDG_CACHE_HOME": "/proc",
    }
    told = program.run(
        "from mooring.testing import Cluster\n"
        "for process in ('thread', 'child'):\n"
        "    with Cluster(controllers=False, process=process) as c:\n"
        "        print(c.get('namespace/default')['status']['phase'])\n"
    )
    assert told.split() == ["Active", "Active"]


def test_a_child_has_the_package_of_its_parent(program: Program, tmp_path: Path) -> None:
    other = tmp_path / "mooring"
    other.mkdir()
    (other / "__init__.py").write_text("raise SystemExit('another version')")
    program.environment |= {"PYTHONPATH": ""}
    program.run(
        "import os\n"
        "from mooring.testing import Cluster\n"
        f"os.environ['PYTHONPATH'] = {str(tmp_path)!r}\n"
        "with Cluster(controllers=False, process='child') as c:\n"
        "    c.get('namespace/default')\n"
    )


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_any_loop_of_the_caller_even_a_blocked_one(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def use() -> None:
        async with AsyncCluster(controllers=False) as c:
            await c.apply(MAP)
            c.sync.wait("configmap/a", "exists", timeout=PATIENCE)  # blocks this loop

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(use())


async def test_a_cancelled_start_stops_what_it_started() -> None:
    cluster = AsyncCluster(controllers=False)
    starting = asyncio.create_task(cluster.__aenter__())
    await asyncio.wait([starting], timeout=0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    with pytest.raises(ClusterError, match="does not run"):
        _ = cluster.url


def test_threads_use_one_cluster_and_start_their_own(cluster: Cluster) -> None:
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(10):
                name = {"name": f"t{number}-{step}"}
                cluster.apply({**MAP, "metadata": name})
            if number == 0:
                with Cluster(controllers=False) as own:
                    own.apply(MAP)
        except BaseException as error:  # noqa: BLE001  told below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(cluster.list("configmaps", "default")) >= 40


def test_a_child_that_died_is_told() -> None:
    c = Cluster(controllers=False, process="child").start()
    control: Any = c._running.control if c._running else None
    control._process.kill()
    control._process.wait()
    with pytest.raises(ClusterError, match="the cluster's process has ended"):
        c.get("namespace/default")
    c.stop()


def test_too_many_clusters_are_refused_with_the_remedy_and_leave_nothing(program: Program) -> None:
    told = program.run(
        "import contextlib, resource\n"
        "from mooring.testing import Cluster, ClusterError\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "with contextlib.ExitStack() as clusters:\n"
        "    try:\n"
        "        for _ in range(64):\n"
        "            clusters.enter_context(Cluster(controllers=False))\n"
        "    except ClusterError as error:\n"
        "        print(error)\n"
    )
    assert "too many files are open: stop clusters that are not used any more" in told
    assert program.left == []


def test_controllers_that_load_for_longer_than_a_stop_waits_make_nothing(program: Program) -> None:
    program.run(
        "import threading\n"
        "from mooring.testing import Cluster, control, world\n"
        "control.STOP_SECONDS = 0.1\n"
        "stopped = threading.Event()\n"
        "world._load_roles = stopped.wait\n"
        "Cluster().start().stop()\n"
        "stopped.set()\n"
        "for thread in threading.enumerate():\n"
        "    if thread.name == 'mooring-cluster':\n"
        "        thread.join(60)\n"
    )
    assert program.left == []


@pytest.mark.parametrize("process", ["thread", "child"])
def test_a_full_disk_is_told_with_the_remedy(
    program: Program, tmp_path: Path, process: str
) -> None:
    need_root()
    mount = ("mount", "-t", "tmpfs", "-o", "size=8k", "full", str(tmp_path))
    subprocess.run(mount, check=True)  # noqa: S603  as root
    try:
        told = program.run(
            "from mooring.testing import Cluster, ClusterError\n"
            "try:\n"
            f"    Cluster(process={process!r}).start()\n"
            "except ClusterError as error:\n"
            "    print(error)\n"
        )
        assert f"there is no room in {tmp_path}: set TMPDIR" in told
        assert program.left == []
    finally:
        subprocess.run(("umount", str(tmp_path)), check=True)  # noqa: S603, S607  as root


@pytest.mark.parametrize("process", ["thread", "child"])
def test_ctrl_c_at_any_moment_leaves_nothing(program: Program, process: str) -> None:
    """Whichever part of its start, work or end a signal meets."""
    for moment in (0.1, 0.2, 0.35, 0.5, 0.8):
        running = program.start(
            "from mooring.testing import Cluster\n"
            "while True:\n"
            f"    with Cluster(process={process!r}) as c, c.namespace() as ns:\n"
            f"        ns.apply({MAP!r})\n"
        )
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(moment)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=SECONDS)
        assert "KeyboardInterrupt" in errors, moment
        assert program.left == [], moment


def test_another_process_is_given_the_kubeconfig_not_the_cluster(cluster: Cluster) -> None:
    with pytest.raises(ClusterError, match="give another one its kubeconfig"):
        pickle.dumps(cluster)


def test_a_daemon_thread_that_holds_a_cluster_at_the_end_leaves_nothing(program: Program) -> None:
    program.run(
        "import threading\n"
        "from mooring.testing import Cluster\n"
        "runs = threading.Event()\n"
        "def hold():\n"
        "    with Cluster(controllers=False), Cluster(controllers=False, process='child'):\n"
        "        runs.set()\n"
        "        threading.Event().wait()\n"
        "threading.Thread(target=hold, daemon=True).start()\n"
        "runs.wait()\n"
    )
    assert program.left == []


def test_a_process_without_a_home_and_an_exception_in_the_block(program: Program) -> None:
    program.environment.pop("HOME", None)
    told = program.run(
        "from mooring.testing import Cluster\n"
        "for process in ('thread', 'child'):\n"
        "    try:\n"
        "        with Cluster(controllers=False, process=process) as c:\n"
        "            kept = c.kubeconfig\n"
        "            raise ZeroDivisionError\n"
        "    except ZeroDivisionError:\n"
        "        print(kept.exists())\n"
    )
    assert told.split() == ["False", "False"]
    assert program.left == []
