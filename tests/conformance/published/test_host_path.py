"""csi-driver-host-path as it is published: applied, used by its own examples, deleted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.nodes import NODE
from tests.clients.pods import WITHIN
from tests.conformance.obtain import (
    HOST_PATH_EXAMPLES,
    HOST_PATH_MANIFESTS,
    SIDECAR_RIGHTS,
    Missing,
    files,
)
from tests.conformance.peers import Find
from tests.conformance.published.conftest import DRIVER, AsKubelet
from tests.conformance.published.images import import_all

TRIES = 8  # of 15 seconds: programs of 90 MB start, and upstream's sidecars wait between retries
READY = "--for=condition=Ready"
PODS = ("csi-hostpathplugin-0", "csi-hostpath-socat-0")
LABEL = "app.kubernetes.io/part-of=csi-driver-host-path"
SOON = ("--wait=false", "--grace-period=1")
KINDS = (
    "statefulsets,controllerrevisions,pods,services,serviceaccounts,rolebindings,"
    "clusterrolebindings,csidrivers,volumesnapshotclasses"
)
BOUND = "--for=jsonpath={.status.phase}=Bound"
USABLE = "--for=jsonpath={.status.readyToUse}=true"
KNOWN = f"jsonpath={{.spec.drivers[?(@.name=='{DRIVER}')].name}}={DRIVER}"


@pytest.fixture(scope="module")
def bundle() -> list[str]:
    """The words after `kubectl apply`: every file that its script applies."""
    try:
        rights = [str(files(each) / name) for each, name in SIDECAR_RIGHTS.items()]
        manifests = str(files(HOST_PATH_MANIFESTS))
    except Missing as reason:
        pytest.skip(f"the published manifests cannot be had: {reason}")
    return [word for file in (*rights, manifests) for word in ("-f", file)]


@pytest.fixture(scope="module")
def examples() -> Path:
    try:
        return files(HOST_PATH_EXAMPLES)
    except Missing as reason:
        pytest.skip(f"the published examples cannot be had: {reason}")


@pytest.fixture
def installed(
    server: AsKubelet, kubectl: Kubectl, bundle: list[str], find: Find, tmp_path: Path
) -> Iterator[Kubectl]:
    try:
        import_all(server, files(HOST_PATH_MANIFESTS), find, tmp_path)
    except Missing as reason:
        pytest.skip(f"an image of the manifests cannot be put together: {reason}")
    kubectl("apply", *bundle)
    for pod in PODS:
        wait(kubectl, "--for=create", f"pod/{pod}")
        wait(kubectl, f"pod/{pod}", READY)
    wait(kubectl, f"csinode/{NODE}", f"--for={KNOWN}")
    yield kubectl
    kubectl.run("delete", "--ignore-not-found", *SOON, *bundle)


def wait(kubectl: Kubectl, *words: str) -> None:
    for _ in range(TRIES):
        if kubectl.run("wait", *words, WITHIN).code == 0:
            return
    pytest.fail(f"not in time: kubectl wait {' '.join(words)}\n{kubectl('describe', 'pods')}")


def test_its_manifests_install_unchanged_and_its_examples_work(
    installed: Kubectl, bundle: list[str], examples: Path, server: AsKubelet
) -> None:
    kubectl = installed

    def example(*names: str) -> list[str]:
        return [word for name in names for word in ("-f", str(examples / f"{name}.yaml"))]

    ready = kubectl("get", "pod", PODS[0], "-o=jsonpath={.status.containerStatuses[*].ready}")
    assert ready.split() == ["true"] * 8, kubectl("describe", "pod", PODS[0])

    kubectl("apply", *example("csi-storageclass", "csi-pvc", "csi-app", "csi-app-inline"))
    wait(kubectl, "pvc/csi-pvc", BOUND)
    wait(kubectl, "pod/my-csi-app", "pod/my-csi-app-inline", READY)
    kubectl("exec", "my-csi-app", "--", "sh", "-c", "echo kept > /data/note; sync")

    kubectl("apply", *example("csi-snapshot-v1"))
    wait(kubectl, "volumesnapshot/new-snapshot-demo", USABLE)
    kubectl("exec", "my-csi-app", "--", "sh", "-c", "echo lost > /data/note")
    kubectl("apply", *example("csi-restore"))
    wait(kubectl, "pvc/hpvc-restore", BOUND)
    assert _data(server, kubectl, "hpvc-restore") == "kept\n"
    assert _data(server, kubectl, "csi-pvc") == "lost\n"

    used = ("csi-restore", "csi-snapshot-v1", "csi-app", "csi-app-inline", "csi-pvc")
    kubectl("delete", *SOON, *example(*used))
    wait(kubectl, "--for=delete", "pv", "--all")
    wait(kubectl, "--for=delete", "volumesnapshotcontents", "--all")
    wait(kubectl, "--for=delete", "pod/my-csi-app", "pod/my-csi-app-inline")
    kubectl("delete", *SOON, *bundle)
    wait(kubectl, "--for=delete", "pod", "--all")
    left = kubectl("get", KINDS, "-l", LABEL, "-A", "-o", "name")
    assert left == "", f"left of the bundle: {left}"
    data = server.var_lib / "csi-hostpath-data"
    assert [each.name for each in data.iterdir()] == ["state.json"]


def _data(server: AsKubelet, kubectl: Kubectl, claim: str) -> str:
    """What a claim's volume has in the file, where the driver keeps it."""
    volume = kubectl.field(".spec.volumeName", "pvc", claim)
    handle = kubectl.field(".spec.csi.volumeHandle", "pv", volume)
    return (server.var_lib / "csi-hostpath-data" / handle / "note").read_text(encoding="utf-8")
