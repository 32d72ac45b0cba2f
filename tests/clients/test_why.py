"""`mooring why` names the cause of each situation, and a command that heals it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mooring.why.answer import Answer, Verdict
from mooring.why.ask import Question, ask
from tests.clients.find_kubectl import Age, Missing, find_kubectl
from tests.clients.kubectl import Kubectl
from tests.clients.why.heal import heal
from tests.clients.why.situations import claim, volume
from tests.clients.why.stage import Stage
from tests.clients.why.table import SITUATIONS
from tests.fakes.real_server import RealServer, command

PATIENCE = 60  # seconds
VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A `mooring up` without a node, for all of this; `lost` waits for ever, `well` is bound."""
    server = RealServer(tmp_path_factory.mktemp("why") / "data").start()
    reserved = {"namespace": "default", "name": "well"}
    for path, doc in (
        (VOLUMES, volume("disk", claimRef=reserved)),
        (CLAIMS, claim("well")),
        (CLAIMS, claim("lost", storageClassName="fst")),
    ):
        made = server.ask("POST", path, doc)
        assert made.code == 201, made.body
    yield server
    server.kill()


def answered(
    server: RealServer, subject: str = "", *, is_json: bool = False, all_stuck: bool = False
) -> tuple[int, str]:
    said: list[str] = []
    question = Question(subject, kubeconfig=server.kubeconfig, is_json=is_json, all_stuck=all_stuck)
    code = ask(question, said.append)
    return code, "\n".join(said)


def test_the_exit_code_says_fine_or_broken(whole: RealServer) -> None:
    wait_until_bound(whole)
    assert answered(whole, "pvc/well")[0] == 0
    code, said = answered(whole, "pvc/lost")
    assert (code, "there is no such StorageClass" in said) == (2, True), said
    code, said = answered(whole, "pvc/nowhere")
    assert (code, "there is no PersistentVolumeClaim default/nowhere" in said) == (2, True), said


def test_json_is_the_answer(whole: RealServer) -> None:
    code, said = answered(whole, "pvc/lost", is_json=True)
    answer = msgspec.json.decode(said, type=Answer)
    assert (code, answer.verdict) == (2, Verdict.BROKEN), said
    assert msgspec.json.decode(said)["schema"] == "mooring.why/v1"


def test_all_that_waits_is_listed(whole: RealServer) -> None:
    code, said = answered(whole, all_stuck=True)
    assert code == 2, said
    assert "PersistentVolumeClaim default/lost: BROKEN" in said
    assert "default/well" not in said


def test_kubectl_finds_it_as_a_plugin(whole: RealServer, tmp_path: Path) -> None:
    try:
        kubectl = find_kubectl(Age.USUAL)
    except Missing as reason:
        pytest.skip(f"no kubectl: {reason}")
    plugin = tmp_path / "kubectl-why"
    plugin.write_text(
        f"#!{sys.executable}\nfrom mooring.why.command import kubectl_why\n\nkubectl_why()\n"
    )
    plugin.chmod(0o755)
    ran = subprocess.run(  # noqa: S603  the binary under test
        [kubectl.path, "why", "pvc/lost"],
        env={
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "KUBECONFIG": str(whole.kubeconfig),
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "there is no such StorageClass" in ran.stdout, ran.stdout + ran.stderr
    assert ran.returncode == 2, ran.stdout + ran.stderr


def test_watching_ends_when_all_is_well(whole: RealServer) -> None:
    made = whole.ask("POST", CLAIMS, claim("late", storageClassName="by-hand"))
    assert made.code == 201, made.body
    with subprocess.Popen(  # noqa: S603  our own program
        command("why", "pvc/late", "--watch", "--kubeconfig", str(whole.kubeconfig)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        first = watching.stdout.readline()
        disk = whole.ask("POST", VOLUMES, volume("d2", storageClassName="by-hand"))
        assert disk.code == 201, disk.body
        rest = watching.stdout.read()
        errors = watching.stderr.read()
        code = watching.wait(PATIENCE)
    assert errors == ""
    assert first.startswith("PersistentVolumeClaim default/late: BROKEN"), first
    assert (code, "PersistentVolumeClaim default/late: FINE" in rest) == (0, True), rest


def wait_until_bound(server: RealServer) -> None:
    """By a watch that ends with the claim."""
    connection = server.connect()
    connection.request(
        "GET",
        f"{CLAIMS}?watch=true&timeoutSeconds=30&fieldSelector=metadata.name=well",
        headers={"Authorization": f"Bearer {server.token()}"},
    )
    answer = connection.getresponse()
    line = answer.readline()
    while line and b'"phase":"Bound"' not in line:
        line = answer.readline()
    connection.close()
    assert line, "the claim was not bound"


@pytest.fixture
def stage(whole: RealServer, kubectl_home: Path, unique: str) -> Iterator[Stage]:
    try:
        binary = find_kubectl(Age.USUAL)
    except Missing as reason:
        pytest.skip(f"no kubectl: {reason}")
    home = kubectl_home / "why"
    home.mkdir(exist_ok=True)
    kubectl = Kubectl(binary.path, binary.version, whole.kubeconfig, home, unique)
    made = whole.ask("POST", "/api/v1/namespaces", {"metadata": {"name": unique}})
    assert made.code == 201, made.body
    stage = Stage(whole.kubeconfig, kubectl, unique)
    yield stage
    stage.close()


QUICK = [name for name, situation in SITUATIONS.items() if situation.is_quick]
"""All of them are healed in `tests/conformance/test_why.py`."""


@pytest.mark.parametrize("name", QUICK)
def test_the_cause_is_named_and_the_command_heals(name: str, stage: Stage, tmp_path: Path) -> None:
    heal(stage, SITUATIONS[name], tmp_path)
