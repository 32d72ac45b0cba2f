"""What is done about a volume: nothing is deleted that is bound, attached or to be kept."""

from collections.abc import Iterator, Mapping
from itertools import product

import pytest

from mooring.model.meta import ObjectMeta
from mooring.model.reference import ClaimRef, SecretReference
from mooring.model.steps import Emit, Fail
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume, VolumePhase, VolumeSpec, VolumeStatus
from mooring.model.volume_source import CsiSource
from mooring.model.wellknown import Annotation, Finalizer
from mooring.sidecars.provisioner.decide.volume import decide_volume, find_deletion_secret
from mooring.sidecars.provisioner.plan import DeleteBehind, DeleteObject, Protect, Unprotect
from mooring.sidecars.provisioner.view import VolumeView

DRIVER = "d.example.com"
HELD = Finalizer.EXTERNAL_PROVISIONER
BOUND, RELEASED, FAILED = VolumePhase.BOUND, VolumePhase.RELEASED, VolumePhase.FAILED
DELETE, RETAIN = ReclaimPolicy.DELETE, ReclaimPolicy.RETAIN


def a_volume(
    phase: VolumePhase,
    policy: ReclaimPolicy = DELETE,
    *finalizers: str,
    deleting: bool = False,
    driver: str = DRIVER,
    annotations: Mapping[str, str] = {},
) -> Volume:
    return Volume(
        metadata=ObjectMeta(
            name="pv1",
            uid="u1",
            finalizers=finalizers,
            annotations=annotations,
            deletion_timestamp="2026-01-02T03:04:05Z" if deleting else None,
        ),
        spec=VolumeSpec(
            csi=CsiSource(driver, "h1"),
            reclaim_policy=policy,
            claim_ref=ClaimRef(namespace="team", name="data"),
        ),
        status=VolumeStatus(phase=phase),
    )


def a_view(volume: Volume, *, attached: str = "", deleted: bool = False) -> VolumeView:
    return VolumeView(DRIVER, volume, None, attached, deleted)


TABLE: dict[str, tuple[VolumeView, tuple[type, ...]]] = {
    "another's is left alone": (a_view(a_volume(RELEASED, driver="o.example.com")), ()),
    "a bound one is protected": (a_view(a_volume(BOUND)), (Protect,)),
    "a bound one that is protected is left alone": (a_view(a_volume(BOUND, DELETE, HELD)), ()),
    "a bound one that is being deleted is left alone": (
        a_view(a_volume(BOUND, DELETE, deleting=True)),
        (),
    ),
    "one that is to be kept is not held": (a_view(a_volume(RELEASED, RETAIN, HELD)), (Unprotect,)),
    "one that is to be kept is kept": (a_view(a_volume(RELEASED, RETAIN)), ()),
    "a policy that nobody knows deletes nothing": (
        a_view(a_volume(RELEASED, ReclaimPolicy("Burn"), HELD)),
        (),
    ),
    "a released one goes behind, then before": (
        a_view(a_volume(RELEASED, DELETE, HELD)),
        (DeleteBehind, DeleteObject),
    ),
    "a released one that people delete goes behind, then is let go": (
        a_view(a_volume(RELEASED, DELETE, HELD, deleting=True)),
        (DeleteBehind, Unprotect),
    ),
    "a released one that lost its protection was deleted before": (
        a_view(a_volume(RELEASED, DELETE, deleting=True)),
        (),
    ),
    "one that failed is left to people": (a_view(a_volume(FAILED, DELETE, HELD)), ()),
    "an attached one stays": (
        a_view(a_volume(RELEASED, DELETE, HELD), attached="n1"),
        (Emit, Fail),
    ),
    "gone behind, the object goes": (
        a_view(a_volume(RELEASED, DELETE, HELD), deleted=True),
        (DeleteObject,),
    ),
    "gone behind, and the object deleted, it is let go": (
        a_view(a_volume(RELEASED, DELETE, HELD, deleting=True), deleted=True),
        (Unprotect,),
    ),
    "gone behind, and others hold the object": (
        a_view(a_volume(RELEASED, DELETE, deleting=True), deleted=True),
        (),
    ),
}


@pytest.mark.parametrize(("view", "expected"), TABLE.values(), ids=TABLE)
def test_a_volume(view: VolumeView, expected: tuple[type, ...]) -> None:
    assert tuple(map(type, decide_volume(view).steps)) == expected


NAME, NAMESPACE = Annotation.DELETION_SECRET_NAME, Annotation.DELETION_SECRET_NAMESPACE
CLASS = StorageClass(
    provisioner=DRIVER,
    parameters={
        "csi.storage.k8s.io/provisioner-secret-name": "${pvc.name}",
        "csi.storage.k8s.io/provisioner-secret-namespace": "${pvc.namespace}",
    },
)
SECRETS = {
    "the volume says which": ({NAME: "n", NAMESPACE: "ns"}, SecretReference("n", "ns")),
    "the volume says none": ({NAME: "", NAMESPACE: ""}, None),
    "an old volume's class says which": ({}, SecretReference("data", "team")),
}


@pytest.mark.parametrize(("annotations", "expected"), SECRETS.values(), ids=SECRETS)
def test_the_secret_to_delete_with(
    annotations: dict[str, str], expected: SecretReference | None
) -> None:
    view = VolumeView(DRIVER, a_volume(RELEASED, annotations=annotations), CLASS, "", False)  # noqa: FBT003  a field
    assert find_deletion_secret(view) == expected


def _every_view() -> Iterator[VolumeView]:
    policies = (*ReclaimPolicy, ReclaimPolicy("Burn"))
    owners = (DRIVER, "o.example.com")
    for phase, policy, held, deleting, owner, attached, deleted in product(
        VolumePhase, policies, ((), (HELD,)), (False, True), owners, ("", "n1"), (False, True)
    ):
        volume = a_volume(phase, policy, *held, deleting=deleting, driver=owner)
        yield a_view(volume, attached=attached, deleted=deleted)


def test_what_is_always_true_of_a_plan() -> None:
    for view in _every_view():
        volume, steps = view.volume, decide_volume(view).steps
        kinds = [type(step) for step in steps]
        if not view.is_ours:
            assert not steps
        if DeleteBehind in kinds:
            assert volume.is_released
            assert volume.spec.reclaim_policy is DELETE
            assert not view.attached_to
            assert view.is_protected or not volume.is_deleting
        if DeleteObject in kinds or Unprotect in kinds:
            is_kept = volume.spec.reclaim_policy in (RETAIN, ReclaimPolicy.RECYCLE)
            goes_first = kinds[0] is DeleteBehind
            assert goes_first or view.is_deleted_behind or (is_kept and kinds == [Unprotect])
        if Protect in kinds:
            assert volume.is_bound
            assert not volume.is_deleting
        if Fail in kinds:
            assert kinds == [Emit, Fail]
