"""Volumes, claims and classes in few words, with the defaults of the scenario table.

`ref("c", "u")` is a claimRef with a uid, `ref("c")` one without. Everything lives in namespace ns.
"""

from collections.abc import Mapping
from typing import Any

from mooring.model.claim import Claim, ClaimPhase, ClaimResources, ClaimSpec, ClaimStatus
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.reference import ClaimRef
from mooring.model.selector import SelectorDocument
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import STORAGE, AccessMode, BindingMode
from mooring.model.volume import Volume, VolumePhase, VolumeSpec, VolumeStatus
from mooring.model.volume_source import CsiSource, HostPathSource, NfsSource
from mooring.model.wellknown import Annotation

NAMESPACE = "ns"
C = Key(NAMESPACE, "c")

RWO, ROX, RWX, RWOP = (
    AccessMode.ONCE,
    AccessMode.READ_ONLY_MANY,
    AccessMode.MANY,
    AccessMode.ONCE_POD,
)
BBC = {Annotation.BOUND_BY_CONTROLLER: "yes"}
DONE = {Annotation.BIND_COMPLETED: "yes"}
NFS = NfsSource(server="s", path="/")
HOST_PATH = HostPathSource(path="/tmp/hostpath_pv/x")  # noqa: S108 - a name in a document
CSI = CsiSource(driver="d.example.com", volume_handle="h")


def ref(name: str, uid: str = "") -> ClaimRef:
    """As users write it, without a uid; with one, as the binder does."""
    if not uid:
        return ClaimRef(namespace=NAMESPACE, name=name)
    return ClaimRef(
        kind="PersistentVolumeClaim",
        api_version="v1",
        namespace=NAMESPACE,
        name=name,
        uid=uid,
        resource_version="1",
    )


def by(provisioner: str) -> dict[str, str]:
    return {Annotation.PROVISIONED_BY: provisioner}


def a_volume(
    name: str = "pv",
    size: str = "1Gi",
    *modes: AccessMode,
    phase: VolumePhase | str = VolumePhase.AVAILABLE,
    message: str = "",
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    finalizers: tuple[str, ...] = (),
    deleting: bool = False,
    **spec: Any,
) -> Volume:
    return Volume(
        metadata=ObjectMeta(
            name=name,
            uid=f"uid-of-{name}",
            resource_version="1",
            annotations=dict(annotations or {}),
            labels=dict(labels or {}),
            finalizers=finalizers,
            deletion_timestamp="2026-01-02T03:04:05Z" if deleting else None,
        ),
        spec=VolumeSpec(**{"capacity": {STORAGE: size}, "access_modes": modes or (RWO,), **spec}),
        status=VolumeStatus(phase=phase, message=message),  # type: ignore[arg-type] # may be nonsense
    )


def a_claim(
    size: str = "1Gi",
    *modes: AccessMode,
    name: str = "c",
    uid: str = "u",
    volume: str = "",
    phase: ClaimPhase = ClaimPhase.PENDING,
    has: str = "",
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Claim:
    """`has` is the capacity in its status."""
    return Claim(
        metadata=ObjectMeta(
            name=name,
            namespace=NAMESPACE,
            uid=uid,
            resource_version="1",
            annotations=dict(annotations or {}),
        ),
        spec=ClaimSpec(
            access_modes=modes or (RWO,),
            resources=ClaimResources(requests={STORAGE: size}),
            volume_name=volume,
            **spec,
        ),
        status=ClaimStatus(
            phase=phase,
            access_modes=(modes or (RWO,)) if has else (),
            capacity={STORAGE: has} if has else {},
        ),
    )


def labelled(**labels: str) -> SelectorDocument:
    return SelectorDocument(match_labels=labels)


def a_class(
    name: str = "gold",
    provisioner: str = "d.example.com",
    *,
    waits: bool = False,
    default: bool = False,
    created: str = "2026-01-01T00:00:00Z",
    **body: Any,
) -> StorageClass:
    annotations = {Annotation.DEFAULT_CLASS: "true"} if default else {}
    body.setdefault(
        "volume_binding_mode", BindingMode.WAIT_FOR_CONSUMER if waits else BindingMode.IMMEDIATE
    )
    return StorageClass(
        metadata=ObjectMeta(
            name=name,
            uid=f"uid-of-{name}",
            resource_version="1",
            annotations=annotations,
            creation_timestamp=created,
        ),
        provisioner=provisioner,
        **body,
    )
