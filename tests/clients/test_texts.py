"""What `kubectl describe` says when storage does not come, and what to do then. Root only."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mooring.driver.objects import CLASS
from mooring.driver.settings import NAME
from tests.clients.csi import (
    OnDisk,
    a_class_of,
    a_reader,
    bare_claim,
    driver_process,
    registrar_process,
    server_with_driver,
    unheard_registrar,
)
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.clients.nodes import NODE, ServerWithNode
from tests.clients.pods import WITHIN, Pods, a_local_volume
from tests.fakes.waiting import until

OTHER = "fake.csi.mooring.dev"
BOUND = "--for=jsonpath={.status.phase}=Bound"


@pytest.fixture(scope="module")
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with server_with_driver() as running:
        yield running


@pytest.fixture
def disk(server: ServerWithNode) -> OnDisk:
    return OnDisk(server.data_dir)


@pytest.fixture
def pods(kubectl: Kubectl) -> Pods:
    kubectl("wait", "--for=create", f"sc/{CLASS}", WITHIN)
    return Pods(kubectl)


def described(pods: Pods, kind: str, name: str) -> str:
    return " ".join(pods.kubectl("describe", kind, name).split())


def says(pods: Pods, kind: str, name: str, *texts: str) -> Callable[[], bool]:
    return lambda: all(text in described(pods, kind, name) for text in texts)


def csi_drivers(pods: Pods) -> str:
    return pods.kubectl.field(".spec.drivers[*].name", "csinode", NODE)


async def test_a_provisioner_with_a_slip_of_the_finger(pods: Pods, unique: str) -> None:
    wrong = NAME.replace("mooring", "moring")
    pods.create(a_class_of(wrong, unique), bare_claim("data", storageClassName=unique))
    await until(
        says(
            pods,
            *("pvc", "data"),
            f"created either by the external provisioner '{wrong}'",
            f'No CSI driver or plugin "{wrong}" is registered; registered are ',
            f'Did you mean "{NAME}"?',
        )
    )
    pods.kubectl("delete", "sc", unique)


@pytest.mark.parametrize("is_named", [False, True], ids=["no class", "a class in name only"])
async def test_a_claim_that_is_too_large_for_what_was_made_by_hand(
    pods: Pods, unique: str, tmp_path: Path, *, is_named: bool
) -> None:
    name = unique if is_named else ""
    volume = a_local_volume(f"{unique}-disk", str(tmp_path), storageClassName=name)
    volume["spec"]["capacity"]["storage"] = "1Gi"
    volume["metadata"]["labels"] = {"of": unique}
    claim = bare_claim("data", "5Gi", storageClassName=name)
    claim["spec"]["selector"] = {"matchLabels": {"of": unique}}
    pods.create(volume, claim)
    why = f'"{unique}" not found' if is_named else "no storage class is set"
    await until(
        says(
            pods,
            *("pvc", "data"),
            "no persistent volume is large enough: the claim asks for 5Gi, and the largest that "
            f'would fit otherwise, "{unique}-disk", has 1Gi; ',
            why,
        )
    )
    pods.kubectl("delete", "pv", f"{unique}-disk")


async def test_a_volume_on_another_node_is_named_with_that_node(
    pods: Pods, unique: str, tmp_path: Path
) -> None:
    volume: Doc = a_local_volume(unique, str(tmp_path), storageClassName="")
    terms = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    terms[0]["matchExpressions"][0]["values"] = ["elsewhere"]
    claim = bare_claim("data", storageClassName="", volumeName=unique)
    pods.create(volume, claim, a_reader("web", "data"))
    await until(
        says(
            pods,
            *("pod", "web"),
            "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity "
            f'(volume "{unique}" is only on node "elsewhere")',
        )
    )
    pods.kubectl("delete", "pod/web", "pvc/data", WITHIN)
    pods.kubectl("delete", "pv", unique, WITHIN)


async def test_a_driver_that_mounts_nothing_is_named_and_its_volume_grows_at_a_word(
    pods: Pods, disk: OnDisk, unique: str
) -> None:
    """The driver of somebody else makes a directory and mounts nothing there."""
    socket = disk.node / "plugins" / OTHER / "csi.sock"
    with driver_process(socket), registrar_process(socket, disk.registrations):
        await until(lambda: OTHER in csi_drivers(pods))
        pods.create(a_class_of(OTHER, unique) | {"allowVolumeExpansion": True})
        pods.ready(bare_claim("data", storageClassName=unique), a_reader("web", "data"))
        await until(
            says(
                pods,
                *("pod", "web"),
                "VolumeNotMounted",
                f'CSI driver "{OTHER}" says that it has published volume ',
                "but nothing is mounted at ",
                "look at the log of its node plugin",
            )
        )
        volume = pods.kubectl.field(".spec.volumeName", "pvc", "data")
        grown = '{"spec":{"capacity":{"storage":"128Mi"}}}'
        pods.kubectl("patch", "pv", volume, "--type=merge", "-p", grown)
        turn = (
            '{"status":{"allocatedResources":{"storage":"128Mi"},'
            '"allocatedResourceStatuses":{"storage":"NodeResizePending"}}}'
        )
        pods.kubectl(*("patch", "pvc", "data", "--subresource=status", "--type=merge", "-p", turn))
        size = "--for=jsonpath={.status.capacity.storage}=128Mi"
        pods.kubectl("wait", "pvc/data", size, "--timeout=5s")
        assert "FileSystemResizeSuccessful" in described(pods, "pod", "web")
        pods.kubectl("delete", "pod/web", "pvc/data", WITHIN)
        pods.kubectl("wait", f"pv/{volume}", "--for=delete", WITHIN)
    pods.kubectl("delete", "sc", unique)


async def test_two_registrars_of_a_driver_do_not_take_it_from_each_other(
    pods: Pods, disk: OnDisk
) -> None:
    socket = disk.node / "plugins" / OTHER / "csi.sock"
    with driver_process(socket), registrar_process(socket, disk.registrations):
        await until(lambda: OTHER in csi_drivers(pods))
        registered = socket_of(disk).stat().st_ino
        with registrar_process(socket, disk.registrations):
            pass
        assert socket_of(disk).stat().st_ino == registered
        assert OTHER in csi_drivers(pods)
    await until(lambda: OTHER not in csi_drivers(pods))


def socket_of(disk: OnDisk) -> Path:
    return disk.registrations / f"{OTHER}-reg.sock"


def test_a_registrar_without_a_driver_says_what_it_waits_for(disk: OnDisk) -> None:
    socket = disk.node / "plugins" / "absent" / "csi.sock"
    with unheard_registrar(socket, disk.registrations) as said:
        assert said == f"mooring sidecar registrar is waiting for {socket}\n"
