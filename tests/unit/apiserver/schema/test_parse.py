"""The format of the schema files, and what the files must say."""

import pytest

from mooring.apiserver.schema.contract import Field, Merge, Scalar, Shape
from mooring.apiserver.schema.json_fields import embedding, json_fields, list_form
from mooring.apiserver.schema.parse import load, parse

FIELDS = {
    "a plain field": ("name 1 string", Field("name", 1, Scalar.STRING)),
    "a field with a description": (
        "name 1 string -- What it is -- or not.",
        Field("name", 1, Scalar.STRING, description="What it is -- or not."),
    ),
    "flags and a description": (
        "name 1 string pointer required -- It.",
        Field("name", 1, Scalar.STRING, pointer=True, required=True, description="It."),
    ),
    "a list is atomic": (
        "names 2 string[]",
        Field("names", 2, Scalar.STRING, Shape.LIST, Merge.ATOMIC),
    ),
    "a set": (
        "names 2 string[] set",
        Field("names", 2, Scalar.STRING, Shape.LIST, Merge.SET),
    ),
    "a set that strategic merge replaces": (
        "names 2 string[] set replace",
        Field("names", 2, Scalar.STRING, Shape.LIST, Merge.SET, patch_replaces=True),
    ),
    "a keyed list": (
        "items 3 Item[] key=a,b patch=a retain",
        Field(
            "items",
            3,
            "x.v1.Item",
            Shape.LIST,
            Merge.KEYED,
            keys=("a", "b"),
            patch_key="a",
            retain_keys=True,
        ),
    ),
    "a list that only strategic merge tells apart": (
        "items 3 Item[] patch=a",
        Field("items", 3, "x.v1.Item", Shape.LIST, Merge.ATOMIC, patch_key="a"),
    ),
    "a map is merged key by key": (
        "sizes 4 Quantity{}",
        Field("sizes", 4, Scalar.QUANTITY, Shape.MAP, Merge.GRANULAR),
    ),
    "an atomic map": (
        "sizes 4 string{} atomic",
        Field("sizes", 4, Scalar.STRING, Shape.MAP, Merge.ATOMIC),
    ),
    "a message of the same package": ("item 5 Item", Field("item", 5, "x.v1.Item")),
    "a message of another package": ("item 5 y.v1.Item", Field("item", 5, "y.v1.Item")),
    "a reference to an atomic message is atomic": (
        "ref 6 Ref",
        Field("ref", 6, "x.v1.Ref", merge=Merge.ATOMIC),
    ),
    "a reference may overrule an atomic message": (
        "ref 6 Ref granular",
        Field("ref", 6, "x.v1.Ref", merge=Merge.GRANULAR),
    ),
    "a list of atomic messages is no more atomic than others": (
        "refs 6 Ref[] key=name",
        Field("refs", 6, "x.v1.Ref", Shape.LIST, Merge.KEYED, keys=("name",)),
    ),
    "an inline part": ("part 7 Item inline", Field("part", 7, "x.v1.Item", inline=True)),
}
OTHERS = """
package y.v1
message Item
  a 1 string
package x.v1
message Item
  a 1 string
  b 2 string
message Ref atomic
  name 1 string
"""


@pytest.mark.parametrize(("line", "field"), FIELDS.values(), ids=FIELDS)
def test_field(line: str, field: Field) -> None:
    schema = parse([("test", f"# said first\n{OTHERS}\nmessage Sample\n  {line}\n")])
    assert schema.message("x.v1.Sample").fields == {field.name: field}


def test_a_kind_has_kind_and_api_version_but_not_in_protobuf() -> None:
    schema = parse([("test", "package x.v1\nmessage A kind -- It.\n  spec 1 string\n")])
    message = schema.message("x.v1.A")
    assert {name: field.number for name, field in message.fields.items()} == {
        "apiVersion": 0,
        "kind": 0,
        "spec": 1,
    }
    assert message.description == "It."


def test_a_package_may_have_several_names() -> None:
    schema = parse([("test", "package x.v1 x.v2\nmessage A\n  b 1 B\nmessage B atomic\n")])
    assert set(schema.messages) == {"x.v1.A", "x.v2.A", "x.v1.B", "x.v2.B"}
    assert schema.message("x.v2.A").fields["b"].type == "x.v2.B"
    assert schema.message("x.v2.B").atomic


BROKEN = {
    "an unknown type": "message A\n  b 1 Nothing\n",
    "an unknown flag": "message A\n  b 1 string shiny\n",
    "a message twice": "message A\nmessage A\n",
    "a field twice": "message A\n  b 1 string\n  b 2 string\n",
    "a line that is neither": "massage A\n",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_broken_files_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"A|b|massage"):
        parse([("test", f"package x.v1\n{text}")])


def test_no_number_is_used_twice_in_a_message() -> None:
    for message in load().messages.values():
        numbers = [field.number for field in message.fields.values() if field.number]
        assert len(numbers) == len(set(numbers)), message.name


CUSTOM = ("snapshot.", "groupsnapshot.", "populator.", "cbt.", "gateway.")


def test_only_what_upstream_serves_from_a_crd_is_outside_protobuf() -> None:
    for message in load().messages.values():
        own = [f for f in message.fields.values() if f.name not in ("kind", "apiVersion")]
        outside = {field.number == 0 for field in own}
        is_custom = message.name.startswith(CUSTOM)
        assert outside <= {is_custom}, message.name


def test_keys_are_fields_of_the_items() -> None:
    for message in load().messages.values():
        for field in message.fields.values():
            for key in (*field.keys, field.patch_key):
                if key:
                    assert isinstance(field.type, str)
                    assert key in json_fields(field.type), f"{message.name}.{field.name}"


