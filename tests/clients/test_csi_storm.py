"""Many claims and pods on the bundled driver while Mooring is killed again and again."""

import random
import select
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.driver.objects import CLASS
from tests.clients.csi import OnDisk, a_reader, bare_claim, server_with_driver
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.clients.nodes import NODE, ServerWithNode
from tests.clients.pods import STAYS, WITHIN, Pods
from tests.fakes.waiting import until

PAIRS = 20
SEED = 6
KINDS = ("Pod", "PersistentVolumeClaim", "PersistentVolume", "VolumeAttachment")
LONG = 90.0  # seconds, for all pairs to come or go on a busy machine


@pytest.fixture
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    with server_with_driver() as running:
        yield running


class Storm:
    """Somebody who kills Mooring at moments that are drawn, and what is left of it then."""

    def __init__(self, server: ServerWithNode, kubectl: Kubectl) -> None:
        self._rng = random.Random(SEED)  # noqa: S311  no secrets are drawn
        self._server = server
        self.kubectl = kubectl
        self.disk = OnDisk(server.data_dir)

    def strike(self, within: float) -> None:
        """Kill it at some moment of the next seconds, and start it again."""
        select.select([], [], [], self._rng.uniform(0.0, within))
        self._server.kill()
        self._server.start()

    def picture(self) -> dict[str, list[str]]:
        """Volumes by the driver's names for them: what objects say of them, and what there is."""
        items = self.kubectl.doc("pods,pvc,pv,volumeattachments")["items"]
        of = {kind: [doc for doc in items if doc["kind"] == kind] for kind in KINDS}
        named = {doc["metadata"]["name"]: handle_in(doc) for doc in of["PersistentVolume"]}
        claimed = {
            doc["metadata"]["name"]: named.get(doc["spec"].get("volumeName", ""), "none yet")
            for doc in of["PersistentVolumeClaim"]
        }
        sources = [doc["spec"]["source"] for doc in of["VolumeAttachment"]]
        status = self.kubectl.doc("node", NODE)["status"]
        shown = [Path(at).parent.name for at in self.disk.published()]
        drawn = {
            "volumes": list(named.values()),
            "claims": list(claimed.values()),
            "pods": [claimed.get(claim_in(doc), "none") for doc in of["Pod"]],
            "attachments": [named.get(each["persistentVolumeName"], "gone") for each in sources],
            "attached to the node": [
                each["name"].rpartition("^")[2] for each in status.get("volumesAttached", ())
            ],
            "volumes of the driver": self.disk.volumes(),
            "attached by the driver": self.disk.attached(),
            "loop devices": [Path(backing).parent.name for backing in self.disk.backings()],
            "published": [named.get(volume, "gone") for volume in shown],
        }
        return {what: sorted(handles) for what, handles in drawn.items()}

    def trouble(self, pairs: int) -> str:
        """Empty: everything is there so many times, each time for its own volume."""
        if left := self.disk.unfinished():
            return f"left half done: {left}"
        if (count := len(self.disk.staged())) != pairs:
            return f"{count} staged"
        picture = self.picture()
        wanted = picture["volumes"]
        other = {what: handles for what, handles in picture.items() if handles != wanted}
        return "" if len(wanted) == pairs and not other else f"not as {wanted}: {other}"


def handle_in(volume: Doc) -> str:
    return str(volume["spec"]["csi"]["volumeHandle"])


def claim_in(pod: Doc) -> str:
    return str(pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"])


def a_writer(number: int) -> Doc:
    """It adds a line whenever it starts, which is once."""
    script = f"echo {number} >>/data/starts; {STAYS}"
    return a_reader(name_of(number), f"claim-{number}", script=script)


def name_of(number: int) -> str:
    return f"pod-{number}"


async def test_killed_again_and_again_mooring_loses_and_leaks_nothing(
    server: ServerWithNode, kubectl: Kubectl
) -> None:
    storm, pods = Storm(server, kubectl), Pods(kubectl)
    numbers = range(PAIRS)
    kubectl("wait", "--for=create", f"sc/{CLASS}", WITHIN)
    pods.create(*(bare_claim(f"claim-{number}", "16Mi") for number in numbers))
    pods.create(*(a_writer(number) for number in numbers))
    for _ in range(3):
        storm.strike(within=3.0)

    await settled(storm, PAIRS)

    starts = [await starts_of(pods, name_of(number)) for number in numbers]
    assert starts == [str(number) for number in numbers]

    half = [number for number in numbers if number % 2]
    kubectl("delete", "pod", *map(name_of, half), "--wait=false")
    kubectl("delete", "pvc", *(f"claim-{number}" for number in half), "--wait=false")
    storm.strike(within=1.0)
    storm.strike(within=2.0)
    await settled(storm, PAIRS - len(half))
    kubectl("delete", "pod,pvc", "--all", "--wait=false")
    await settled(storm, 0)
    assert list((server.node_root / "pods").iterdir()) == []


async def settled(storm: Storm, pairs: int) -> None:
    try:
        await until(lambda: not storm.trouble(pairs), LONG)
    except TimeoutError:
        pytest.fail(storm.trouble(pairs))


async def starts_of(pods: Pods, pod: str) -> str:
    """What it wrote when it started; a node that was just started is not reachable at once."""
    asking = ("exec", pod, "--", "cat", "/data/starts")
    await until(lambda: pods.kubectl.run(*asking).code == 0)
    return pods.kubectl(*asking)
