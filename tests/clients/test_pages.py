"""Sessions of `docs` that need no machine of their own, typed on a test cluster with fake nodes.

Those that mount or run something are in test_guides.py, test_readme.py and test_reclaim.py;
tests/clients/sessions.py says of each section who types it.
"""

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from mooring.testing import Cluster
from tests.clients.find_kubectl import Age, Missing, find_kubectl
from tests.clients.guides import ROOT, Typed, code_in, type_steps, typed_in
from tests.clients.kubectl import Kubectl
from tests.fakes.real_server import RealServer, command

pytest_plugins = ("pytester",)
pytestmark = pytest.mark.timeout(300)
PATIENCE = 60.0
UNMEASURED = "no volume of a running pod has been measured\n"
PORT = "9443"  # of the webhooks in examples

CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "kubernetes.io/no-provisioner",
}
VOLUME = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "small"},
    "spec": {
        "storageClassName": "fast",
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/tmp/small"},  # noqa: S108  nothing is made there
    },
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {
        "storageClassName": "fst",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
DATABASE = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: db, volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
"""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running


@pytest.fixture
def reader(cluster: Cluster, tmp_path: Path) -> Kubectl:
    """Somebody at a terminal, whose kubeconfig is the admin's."""
    return admin(cluster.kubeconfig, tmp_path)


def admin(kubeconfig: Path, home: Path) -> Kubectl:
    try:
        binary = find_kubectl(Age.USUAL)
    except Missing as reason:
        pytest.skip(f"no kubectl: {reason}")
    return Kubectl(binary.path, binary.version, kubeconfig, home, "default")


def test_why_explains_the_misspelt_class_word_for_word(cluster: Cluster, reader: Kubectl) -> None:
    (step,) = typed_in("why.md")
    cluster.apply([CLASS, VOLUME])
    with cluster.namespace("shop") as shop:
        shop.apply(CLAIM)
        shop.wait_event("data", "ProvisioningFailed", timeout=PATIENCE)
        ran = reader.shell(step.line, ROOT)
    assert ran.code == 2, ran
    *shown, rest = step.shown
    assert rest.strip() == "..."
    said = _without_scripts(line for line in ran.out.splitlines() if line)
    assert said[: len(shown)] == _without_scripts(shown)


def _without_scripts(lines: Iterable[str]) -> list[str]:
    """What `sed` is told is left out of the page."""
    return [re.sub(r"sed .* \|", "sed ... |", line) for line in lines]


def test_the_dashboard_says_where_it_is(cluster: Cluster) -> None:
    (step,) = typed_in("dashboard.md")
    words = step.line.partition("#")[0].replace("~/.kube/config", str(cluster.kubeconfig)).split()
    with subprocess.Popen(  # noqa: S603  our own program
        [sys.executable, "-m", *words], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        said = [running.stdout.readline().rstrip() for _ in step.shown]
        running.terminate()
    shown = [line.replace("https://10.0.0.1:6443", cluster.url) for line in step.shown]
    assert [_without_chance(line) for line in said] == [_without_chance(line) for line in shown]


def _without_chance(line: str) -> str:
    return re.sub(r":\d+/ui/#token=.*", ":PORT/ui/#token=...", line)


def test_a_machine_that_died_is_seen_and_given_up(cluster: Cluster, reader: Kubectl) -> None:
    look, *rest = typed_in("everyday.md")
    died, _ = (cluster.add_node(name) for name in ("worker-1", "worker-2"))
    died.silence()
    cluster.clock.advance(60)
    cluster.wait("node/worker-1", "condition=Ready=Unknown", timeout=PATIENCE)

    columns = slice(0, 3)  # NAME, STATUS, ROLES
    said = [line.split()[columns] for line in reader.shell(look.line, ROOT).out.splitlines()]
    assert said == [line.split()[columns] for line in look.shown]
    type_steps(rest, reader)


def test_the_rollouts_of_a_deployment(cluster: Cluster, reader: Kubectl) -> None:
    cluster.add_node("n1")
    steps = list(typed_in("workloads.md", "Deployment"))
    type_steps(steps, reader)
    rolled = cluster.get("deployment/web")["spec"]
    assert (rolled["template"]["spec"]["containers"][0]["image"], rolled["paused"]) == (
        "nginx:1.27",
        True,
    )


def test_the_claims_of_a_stateful_set_grow(cluster: Cluster, reader: Kubectl) -> None:
    cluster.add_node("n1")
    cluster.add_csi_driver(default=True)
    cluster.apply(DATABASE)
    cluster.wait("statefulset/db", "status.readyReplicas=1", timeout=PATIENCE)
    annotate, edit, wait = typed_in("workloads.md", "Growing the claims")
    editor = "export KUBE_EDITOR='sed -i s/10Gi/20Gi/'"
    type_steps([annotate, Typed(f"{editor}\n{edit.line}", ())], reader)
    type_steps([wait], reader)
    assert cluster.get("pvc/data-db-0")["spec"]["resources"]["requests"]["storage"] == "20Gi"


def test_a_job_of_a_cron_job(cluster: Cluster, reader: Kubectl) -> None:
    *steps, logs = typed_in("workloads.md", "CronJob")
    assert logs.line == "kubectl logs job/now"  # fake nodes have none
    cluster.add_node("n1")
    type_steps(steps, reader)
    cluster.wait("job/now", "condition=Complete", timeout=PATIENCE)


def test_a_kind_in_five_minutes(cluster: Cluster, reader: Kubectl, tmp_path: Path) -> None:
    define, use, remove = code_in("custom-resources.md", "sh", "A kind in five minutes")
    assert reader.shell(f"set -e\n{define}", tmp_path).code == 0
    used = reader.shell(f"set -e\n{use}", tmp_path)
    assert used.code != 0
    assert "spec: Invalid value: a widget needs room for its replicas" in used.err, used
    assert "widget.example.com/one scaled" in used.out
    assert "How large it is." in used.out
    assert cluster.get("widgets/one")["spec"] == {"size": 3, "color": "red", "replicas": 2}
    assert reader.shell(remove, tmp_path).code == 0


def test_versions_that_a_webhook_converts(reader: Kubectl, tmp_path: Path) -> None:
    """On a port of its own."""
    (block,) = code_in("custom-resources.md", "sh", "Versions that a webhook converts")

    ran = reader.shell(_with_webhook("conversion", block, tmp_path), tmp_path)

    assert ran.code == 0, ran
    rows = [line.split() for line in ran.out.splitlines()]
    tables = (["NAME", "SIZE"], ["tea", "3x4"], ["NAME", "WIDTH", "HEIGHT"], ["tea", "3", "4"])
    assert [row for row in rows if row in tables] == list(tables), ran.out


def test_a_webhook_for_claims(reader: Kubectl, tmp_path: Path) -> None:
    make, refuse, remove = code_in("webhooks.md", "sh", "One for claims")
    allowed = _with_webhook("webhook", make, tmp_path)
    removed = remove.replace("kill %1\n", "")  # the trap does it

    ran = reader.shell(f"{allowed}\nset +e\n{refuse}\nset -e\n{removed}", tmp_path)

    assert ran.code == 0, ran
    assert "\nadmin\n" in ran.out
    assert "Warning: it can grow to 100 Gi at most" in ran.err
    (refused,) = (line for line in ran.err.splitlines() if line.startswith("Error"))
    assert f"    {refused}\n" in (ROOT / "docs" / "webhooks.md").read_text()


def _with_webhook(example: str, typed: str, place: Path) -> str:
    """A script in which the webhook of an example runs, on a port of its own."""
    port = str(_free_port())
    shutil.copytree(ROOT / "examples" / example, place / "examples" / example)
    for path in (place / "examples" / example).glob("*.yaml*"):
        path.write_text(path.read_text().replace(PORT, port))
    listens = "until [ -s webhook.log ]; do sleep 0.05; done"  # nobody types so fast
    typed = typed.replace(PORT, port).replace(" &\n", f" > webhook.log 2>&1 &\n{listens}\n")
    typed = typed.replace("python ", f"{sys.executable} ")  # itself the job that is killed
    return f"set -e\ntrap 'kill $(jobs -p)' EXIT\n{typed}"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def test_how_full_volumes_are(reader: Kubectl) -> None:
    """Nothing is measured on fake nodes: tables without a row."""
    for step in typed_in("top.md"):
        if "--watch" not in step.line:  # which does not end
            ran = reader.shell(step.line, ROOT)
            assert ran.code == 0, ran
            assert ran.err in ("", UNMEASURED), ran


def test_snippets_of_testing_from_python(cluster: Cluster, pytester: pytest.Pytester) -> None:
    whole, with_fixture, node, driver = code_in("testing.md", "python")
    patient = f'"Bound", timeout={PATIENCE})'  # the machine may be busy
    whole, with_fixture = (text.replace('"Bound")', patient) for text in (whole, with_fixture))
    claim, _, _ = whole.partition("\ndef ")
    pytester.makepyfile(test_whole=whole, test_with_fixture=f"{claim}\n{with_fixture}")
    ran = pytester.runpytest_subprocess("--mooring", "-p", "no:cacheprovider")
    ran.assert_outcomes(passed=2)
    exec(f"{node}\n{driver}", {"c": cluster})  # noqa: S102  our own documentation


def test_a_minute_with_kubectl(own_server: RealServer, tmp_path: Path) -> None:
    """In a clone of the repository, where `make up` keeps its data in ./data."""
    assert own_server.data_dir == tmp_path / "data"
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    typed = admin(own_server.kubeconfig, tmp_path)
    up, here, *steps = typed_in("walk-through.md", "A minute with kubectl")
    assert (up.line, here.line) == ("make up", "export KUBECONFIG=data/kubeconfig")
    for step in steps:
        if step.line.startswith("ls"):  # nobody types so fast
            typed("wait", "pvc/photos", "--for=jsonpath={.status.phase}=Bound", "--timeout=15s")
        varies = step.line.startswith(("kubectl get", "ls"))
        type_steps([Typed(step.line, step.shown[:0]) if varies else step], typed, tmp_path)


def test_standalone_roles(own_api_server: RealServer, tmp_path: Path) -> None:
    kubeconfig, controllers, token = typed_in("walk-through.md", "Standalone roles")
    typed = admin(own_api_server.kubeconfig, tmp_path)
    type_steps([kubeconfig], typed, tmp_path)
    _, *words = controllers.line.replace(":9100", ":0").split()
    with subprocess.Popen(  # noqa: S603  our own program
        command(*words), stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as running:
        assert running.stdout is not None
        said = [running.stdout.readline().rstrip() for _ in controllers.shown]
        running.terminate()
    assert [re.sub(r":\d+/", ":9100/", line) for line in said] == list(controllers.shown)
    printed = typed.shell(token.line, tmp_path).out.split()
    assert [*printed[:3], *printed[6:]] == ["mooring", "node", "--join", "--node-name", "worker-1"]
