"""Parameters of snapshot classes: what the driver sees, and which secrets they name."""

import pytest

from mooring.model.meta import ObjectMeta
from mooring.model.reference import ObjectReference, SecretReference
from mooring.model.snapshot import ContentSource, ContentSpec, DeletionPolicy, SnapshotContent
from mooring.model.wellknown import Annotation
from mooring.sidecars.snapshotter.options import NamePattern
from mooring.sidecars.snapshotter.parameters import (
    LIST,
    Impossible,
    find_content_secret,
    find_secret,
    for_driver,
)

KNOWN = {"volumesnapshotcontent.name": "content"}
PREFIX = "csi.storage.k8s.io/"


def test_keys_of_ours_are_not_for_the_driver() -> None:
    secrets = ("snapshotter", "snapshotter-list", "group-snapshotter", "group-snapshotter-get")
    ours = {
        f"{PREFIX}{kind}-secret-{end}": "x" for kind in secrets for end in ("name", "namespace")
    }
    assert for_driver({**ours, "pool": "fast"}) == {"pool": "fast"}
    with pytest.raises(Impossible, match="found unknown parameter key"):
        for_driver({f"{PREFIX}fstype": "ext4"})


def test_a_secret_to_list_with() -> None:
    def secret(name: str, namespace: str = "ns") -> SecretReference | None:
        keys = {LIST.name_key: name, LIST.namespace_key: namespace}
        return find_secret(LIST, keys, KNOWN)

    assert find_secret(LIST, {"pool": "fast"}, KNOWN) is None
    assert secret("${volumesnapshotcontent.name}") == SecretReference("content", "ns")
    with pytest.raises(Impossible, match="invalid tokens"):
        secret("${volumesnapshot.name}")
    with pytest.raises(Impossible, match="both must be"):
        secret("key", "")
    with pytest.raises(Impossible, match="not a valid namespace"):
        secret("key", "Not a namespace")


@pytest.mark.parametrize(
    ("length", "name"),
    [(-1, "snapshot-1-2-3"), (0, "snapshot-"), (2, "snapshot-12"), (9, "snapshot-123")],
)
def test_names(length: int, name: str) -> None:
    assert NamePattern("snapshot", length).name("1-2-3") == name


def test_a_noted_secret_has_both_parts_or_none() -> None:
    def content(**notes: str) -> SnapshotContent:
        return SnapshotContent(
            metadata=ObjectMeta(name="content", annotations=notes),
            spec=ContentSpec("d", DeletionPolicy.DELETE, ObjectReference(), ContentSource("v")),
        )

    name, namespace = Annotation.SNAPSHOT_SECRET_NAME, Annotation.SNAPSHOT_SECRET_NAMESPACE
    assert find_content_secret(content()) is None
    both = content(**{name: "key", namespace: "ns"})
    assert find_content_secret(both) == SecretReference("key", "ns")
    for one in (name, namespace):
        with pytest.raises(Impossible, match="must both be set"):
            find_content_secret(content(**{one: "x"}))
