"""The schema as patching reads it."""

import pytest

from mooring.apiserver.patching.shape import OwnedAs, Shape, shape_of
from mooring.apiserver.schema.parse import load

PARTS: dict[str, tuple[str, str, OwnedAs]] = {
    "labels are a map": ("core.v1.Pod", "metadata.labels", OwnedAs.MAP),
    "finalizers are a set": ("core.v1.Pod", "metadata.finalizers", OwnedAs.SET),
    "owners are items that are leaves": (
        "core.v1.Pod",
        "metadata.ownerReferences.[]",
        OwnedAs.LEAF,
    ),
    "containers are keyed": ("core.v1.Pod", "spec.containers", OwnedAs.KEYED),
    "tolerations are one": ("core.v1.Pod", "spec.tolerations", OwnedAs.LEAF),
    "a node selector is one": ("core.v1.Pod", "spec.nodeSelector", OwnedAs.LEAF),
    "sources of a volume stand in its spec": (
        "core.v1.PersistentVolume",
        "spec.csi",
        OwnedAs.MESSAGE,
    ),
    "a secret reference is one": (
        "core.v1.PersistentVolume",
        "spec.csi.nodeStageSecretRef",
        OwnedAs.LEAF,
    ),
    "a claim reference is not": ("core.v1.PersistentVolume", "spec.claimRef", OwnedAs.MESSAGE),
    "a label selector is one": ("core.v1.PersistentVolumeClaim", "spec.selector", OwnedAs.LEAF),
    "lists in the guise of a message are one": (
        "authentication.v1.TokenReview",
        "status.user.extra.[]",
        OwnedAs.LEAF,
    ),
}


def _at(message: str, path: str) -> Shape:
    shape = shape_of(message, load())
    for name in path.split("."):
        found = shape.item if name == "[]" else (shape.fields or {}).get(name)
        assert found is not None, path
        shape = found
    return shape


@pytest.mark.parametrize(("message", "path", "then"), PARTS.values(), ids=PARTS)
def test_part(message: str, path: str, then: OwnedAs) -> None:
    assert _at(message, path).owned_as is then


@pytest.mark.parametrize(
    ("path", "then"),
    [
        ("spec", True),
        ("spec.resources", True),
        ("spec.selector", False),
        ("spec.accessModes", False),
    ],
)
def test_what_exists_whenever_its_parent_does(path: str, then: bool) -> None:  # noqa: FBT001 -- a column
    assert _at("core.v1.PersistentVolumeClaim", path).always is then


def test_ports_without_a_protocol_are_tcp() -> None:
    assert _at("core.v1.Pod", "spec.containers.[].ports").key_defaults["protocol"] == "TCP"


def test_every_message_has_a_shape() -> None:
    for message in load().messages:
        assert shape_of(message, load()).owned_as is OwnedAs.MESSAGE


def test_a_shape_is_made_once() -> None:
    assert shape_of("core.v1.Pod", load()) is shape_of("core.v1.Pod", load())
