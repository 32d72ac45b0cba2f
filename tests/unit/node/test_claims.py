"""Which volume is behind a volume of a pod, and the words for why there is none."""

import pytest

from mooring.model.claim import Claim, ClaimPhase, ClaimSpec, ClaimStatus
from mooring.model.container import Container
from mooring.model.meta import ObjectMeta, OwnerReference
from mooring.model.pod import Pod, PodSpec
from mooring.model.pod_volume import (
    ClaimSource,
    EmptyDirSource,
    EphemeralSource,
    PodVolume,
    VolumeDevice,
    VolumeMount,
)
from mooring.model.reference import ClaimRef
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.node.claims import (
    Unusable,
    check_claim,
    check_mode,
    check_volume,
    use_of_claim,
    used_names,
)

POD = Pod(metadata=ObjectMeta(name="web", namespace="ns", uid="p1"))
CLAIMED = PodVolume(name="data", persistent_volume_claim=ClaimSource("c"))
EPHEMERAL = PodVolume(name="data", ephemeral=EphemeralSource())
PREFIX = "error processing PVC ns/c: "


def a_claim(
    phase: ClaimPhase = ClaimPhase.BOUND,
    volume: str = "pv",
    *,
    deleted: str | None = None,
    finalizers: tuple[str, ...] = (),
    owners: tuple[OwnerReference, ...] = (),
    namespace: str = "ns",
) -> Claim:
    metadata = ObjectMeta(
        name="c",
        namespace=namespace,
        uid="u1",
        deletion_timestamp=deleted,
        finalizers=finalizers,
        owner_references=owners,
    )
    return Claim(
        metadata=metadata, spec=ClaimSpec(volume_name=volume), status=ClaimStatus(phase=phase)
    )


def owned_by(uid: str, *, controller: bool | None = True) -> OwnerReference:
    return OwnerReference("v1", "Pod", "web", uid, controller=controller)


NOW = "2026-01-02T03:04:05Z"
NOT_OWNER = "PVC ns/c was not created for pod ns/web (pod is not owner)"

REFUSED: dict[str, tuple[PodVolume, Claim, str]] = {
    "a claim that goes, and that nobody protects": (
        CLAIMED,
        a_claim(deleted=NOW),
        PREFIX + "PVC is being deleted",
    ),
    "a claim that goes, protected by others only": (
        CLAIMED,
        a_claim(deleted=NOW, finalizers=("example.com/other",)),
        PREFIX + "PVC is being deleted",
    ),
    "a claim that waits for a volume": (
        CLAIMED,
        a_claim(ClaimPhase.PENDING, ""),
        PREFIX + "PVC is not bound",
    ),
    "a claim that has lost its volume": (
        CLAIMED,
        a_claim(ClaimPhase.LOST),
        PREFIX + "PVC is not bound",
    ),
    "a claim in a phase that nobody here knows": (
        CLAIMED,
        a_claim(ClaimPhase("Resting")),
        PREFIX + "PVC is not bound",
    ),
    "a bound claim that names no volume": (
        CLAIMED,
        a_claim(volume=""),
        PREFIX + "PVC has empty pvc.Spec.VolumeName",
    ),
    "somebody else's claim under the name of an ephemeral volume": (
        EPHEMERAL,
        a_claim(owners=(owned_by("p2"),)),
        NOT_OWNER,
    ),
    "an ephemeral volume's claim that the pod owns, but does not control": (
        EPHEMERAL,
        a_claim(owners=(owned_by("p1", controller=None),)),
        NOT_OWNER,
    ),
    "an ephemeral volume's claim that nobody owns": (EPHEMERAL, a_claim(), NOT_OWNER),
    "a foreign claim that is not bound: the first reason counts": (
        EPHEMERAL,
        a_claim(ClaimPhase.PENDING, ""),
        PREFIX + "PVC is not bound",
    ),
}


@pytest.mark.parametrize(("outer", "claim", "text"), REFUSED.values(), ids=REFUSED)
def test_a_claim_is_refused(outer: PodVolume, claim: Claim, text: str) -> None:
    with pytest.raises(Unusable) as refusal:
        check_claim(POD, outer, claim)
    assert str(refusal.value) == text


