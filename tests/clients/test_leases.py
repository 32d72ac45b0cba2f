"""Each role is run by one process: `mooring up`, or who runs it apart, whoever was first."""

import asyncio
from pathlib import Path
from typing import Any

from tests.clients.following import wait_for_phase
from tests.clients.manifests import a_claim, a_volume
from tests.fakes.real_server import ApiServer, RealServer, command
from tests.fakes.waiting import until

Doc = dict[str, Any]

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
ROLES = ("controllers", "scheduler")


def holder(server: RealServer, role: str) -> str:
    answer = server.ask("GET", f"{LEASES}/mooring-{role}")
    return str(answer.doc["spec"].get("holderIdentity", "")) if answer.code == 200 else ""


def bind(server: RealServer, name: str) -> None:
    assert server.ask("POST", VOLUMES, a_volume(name)).code == 201
    assert server.ask("POST", CLAIMS, a_claim(name, storageClassName="")).code == 201
    wait_for_phase(server, CLAIMS, "Bound")


async def test_up_holds_the_leases_of_its_roles_and_others_wait(
    own_server: RealServer, tmp_path: Path
) -> None:
    await until(lambda: all(holder(own_server, role) for role in ROLES))
    identity = holder(own_server, "controllers")
    assert identity.startswith("mooring-up_")
    kubeconfig = ("--kubeconfig", str(own_server.kubeconfig))
    run = command("controllers", *kubeconfig)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*run, stdout=pipe, stderr=pipe)
    assert process.stderr is not None
    told = b""
    while b"waiting for its lease" not in told:
        told = await process.stderr.readline()
        assert told, "it ended"
    assert identity.encode() in told
    bind(own_server, "books")
    process.terminate()
    said, _ = await process.communicate()
    assert said == b""  # not that it is running
    assert holder(own_server, "controllers") == identity


async def test_up_waits_for_who_runs_a_role_already_and_says_so(tmp_path: Path) -> None:
    server: RealServer = ApiServer(tmp_path / "data").start()
    lease: Doc = {
        "metadata": {"name": "mooring-controllers"},
        "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 3600},
    }
    assert server.ask("POST", LEASES, lease).code == 201
    server.stop()
    server = RealServer(tmp_path / "data").start()
    try:
        await until(lambda: "another process runs this role" in server.log.read_text())
        assert "holder=somebody" in server.log.read_text()
        await until(lambda: holder(server, "scheduler").startswith("mooring-up_"))
        assert holder(server, "controllers") == "somebody"
        assert server.ask("DELETE", f"{LEASES}/mooring-controllers").code == 200
        await until(lambda: holder(server, "controllers").startswith("mooring-up_"))
        bind(server, "books")
        assert server.stop() == 0
    finally:
        server.kill()


async def test_up_takes_over_at_once_what_it_held_when_it_was_killed(
    own_server: RealServer,
) -> None:
    await until(lambda: all(holder(own_server, role) for role in ROLES))
    before = {role: holder(own_server, role) for role in ROLES}
    own_server.kill()
    own_server.start()
    bind(own_server, "books")  # long before a lease runs out
    assert {role: holder(own_server, role) for role in ROLES} == before
    assert own_server.stop() == 0
