"""What people try first: volumes and claims with kubectl on `mooring up`, state by state.

The manifests are in `examples`; what the tables must say is what tutorials for Kubernetes show.
"""

import json
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl, kubectls
from tests.clients.manifests import Doc, a_claim, a_volume
from tests.clients.tables import Row, read_tables

EXAMPLES = Path(__file__).parents[2] / "examples"
PHASE = "--for=jsonpath={.status.phase}"


class Session:
    """What somebody types."""

    def __init__(self, kubectl: Kubectl) -> None:
        self.kubectl = kubectl

    def create(self, example: str) -> None:
        self.kubectl("create", "-f", str(EXAMPLES / example))

    def get(self, what: str, *columns: str) -> list[tuple[str, ...]]:
        """`kubectl get`, these columns of it; of all rows, as the table has them."""
        rows: list[Row] = read_tables(self.kubectl("get", what))
        return [tuple(row[column] for column in columns) for row in rows]

    def wait(self, what: str, phase: str) -> None:
        self.kubectl("wait", what, f"{PHASE}={phase}", "--timeout=15s")

    def wait_for_event(self, about: str, reason: str) -> str:
        return self.kubectl.event(about, reason)


@pytest.fixture
def session(alone: Kubectl) -> Session:
    return Session(alone)


VOLUME = ("NAME", "CAPACITY", "ACCESS MODES", "RECLAIM POLICY", "STATUS", "CLAIM", "STORAGECLASS")
CLAIM = ("NAME", "STATUS", "VOLUME", "CAPACITY", "ACCESS MODES", "STORAGECLASS")
BOTH = ("NAME", "STATUS")


@kubectls(since=(1, 23))
def test_a_claim_takes_the_volume_that_was_made_for_it_by_hand(session: Session) -> None:
    session.create("mongodb/claim.yaml")
    told = session.wait_for_event("mongodb-pvc", "FailedBinding")
    assert "no persistent volumes available for this claim and no storage class is set" in told
    assert session.get("pvc", *CLAIM) == [("mongodb-pvc", "Pending", "", "", "", "")]

    session.create("mongodb/volume.yaml")
    session.wait("pvc/mongodb-pvc", "Bound")

    assert session.get("pv", *VOLUME) == [
        ("mongodb-pv", "1Gi", "RWO,ROX", "Retain", "Bound", "default/mongodb-pvc", "")
    ]
    assert session.get("pvc", *CLAIM) == [
        ("mongodb-pvc", "Bound", "mongodb-pv", "1Gi", "RWO,ROX", "")
    ]

    session.create("mongodb/pod.yaml")
    described = session.kubectl("describe", "pvc", "mongodb-pvc")
    assert ["Used", "By:", "mongodb"] in [line.split() for line in described.splitlines()]


@kubectls(since=(1, 23))
def test_a_class_makes_the_volume_and_takes_it_away(session: Session) -> None:
    session.create("dynamic/host-path.yaml")
    session.wait("pvc/photos", "Bound")

    uid = session.kubectl.field(".metadata.uid", "pvc", "photos")
    name = f"pvc-{uid}"
    assert session.get("pv", *VOLUME) == [
        (name, "5Gi", "RWO", "Delete", "Bound", "default/photos", "directories")
    ]
    assert session.get("pvc", *CLAIM) == [("photos", "Bound", name, "5Gi", "RWO", "directories")]
    told = session.wait_for_event("photos", "ProvisioningSucceeded")
    assert f"Successfully provisioned volume {name} using kubernetes.io/host-path" in told
    directory = Path(session.kubectl.field(".spec.hostPath.path", "pv", name))
    (directory / "holiday.jpg").write_text("a picture")

    session.kubectl("delete", "pvc", "photos")
    session.kubectl("wait", "pv", name, "--for=delete", "--timeout=15s")

    assert not directory.exists()
    assert directory.parent.exists()


@kubectls(since=(1, 23))
def test_a_class_whose_driver_is_missing_says_for_whom_its_claims_wait(session: Session) -> None:
    session.create("dynamic/cloud.yaml")

    told = session.wait_for_event("claim1", "ExternalProvisioning")
    assert (
        "Waiting for a volume to be created either by the external provisioner "
        "'pd.csi.storage.gke.io' or manually by the system administrator." in told
    )
    assert session.get("pvc", *CLAIM) == [("claim1", "Pending", "", "", "", "block-service")]

    by_hand = a_volume("made-by-hand", "30Gi", storageClassName="block-service")
    session.kubectl("create", "-f", "-", given=by_hand)
    session.wait("pvc/claim1", "Bound")
    assert session.get("pvc", "NAME", "VOLUME") == [("claim1", "made-by-hand")]


