"""StorageClasses as controllers read them."""

from typing import Any

import pytest

from mooring.model.storage_class import StorageClass, TopologyRequirement, TopologyTerm
from mooring.model.storage_terms import BindingMode, ReclaimPolicy
from tests.unit.model.reading import read

DOCUMENT: dict[str, Any] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "ebs.csi.example.com",
    "parameters": {"type": "gp3"},
    "reclaimPolicy": "Retain",
    "mountOptions": ["noatime"],
    "allowVolumeExpansion": True,
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowedTopologies": [
        {"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["z1", "z2"]}]}
    ],
}


def test_a_class() -> None:
    found = read(DOCUMENT, StorageClass)
    assert found.provisioner == "ebs.csi.example.com"
    assert found.parameters == {"type": "gp3"}
    assert found.reclaim_policy is ReclaimPolicy.RETAIN
    assert found.mount_options == ("noatime",)
    assert found.allow_volume_expansion is True
    assert found.waits_for_consumer
    assert found.provisions
    assert found.allowed_topologies == (
        TopologyTerm((TopologyRequirement("topology.kubernetes.io/zone", ("z1", "z2")),)),
    )


def test_a_bare_class_has_the_defaults_of_the_api() -> None:
    bare = {key: DOCUMENT[key] for key in ("apiVersion", "kind", "metadata")}
    found = read(bare | {"provisioner": "kubernetes.io/no-provisioner"}, StorageClass)
    assert found.reclaim_policy is ReclaimPolicy.DELETE
    assert found.volume_binding_mode is BindingMode.IMMEDIATE
    assert not found.waits_for_consumer
    assert not found.provisions
    assert found.allow_volume_expansion is None


BINDING = {
    "Immediate": (True, False),
    "WaitForFirstConsumer": (False, True),
    "AtFullMoon": (False, False),
}


@pytest.mark.parametrize("mode", BINDING)
def test_when_claims_are_bound(mode: str) -> None:
    found = read(DOCUMENT | {"volumeBindingMode": mode}, StorageClass)
    assert (found.binds_at_once, found.waits_for_consumer) == BINDING[mode]


DEFAULTS = {
    "the annotation": ({"storageclass.kubernetes.io/is-default-class": "true"}, True),
    "its old spelling": ({"storageclass.beta.kubernetes.io/is-default-class": "true"}, True),
    "only the word true": ({"storageclass.kubernetes.io/is-default-class": "True"}, False),
    "no annotation": ({}, False),
}


@pytest.mark.parametrize(("annotations", "answer"), DEFAULTS.values(), ids=DEFAULTS)
def test_default(annotations: dict[str, str], answer: bool) -> None:  # noqa: FBT001 - a column
    metadata = {"name": "fast", "annotations": annotations}
    assert read(DOCUMENT | {"metadata": metadata}, StorageClass).is_default is answer
