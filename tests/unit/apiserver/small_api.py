"""A small API: enough kinds and messages to show every rule of discovery and OpenAPI once."""

from mooring.apiserver.kinds.contract import AGE, NAME, Column, Kind, Subresource
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.schema.contract import Field, Merge, Message, Scalar, Schema, Shape

POD = Kind(
    group="",
    version="v1",
    kind="Pod",
    plural="pods",
    message="core.v1.Pod",
    namespaced=True,
    short_names=("po",),
    categories=("all",),
    status=True,
    subresources=(
        Subresource("log", ("get",), "Pod"),
        Subresource("exec", ("create", "get"), "PodExecOptions"),
        Subresource("eviction", ("create",), "Eviction", "policy", "v1"),
    ),
    columns=(NAME, Column("Node", wide=True), AGE),
    row=lambda doc, now: [doc["metadata"]["name"], doc["spec"]["nodeName"], now],
)
SECRET = Kind(
    group="",
    version="v1",
    kind="Secret",
    plural="secrets",
    message="core.v1.Secret",
    namespaced=True,
    deleted_as_status=True,
)
STORAGE_CLASS = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="StorageClass",
    plural="storageclasses",
    message="storage.v1.StorageClass",
    namespaced=False,
    short_names=("sc",),
)
SNAPSHOT = Kind(
    group="snapshot.storage.k8s.io",
    version="v1",
    kind="VolumeSnapshot",
    plural="volumesnapshots",
    message="snapshot.v1.VolumeSnapshot",
    namespaced=True,
    custom=True,
)
TOKEN_REVIEW = Kind(
    group="authentication.k8s.io",
    version="v1",
    kind="TokenReview",
    plural="tokenreviews",
    message="authentication.v1.TokenReview",
    namespaced=False,
    verbs=("create",),
)
BROKEN = Kind(
    group="broken.example.com",
    version="v1",
    kind="Broken",
    plural="brokens",
    message="broken.v1.Broken",
    namespaced=False,
)


def small_kinds() -> Kinds:
    return Kinds((POD, SECRET, STORAGE_CLASS, SNAPSHOT, TOKEN_REVIEW))


def _message(name: str, *fields: Field, atomic: bool = False, description: str = "") -> Message:
    return Message(name, {field.name: field for field in fields}, atomic, description)


def _kind(name: str, *fields: Field, description: str = "") -> Message:
    return _message(
        name,
        Field("apiVersion", 0, Scalar.STRING),
        Field("kind", 0, Scalar.STRING),
        Field("metadata", 1, "meta.v1.ObjectMeta"),
        *fields,
        description=description,
    )


_MESSAGES = (
    _message(
        "meta.v1.ObjectMeta",
        Field("name", 1, Scalar.STRING, description="Its name."),
        Field("creationTimestamp", 8, Scalar.TIME),
        Field("labels", 11, Scalar.STRING, Shape.MAP),
        Field("finalizers", 14, Scalar.STRING, Shape.LIST, Merge.SET),
    ),
    _message("meta.v1.ListMeta", Field("resourceVersion", 2, Scalar.STRING)),
    _kind("meta.v1.DeleteOptions"),
    _kind("meta.v1.Status", Field("code", 6, Scalar.INT32)),
    _kind(
        "core.v1.Pod",
        Field("spec", 2, "core.v1.PodSpec", description="What shall run."),
        description="Containers that run together.",
    ),
    _message(
        "core.v1.PodSpec",
        Field(
            "containers",
            2,
            "core.v1.Container",
            Shape.LIST,
            Merge.KEYED,
            keys=("name",),
            patch_key="name",
            required=True,
        ),
        Field(
            "volumes",
            1,
            "core.v1.Volume",
            Shape.LIST,
            Merge.KEYED,
            keys=("name",),
            patch_key="name",
            retain_keys=True,
        ),
        Field("nodeName", 10, Scalar.STRING),
        Field("nodeSelector", 7, Scalar.STRING, Shape.MAP, Merge.ATOMIC),
        Field("overhead", 32, Scalar.QUANTITY, Shape.MAP),
        Field("affinity", 18, "core.v1.Affinity", merge=Merge.ATOMIC, pointer=True),
        Field("owner", 41, "core.v1.Affinity", pointer=True),
        Field("resources", 40, "core.v1.VolumeSource", merge=Merge.ATOMIC),
    ),
    _message(
        "core.v1.Container",
        Field("name", 1, Scalar.STRING, required=True),
        Field("args", 4, Scalar.STRING, Shape.LIST, Merge.ATOMIC),
        Field("port", 6, Scalar.INT_OR_STRING),
        Field("terms", 7, "core.v1.Affinity", Shape.LIST, Merge.ATOMIC),
    ),
    _message(
        "core.v1.Volume",
        Field("name", 1, Scalar.STRING, required=True),
        Field("volumeSource", 2, "core.v1.VolumeSource", inline=True),
    ),
    _message(
        "core.v1.VolumeSource",
        Field("secretName", 1, Scalar.STRING, required=True),
        Field("localReference", 2, "core.v1.LocalReference", inline=True),
    ),
    _message("core.v1.LocalReference", Field("optional", 1, Scalar.BOOL), atomic=True),
    _message(
        "core.v1.Affinity",
        Field("inner", 1, "core.v1.Affinity", merge=Merge.ATOMIC, pointer=True),
        atomic=True,
    ),
    _kind("core.v1.Secret", Field("data", 2, Scalar.BYTES, Shape.MAP)),
    _kind("policy.v1.Eviction", Field("deleteOptions", 2, "meta.v1.DeleteOptions", pointer=True)),
    _kind("storage.v1.StorageClass", Field("weight", 3, Scalar.DOUBLE)),
    _kind("snapshot.v1.VolumeSnapshot", Field("status", 0, "snapshot.v1.SnapshotStatus")),
    _message(
        "snapshot.v1.SnapshotStatus",
        Field("size", 0, Scalar.INT64),
        Field("at", 0, Scalar.MICRO_TIME),
        Field("raw", 0, Scalar.ANY),
        Field("fields", 0, Scalar.FIELDS_V1),
    ),
    _kind(
        "authentication.v1.TokenReview",
        Field("extra", 4, "authentication.v1.ExtraValue", Shape.MAP),
    ),
    _message(
        "authentication.v1.ExtraValue",
        Field("items", 1, Scalar.STRING, Shape.LIST, Merge.ATOMIC, inline=True),
    ),
)

SMALL_SCHEMA = Schema({message.name: message for message in _MESSAGES})