@kubectls(since=(1, 23))
def test_a_retained_volume_outlives_its_claim_until_it_is_given_free(session: Session) -> None:
    session.create("retained-volume.yaml")
    session.wait("pvc/ledger", "Bound")
    assert session.get("pv,pvc", *BOTH) == [
        ("persistentvolume/ledger-pv", "Bound"),
        ("persistentvolumeclaim/ledger", "Bound"),
    ]

    session.kubectl("delete", "pvc", "ledger")
    session.wait("pv/ledger-pv", "Released")
    session.kubectl("apply", "-f", str(EXAMPLES / "retained-volume.yaml"))
    told = session.wait_for_event("ledger", "FailedBinding")

    assert 'volume "ledger-pv" already bound to a different claim.' in told
    assert session.get("pv,pvc", *BOTH) == [
        ("persistentvolume/ledger-pv", "Released"),
        ("persistentvolumeclaim/ledger", "Pending"),
    ]

    remove = [{"op": "remove", "path": "/spec/claimRef"}]
    session.kubectl("patch", "pv", "ledger-pv", "--type=json", "-p", json.dumps(remove))
    session.wait("pvc/ledger", "Bound")


@kubectls(since=(1, 23))
def test_a_reserved_volume_waits_for_its_claim(session: Session) -> None:
    session.kubectl("create", "-f", "-", given=[_reserved("kept", "later"), a_claim("other")])
    session.wait("pv/kept", "Available")
    session.wait_for_event("other", "FailedBinding")
    assert session.get("pv", "NAME", "STATUS", "CLAIM") == [("kept", "Available", "default/later")]

    session.kubectl("create", "-f", "-", given=a_claim("later"))
    session.wait("pvc/later", "Bound")

    assert session.get("pvc", "NAME", "STATUS", "VOLUME") == [
        ("later", "Bound", "kept"),
        ("other", "Pending", ""),
    ]


@kubectls(since=(1, 23))
def test_of_two_volumes_reserved_for_a_claim_one_is_left_over(session: Session) -> None:
    volumes = [_reserved("first", "data"), _reserved("second", "data")]
    session.kubectl("create", "-f", "-", given=[*volumes, a_claim("data")])
    session.wait("pvc/data", "Bound")
    taken = session.kubectl.field(".spec.volumeName", "pvc", "data")
    (left,) = {"first", "second"} - {taken}
    session.wait(f"pv/{taken}", "Bound")
    session.wait(f"pv/{left}", "Available")

    assert set(session.get("pv", "NAME", "STATUS", "CLAIM")) == {
        (taken, "Bound", "default/data"),
        (left, "Available", "default/data"),
    }
    assert "uid" not in session.kubectl.doc("pv", left)["spec"]["claimRef"]


@kubectls(since=(1, 24))
def test_a_volume_to_be_recycled_is_available_again_when_a_pod_has_wiped_it(
    session: Session,
) -> None:
    kubectl = session.kubectl
    source: Doc = {"csi": None, "hostPath": {"path": "/tmp/mooring-walk-through/scratch"}}  # noqa: S108
    volume = a_volume("scratch", persistentVolumeReclaimPolicy="Recycle", **source)
    kubectl("create", "-f", "-", given=[volume, a_claim("scratch")])
    session.wait("pvc/scratch", "Bound")

    kubectl("delete", "pvc", "scratch")
    session.wait("pv/scratch", "Released")
    with kubectl.running("get", "pods", "-w", "--no-headers") as watching:
        watching.line("recycler-for-scratch")
    done = '{"status":{"phase":"Succeeded"}}'  # as the node would say
    kubectl("patch", "pod", "recycler-for-scratch", f"-p={done}", "--subresource=status")
    session.wait("pv/scratch", "Available")

    assert session.get("pv", "NAME", "STATUS", "CLAIM") == [("scratch", "Available", "")]
    told = session.wait_for_event("scratch", "VolumeRecycled")
    assert "Volume recycled" in told
    gone = kubectl.run("wait", "--for=delete", "pod/recycler-for-scratch", "--timeout=15s")
    assert gone.code == 0


def _reserved(name: str, claim: str) -> Doc:
    return a_volume(name, claimRef={"namespace": "default", "name": claim})
