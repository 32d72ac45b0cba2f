"""`mooring controllers` in a process of its own, with the rights of its role and no others."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.clients.following import wait_for_phase
from tests.clients.manifests import a_claim, a_node, a_volume
from tests.fakes.real_server import RealServer, command
from tests.fakes.waiting import until

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
PROMPTLY = 20  # seconds for kill and wait


@contextmanager
def controllers(
    server: RealServer, kubeconfig: Path, *flags: str
) -> Iterator[subprocess.Popen[str]]:
    data_dir = str(server.kubeconfig.parent)
    made = command(
        "kubeconfig", "--data-dir", data_dir, "--role", "controllers", "-o", str(kubeconfig)
    )
    subprocess.run(made, check=True, timeout=PROMPTLY)  # noqa: S603  our own command
    quietly = ("--kubeconfig", str(kubeconfig), "--log-level", "warning")
    run = command("controllers", *quietly, *flags)
    process = subprocess.Popen(run, stdout=subprocess.PIPE, text=True)  # noqa: S603  our own command
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PROMPTLY)


def test_a_claim_is_bound_and_its_volume_released(
    own_api_server: RealServer, tmp_path: Path
) -> None:
    with controllers(own_api_server, tmp_path / "controllers.kubeconfig") as process:
        assert _line(process) == "mooring controllers are running"
        assert (
            own_api_server.ask("POST", "/api/v1/persistentvolumes", a_volume("books")).code == 201
        )
        claim = a_claim("books", storageClassName="")
        assert own_api_server.ask("POST", CLAIMS, claim).code == 201
        wait_for_phase(own_api_server, CLAIMS, "Bound")
        assert own_api_server.ask("DELETE", f"{CLAIMS}/books").code == 200
        wait_for_phase(own_api_server, "/api/v1/persistentvolumes", "Released")
    assert process.returncode == 0


def test_metrics_and_health_at_an_address_of_their_own(
    own_api_server: RealServer, tmp_path: Path
) -> None:
    flags = ("--metrics-address", "127.0.0.1:0")
    with controllers(own_api_server, tmp_path / "controllers.kubeconfig", *flags) as process:
        told = _line(process)
        assert _line(process) == "mooring controllers are running"
        url = told.removeprefix("metrics are at ").removesuffix("/metrics")
        assert url.startswith("http://127.0.0.1:")
        with urlopen(f"{url}/healthz", timeout=PROMPTLY) as answer:  # noqa: S310  http, as checked
            assert answer.read() == b"ok"
        with urlopen(f"{url}/metrics", timeout=PROMPTLY) as answer:  # noqa: S310
            shown = answer.read().decode()
    assert 'workqueue_adds_total{name="pvcprotection"}' in shown
    assert "process_resident_memory_bytes" in shown


async def test_lost_nodes_are_seen_to_only_by_those_who_are_told_to(
    own_api_server: RealServer, tmp_path: Path
) -> None:
    """On a real cluster kube-controller-manager does it already."""
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    node = {**a_node("n1"), "status": ready}
    assert own_api_server.ask("POST", "/api/v1/nodes", node).code == 201

    def says() -> str:
        status = own_api_server.ask("GET", "/api/v1/nodes/n1").doc["status"]
        return str(status["conditions"][0]["status"])

    grace = ("--node-monitor-grace-period", "1", "--no-leader-elect")
    with controllers(own_api_server, tmp_path / "some.kubeconfig", *grace) as process:
        assert _line(process) == "mooring controllers are running"
        with pytest.raises(TimeoutError):
            await until(lambda: says() != "True", 3)
    chosen = (*grace, "--controllers", "*,node-lifecycle")
    with controllers(own_api_server, tmp_path / "all.kubeconfig", *chosen) as process:
        assert _line(process) == "mooring controllers are running"
        await until(lambda: says() == "Unknown")


def test_a_controller_that_does_not_exist_is_refused_in_one_line() -> None:
    run = command("controllers", "--controllers", "*,-podgc")
    ran = subprocess.run(run, capture_output=True, text=True, timeout=PROMPTLY, check=False)  # noqa: S603
    assert ran.returncode == 1
    (line,) = ran.stderr.splitlines()
    assert line.startswith("mooring: --controllers: there is no controller 'podgc'; there are ")


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")
