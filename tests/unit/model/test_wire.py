"""Reading typed objects: what is tolerated, what is refused, what never changes."""

import msgspec
import pytest

from mooring.model.claim import Claim, ClaimPhase
from mooring.model.csi_driver import CsiDriver
from mooring.model.meta import ApiObject, ObjectMeta, OwnerReference, Resource
from mooring.model.namespace import Namespace
from mooring.model.snapshot import SnapshotClass, SnapshotContent
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import AccessMode, BindingMode
from mooring.model.volume import Volume
from mooring.model.wire import json_decoder, read_document

NEW = "WordOfTomorrow"


def test_objects_cannot_be_changed() -> None:
    claim = read_document({"metadata": {"name": "data"}}, Claim)
    with pytest.raises(AttributeError):
        claim.metadata = ObjectMeta()  # type: ignore[misc]  # the point of the test


def test_a_refusal_names_the_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.spec\.volumeName"):
        read_document({"spec": {"volumeName": 7}}, Claim)


def test_nulls_of_other_servers_are_no_times() -> None:
    assert read_document({"creationTimestamp": None}, ObjectMeta).creation_timestamp is None


def test_names_are_camel_case_on_the_wire_and_defaults_stay_home() -> None:
    meta = ObjectMeta(name="a", generate_name="a-")
    assert msgspec.to_builtins(meta) == {"name": "a", "generateName": "a-"}


def test_the_controller_is_the_one_owner_that_says_so() -> None:
    owner = OwnerReference("v1", "Pod", "web", "u1")
    controller = OwnerReference("v1", "Pod", "web", "u2", controller=True)
    assert ObjectMeta(owner_references=(owner, controller)).find_controller() is controller
    assert ObjectMeta(owner_references=(owner,)).find_controller() is None


def test_api_version_of_the_core_group_is_bare() -> None:
    assert Resource("", "v1", "Pod", "pods", namespaced=True).api_version == "v1"
    assert Claim.resource.api_version == "v1"
    assert Resource("a.b", "v1", "C", "cs", namespaced=True).api_version == "a.b/v1"


UNKNOWN: dict[str, tuple[type[ApiObject], dict[str, object]]] = {
    "a claim's phase": (Claim, {"status": {"phase": NEW}}),
    "a claim's access modes": (Claim, {"spec": {"accessModes": [NEW, "ReadWriteOnce"]}}),
    "the modes a claim has": (Claim, {"status": {"accessModes": [NEW]}}),
    "a claim's volume mode": (Claim, {"spec": {"volumeMode": NEW}}),
    "a volume's phase": (Volume, {"status": {"phase": NEW}}),
    "a volume's access modes": (Volume, {"spec": {"accessModes": [NEW]}}),
    "a volume's mode": (Volume, {"spec": {"volumeMode": NEW}}),
    "a volume's policy": (Volume, {"spec": {"persistentVolumeReclaimPolicy": NEW}}),
    "a class's policy": (StorageClass, {"reclaimPolicy": NEW}),
    "a class's binding mode": (StorageClass, {"volumeBindingMode": NEW}),
    "a driver's lifecycle modes": (CsiDriver, {"spec": {"volumeLifecycleModes": [NEW]}}),
    "a driver's policy for groups": (CsiDriver, {"spec": {"fsGroupPolicy": NEW}}),
    "a snapshot class's policy": (SnapshotClass, {"driver": "d", "deletionPolicy": NEW}),
    "the policy and mode of a snapshot's content": (
        SnapshotContent,
        {
            "spec": {
                "driver": "d",
                "deletionPolicy": NEW,
                "sourceVolumeMode": NEW,
                "volumeSnapshotRef": {},
                "source": {},
            }
        },
    ),
    "a namespace's phase": (Namespace, {"status": {"phase": NEW}}),
}


@pytest.mark.parametrize(("kind", "document"), UNKNOWN.values(), ids=UNKNOWN)
def test_words_that_a_newer_server_knows_are_read_and_kept(
    kind: type[ApiObject], document: dict[str, object]
) -> None:
    found = read_document(document, kind)
    assert json_decoder(kind).decode(msgspec.json.encode(document)) == found
    assert msgspec.json.decode(msgspec.json.encode(found)) == document


def test_an_unknown_word_is_none_of_those_we_know() -> None:
    phase = read_document({"status": {"phase": NEW}}, Claim).status.phase
    assert (phase.is_known, phase.value, str(phase)) == (False, NEW, NEW)
    assert phase not in set(ClaimPhase)
    assert all(known.is_known for known in ClaimPhase)


def test_the_same_unknown_word_is_the_same_wherever_it_comes_from() -> None:
    first, second = AccessMode(NEW), AccessMode(NEW)
    assert first == second
    assert len({first, second, AccessMode("AnotherOne")}) == 2


def test_case_matters() -> None:
    assert not BindingMode("immediate").is_known


def test_what_is_no_word_at_all_is_still_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.status\.phase"):
        read_document({"status": {"phase": 7}}, Claim)
    with pytest.raises(ValueError, match="7"):
        ClaimPhase(7)  # type: ignore[arg-type]  # the point of the test
