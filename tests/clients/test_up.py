"""`mooring up` as a whole: what it counts, how its roles end, and what a new start finds."""

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.clients.following import changes, wait_for_phase
from tests.clients.manifests import Doc, a_claim, a_class, a_volume
from tests.fakes.real_server import RealServer

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
PAIRS = 150
PROMPTLY = 20  # seconds


def create(server: RealServer, collection: str, documents: list[Doc]) -> None:
    """One after the other on one connection."""
    connection = server.connect()
    headers = {"Authorization": f"Bearer {server.token()}", "Content-Type": "application/json"}
    for document in documents:
        connection.request("POST", collection, json.dumps(document), headers)
        answer = connection.getresponse()
        assert answer.status == 201, answer.read()
        answer.read()
    connection.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_bindings_that_an_end_cut_off_are_finished_by_the_next_start(
    own_server: RealServer, number: signal.Signals
) -> None:
    create(own_server, VOLUMES, [a_volume(f"v-{i}") for i in range(PAIRS)])
    create(own_server, CLAIMS, [a_claim(f"c-{i}") for i in range(PAIRS)])
    seen = changes(own_server, CLAIMS)
    while next(seen)["status"]["phase"] != "Bound":
        pass
    own_server.send(number)
    assert own_server.wait() == (0 if number is signal.SIGTERM else -signal.SIGKILL)
    seen.close()

    own_server.start()
    wait_for_phase(own_server, CLAIMS, "Bound", PAIRS)
    wait_for_phase(own_server, VOLUMES, "Bound", PAIRS)

    claims = own_server.ask("GET", CLAIMS).doc["items"]
    volumes = own_server.ask("GET", VOLUMES).doc["items"]
    pairs = {(claim["spec"]["volumeName"], claim["metadata"]["uid"]) for claim in claims}
    assert pairs == {
        (volume["metadata"]["name"], volume["spec"]["claimRef"]["uid"]) for volume in volumes
    }
    assert len({name for name, _ in pairs}) == PAIRS
    assert own_server.stop() == 0
    assert own_server.log.read_text() == ""


def test_its_metrics_are_those_of_the_controllers_too(own_server: RealServer) -> None:
    create(own_server, VOLUMES, [a_volume("books")])
    create(own_server, CLAIMS, [a_claim("books"), a_claim("more")])
    wait_for_phase(own_server, CLAIMS, "Bound")

    shown = own_server.ask("GET", "/metrics", token=own_server.token("read-only")).body.decode()

    assert 'pv_collector_bound_pv_count{storage_class=""} 1.0' in shown
    assert 'workqueue_depth{name="claims"}' in shown
    assert 'apiserver_storage_objects{resource="persistentvolumeclaims"} 2.0' in shown
    assert own_server.ask("GET", "/metrics", token="of nobody").code == 401


def test_made_volumes_are_found_by_the_next_start(own_server: RealServer) -> None:
    made_here = a_class("directories") | {"provisioner": "kubernetes.io/host-path"}
    create(own_server, "/apis/storage.k8s.io/v1/storageclasses", [made_here])
    create(own_server, CLAIMS, [a_claim("data", storageClassName="directories")])
    wait_for_phase(own_server, CLAIMS, "Bound")
    (volume,) = own_server.ask("GET", VOLUMES).doc["items"]
    directory = Path(volume["spec"]["hostPath"]["path"])
    assert directory.is_relative_to(own_server.data_dir / "volumes")
    (directory / "file").write_text("kept")

    assert own_server.stop() == 0
    own_server.start()

    wait_for_phase(own_server, VOLUMES, "Bound")
    assert (directory / "file").read_text() == "kept"


DEATHS = {
    "a bug": ("raise ZeroDivisionError('no shares')", "ZeroDivisionError: no shares"),
    "trouble": ("raise ConnectionLost('no server')", "no server"),
}


@pytest.mark.parametrize(("dies", "why"), DEATHS.values(), ids=DEATHS)
def test_a_role_that_dies_ends_the_process_and_says_why(
    tmp_path: Path, dies: str, why: str
) -> None:
    program = f"""
        from mooring.cli import main
        from mooring.errors import ConnectionLost
        from mooring.node.role import NodeRole

        async def run(self):
            {dies}

        NodeRole.run = run
        main()
    """
    root = tmp_path / "node"
    flags = ("up", "--port", "0", "--data-dir", str(tmp_path / "data"), "--root-dir", str(root))
    ran = subprocess.run(  # noqa: S603  our own program
        [sys.executable, "-c", textwrap.dedent(program), *flags],
        capture_output=True,
        text=True,
        timeout=PROMPTLY,
        check=False,
    )

    assert ran.returncode == 1
    assert ran.stdout == "", "it never was ready"
    assert ran.stderr.splitlines()[-1] == f"mooring: the node died: {why}"
    assert ("Traceback" in ran.stderr) is (dies == DEATHS["a bug"][0])
