"""`mooring controllers` in a process of its own, with the rights of its role and no others."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.clients.manifests import a_claim, a_volume
from tests.fakes.real_server import RealServer, command

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
PROMPTLY = 20  # seconds for kill and wait


@contextmanager
def controllers(server: RealServer, kubeconfig: Path) -> Iterator[subprocess.Popen[str]]:
    data_dir = str(server.kubeconfig.parent)
    made = command(
        "kubeconfig", "--data-dir", data_dir, "--role", "controllers", "-o", str(kubeconfig)
    )
    subprocess.run(made, check=True, timeout=PROMPTLY)  # noqa: S603  our own command
    run = command("controllers", "--kubeconfig", str(kubeconfig), "--log-level", "warning")
    process = subprocess.Popen(run, stdout=subprocess.PIPE, text=True)  # noqa: S603  our own command
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "mooring controllers are running\n"
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=PROMPTLY)


def test_a_claim_is_bound_and_its_volume_released(own_server: RealServer, tmp_path: Path) -> None:
    with controllers(own_server, tmp_path / "controllers.kubeconfig") as process:
        assert own_server.ask("POST", "/api/v1/persistentvolumes", a_volume("books")).code == 201
        claim = a_claim("books", storageClassName="")
        assert own_server.ask("POST", CLAIMS, claim).code == 201
        _wait_for_phase(own_server, CLAIMS, "Bound")
        assert own_server.ask("DELETE", f"{CLAIMS}/books").code == 200
        _wait_for_phase(own_server, "/api/v1/persistentvolumes", "Released")
    assert process.returncode == 0


def _wait_for_phase(server: RealServer, collection: str, phase: str) -> None:
    """Follow the one object there until it has the phase; the test's time limit bounds it."""
    connection = server.connect()
    headers = {"Authorization": f"Bearer {server.token()}"}
    connection.request("GET", f"{collection}?watch=true&timeoutSeconds=30", headers=headers)
    answer = connection.getresponse()
    for line in answer:
        if json.loads(line)["object"].get("status", {}).get("phase") == phase:
            connection.close()
            return
    raise AssertionError(f"nothing in {collection} became {phase}")