def test_json_names_are_unique_within_an_object() -> None:
    for message in load().messages.values():
        own = [field.name for field in message.fields.values() if not field.inline]
        for field in message.fields.values():
            if field.inline and isinstance(field.type, str):
                own += json_fields(field.type)
        assert len(own) == len(set(own)), message.name


DESCRIBED = (
    "core.v1.PersistentVolumeClaim",
    "core.v1.PersistentVolume",
    "core.v1.CSIPersistentVolumeSource",
    "core.v1.HostPathVolumeSource",
    "core.v1.LocalVolumeSource",
    "core.v1.NFSVolumeSource",
    "core.v1.VolumeMount",
    "storage.v1.StorageClass",
    "storage.v1.VolumeAttachment",
    "storage.v1.CSIDriver",
    "storage.v1.CSINode",
    "storage.v1.CSIStorageCapacity",
    "storage.v1.VolumeAttributesClass",
    "snapshot.v1.VolumeSnapshot",
    "snapshot.v1.VolumeSnapshotContent",
    "snapshot.v1.VolumeSnapshotClass",
    "groupsnapshot.v1.VolumeGroupSnapshot",
    "coordination.v1.Lease",
    "certificates.v1beta1.ClusterTrustBundle",
    "meta.v1.ObjectMeta",
)


@pytest.mark.parametrize("name", DESCRIBED)
def test_what_explain_shows_is_described(name: str) -> None:
    message = load().message(name)
    assert message.description
    for field in json_fields(name).values():
        assert field.description, field.name


NUMBERS = {
    ("meta.v1.ObjectMeta", "managedFields"): 17,
    ("meta.v1.OwnerReference", "apiVersion"): 5,
    ("core.v1.PersistentVolumeSpec", "persistentVolumeSource"): 2,
    ("core.v1.PersistentVolumeSource", "csi"): 22,
    ("core.v1.PersistentVolumeClaimStatus", "allocatedResourceStatuses"): 7,
    ("core.v1.VolumeSource", "ephemeral"): 29,
    ("core.v1.Secret", "stringData"): 4,
    ("core.v1.DaemonEndpoint", "Port"): 1,
    ("storage.v1.CSIDriverSpec", "serviceAccountTokenInSecrets"): 10,
    ("coordination.v1.LeaseSpec", "preferredHolder"): 7,
    ("certificates.v1beta1.ClusterTrustBundleSpec", "trustBundle"): 2,
    ("authentication.v1.BoundObjectReference", "uid"): 4,
}


@pytest.mark.parametrize(
    ("place", "number"), NUMBERS.items(), ids=[".".join(place) for place in NUMBERS]
)
def test_number_on_the_wire(place: tuple[str, str], number: int) -> None:
    assert load().message(place[0]).fields[place[1]].number == number


MERGES = {
    ("meta.v1.ObjectMeta", "finalizers"): (Merge.SET, ()),
    ("meta.v1.ObjectMeta", "ownerReferences"): (Merge.KEYED, ("uid",)),
    ("meta.v1.ObjectMeta", "managedFields"): (Merge.ATOMIC, ()),
    ("core.v1.PodSpec", "volumes"): (Merge.KEYED, ("name",)),
    ("core.v1.PodSpec", "nodeSelector"): (Merge.ATOMIC, ()),
    ("core.v1.PodSpec", "tolerations"): (Merge.ATOMIC, ()),
    ("core.v1.Container", "ports"): (Merge.KEYED, ("containerPort", "protocol")),
    ("core.v1.Container", "volumeMounts"): (Merge.KEYED, ("mountPath",)),
    ("core.v1.PersistentVolumeSpec", "claimRef"): (Merge.GRANULAR, ()),
    ("core.v1.PersistentVolumeSpec", "accessModes"): (Merge.ATOMIC, ()),
    ("core.v1.PersistentVolumeClaimSpec", "selector"): (Merge.ATOMIC, ()),
    ("core.v1.PersistentVolumeClaimSpec", "dataSource"): (Merge.ATOMIC, ()),
    ("core.v1.CSIPersistentVolumeSource", "nodeStageSecretRef"): (Merge.ATOMIC, ()),
    ("core.v1.ServiceAccount", "secrets"): (Merge.KEYED, ("name",)),
    ("core.v1.ServiceAccount", "imagePullSecrets"): (Merge.ATOMIC, ()),
    ("core.v1.NodeSpec", "podCIDRs"): (Merge.SET, ()),
    ("storage.v1.CSIDriverSpec", "volumeLifecycleModes"): (Merge.SET, ()),
    ("storage.v1.CSIDriverSpec", "tokenRequests"): (Merge.ATOMIC, ()),
    ("storage.v1.CSINodeSpec", "drivers"): (Merge.KEYED, ("name",)),
    ("storage.v1.StorageClass", "parameters"): (Merge.GRANULAR, ()),
}


@pytest.mark.parametrize(("place", "rule"), MERGES.items(), ids=[".".join(p) for p in MERGES])
def test_rule_of_server_side_apply(
    place: tuple[str, str], rule: tuple[Merge, tuple[str, ...]]
) -> None:
    field = load().message(place[0]).fields[place[1]]
    assert (field.merge, field.keys) == rule


def test_inline_parts_are_among_the_json_fields() -> None:
    fields = json_fields("core.v1.PersistentVolumeSpec")
    assert "csi" in fields
    assert "persistentVolumeSource" not in fields
    assert embedding("core.v1.PersistentVolumeSpec", "csi") == ("PersistentVolumeSource",)
    assert embedding("core.v1.PersistentVolumeSpec", "capacity") == ()


def test_a_message_may_stand_for_a_list() -> None:
    assert list_form("authentication.v1.ExtraValue") is not None
    assert list_form("core.v1.Pod") is None