ACCEPTED: dict[str, tuple[PodVolume, Claim]] = {
    "a bound claim": (CLAIMED, a_claim()),
    "a claim that goes, but not before its pods": (
        CLAIMED,
        a_claim(deleted=NOW, finalizers=("kubernetes.io/pvc-protection",)),
    ),
    "a claim of somebody, named outright": (CLAIMED, a_claim(owners=(owned_by("p2"),))),
    "the pod's own ephemeral claim": (EPHEMERAL, a_claim(owners=(owned_by("p1"),))),
}


@pytest.mark.parametrize(("outer", "claim"), ACCEPTED.values(), ids=ACCEPTED)
def test_a_claim_leads_to_its_volume(outer: PodVolume, claim: Claim) -> None:
    assert check_claim(POD, outer, claim) == "pv"


def a_volume(reference: ClaimRef | None, mode: VolumeMode = VolumeMode.FILESYSTEM) -> Volume:
    spec = VolumeSpec(claim_ref=reference, volume_mode=mode)
    return Volume(metadata=ObjectMeta(name="pv"), spec=spec)


FOREIGN: dict[str, tuple[ClaimRef | None, str]] = {
    "a volume that serves nobody": (
        None,
        PREFIX + "found PV object pv but it has a nil pv.Spec.ClaimRef indicating it is not yet "
        "bound to the claim",
    ),
    "a volume of an earlier claim of that name": (
        ClaimRef(namespace="ns", name="c", uid="u0"),
        PREFIX + "found PV object pv but its pv.Spec.ClaimRef.UID u0 does not point to "
        "claim.UID u1",
    ),
    "a volume that is only reserved by name": (
        ClaimRef(namespace="ns", name="c"),
        PREFIX + "found PV object pv but its pv.Spec.ClaimRef.UID  does not point to claim.UID u1",
    ),
}


@pytest.mark.parametrize(("reference", "text"), FOREIGN.values(), ids=FOREIGN)
def test_a_volume_must_serve_this_very_claim(reference: ClaimRef | None, text: str) -> None:
    with pytest.raises(Unusable) as refusal:
        check_volume(POD, a_claim(), a_volume(reference))
    assert str(refusal.value) == text


def test_the_volume_of_the_claim_is_taken() -> None:
    check_volume(POD, a_claim(), a_volume(ClaimRef(namespace="ns", name="c", uid="u1")))


def test_only_the_pod_says_that_it_just_reads() -> None:
    volume = a_volume(None)
    reading = PodVolume(name="data", persistent_volume_claim=ClaimSource("c", read_only=True))
    assert use_of_claim(reading, volume) == VolumeUse(volume=volume, read_only=True)
    assert use_of_claim(CLAIMED, volume) == VolumeUse(volume=volume)
    assert use_of_claim(EPHEMERAL, volume) == VolumeUse(volume=volume)


MOUNTING = Container("main", volume_mounts=(VolumeMount("data", "/data"),))
MAPPING = Container("main", volume_devices=(VolumeDevice("data", "/dev/xda"),))

MODES: dict[str, tuple[Container, VolumeMode, str]] = {
    "a device among volumeMounts": (
        MOUNTING,
        VolumeMode.BLOCK,
        "volume data has volumeMode Block, but is specified in volumeMounts",
    ),
    "files among volumeDevices": (
        MAPPING,
        VolumeMode.FILESYSTEM,
        "volume data has volumeMode Filesystem, but is specified in volumeDevices",
    ),
    "files among volumeMounts": (MOUNTING, VolumeMode.FILESYSTEM, ""),
    "a device among volumeDevices": (MAPPING, VolumeMode.BLOCK, ""),
}


@pytest.mark.parametrize(("container", "mode", "text"), MODES.values(), ids=MODES)
def test_files_are_no_device(container: Container, mode: VolumeMode, text: str) -> None:
    pod = Pod(metadata=POD.metadata, spec=PodSpec(containers=(container,)))
    use = VolumeUse(volume=a_volume(None, mode))
    told = ""
    try:
        check_mode(pod, CLAIMED, use)
    except Unusable as refusal:
        told = str(refusal)
    assert told == text


def test_volumes_count_when_any_container_uses_them() -> None:
    def using(name: str) -> Container:
        return Container("c", volume_mounts=(VolumeMount(name, f"/{name}"),))

    spec = PodSpec(
        volumes=tuple(
            PodVolume(name=name, empty_dir=EmptyDirSource())
            for name in ("a", "b", "c", "data", "idle")
        ),
        containers=(using("a"), MAPPING),
        init_containers=(using("b"),),
        ephemeral_containers=(using("c"),),
    )
    assert used_names(Pod(spec=spec)) == {"a", "b", "c", "data"}
