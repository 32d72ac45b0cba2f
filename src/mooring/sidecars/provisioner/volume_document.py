"""The PersistentVolume of a provisioned volume."""

import msgspec

from mooring.csi.capability import WireMode
from mooring.csi.topology import to_node_affinity
from mooring.csi.volume import Volume as Made
from mooring.model import quantity
from mooring.model.claim import Claim
from mooring.model.csi_translation.translate import to_in_tree
from mooring.model.document import Doc
from mooring.model.reference import SecretReference
from mooring.model.storage_terms import STORAGE, VolumeMode
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation, Finalizer, Parameter
from mooring.model.wire import read_document
from mooring.sidecars.driver import Driver
from mooring.sidecars.provisioner.draft import Draft
from mooring.sidecars.provisioner.options import ProvisionerOptions


def document(
    draft: Draft, made: Made, driver: Driver, options: ProvisionerOptions, identity: str
) -> Doc:
    """`identity` is that of the provisioner; drivers find it among the volume's attributes.

    Raises: TranslationError for a volume of a migrated class that its plugin could not have.
    """
    claim, storage_class = draft.claim, draft.storage_class
    spec: Doc = {
        "capacity": {STORAGE: str(quantity.from_bytes(size_of(draft, made)))},
        "accessModes": list(claim.spec.access_modes),
        "persistentVolumeReclaimPolicy": storage_class.reclaim_policy,
        "storageClassName": claim.storage_class,
        "volumeMode": claim.spec.volume_mode,
        "claimRef": _claim_reference(claim),
        "csi": _source(draft, made, driver, options, identity),
    }
    if storage_class.mount_options:
        spec["mountOptions"] = list(storage_class.mount_options)
    if claim.spec.volume_attributes_class_name:
        spec["volumeAttributesClassName"] = claim.spec.volume_attributes_class_name
    affinity = to_node_affinity(made.topologies) if driver.abilities.has_topology else None
    if affinity is not None:
        spec["nodeAffinity"] = {"required": msgspec.to_builtins(affinity)}
    told = {
        "apiVersion": Volume.resource.api_version,
        "kind": Volume.resource.kind,
        "metadata": {
            "name": draft.request.name,
            "annotations": _annotations(draft),
            "finalizers": [Finalizer.EXTERNAL_PROVISIONER],
        },
        "spec": spec,
    }
    return told if storage_class.provisioner == driver.name else _in_tree(told)


def _in_tree(told: Doc) -> Doc:
    """As the class's own plugin has it: on a cluster without the driver it can still be read.

    Raises: TranslationError.
    """
    volume = to_in_tree(read_document(told, Volume))
    found = volume.spec.find_source()
    spec = {key: value for key, value in told["spec"].items() if key != "csi"}
    if found is not None:
        spec[found[0]] = msgspec.to_builtins(found[1])
    if volume.spec.node_affinity is not None:
        spec["nodeAffinity"] = msgspec.to_builtins(volume.spec.node_affinity)
    metadata = {**told["metadata"], "annotations": dict(volume.metadata.annotations)}
    if volume.metadata.labels:
        metadata["labels"] = dict(volume.metadata.labels)
    return {**told, "metadata": metadata, "spec": spec}


def size_of(draft: Draft, made: Made) -> int:
    """In bytes; a driver that does not say gave what was asked for."""
    return made.capacity_bytes or wanted_bytes(draft)


def wanted_bytes(draft: Draft) -> int:
    return draft.request.capacity.required_bytes if draft.request.capacity else 0


def _claim_reference(claim: Claim) -> Doc:
    return {
        "kind": Claim.resource.kind,
        "apiVersion": Claim.resource.api_version,
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": claim.uid,
        "resourceVersion": claim.metadata.resource_version,
    }


def _annotations(draft: Draft) -> Doc:
    deletes, modifies = draft.references.provisioner, draft.references.controller_modify
    annotations = {
        Annotation.PROVISIONED_BY: draft.storage_class.provisioner,
        Annotation.DELETION_SECRET_NAME: deletes.name if deletes else "",
        Annotation.DELETION_SECRET_NAMESPACE: deletes.namespace if deletes else "",
    }
    if modifies is not None:
        annotations[Annotation.MODIFY_SECRET_NAME] = modifies.name
        annotations[Annotation.MODIFY_SECRET_NAMESPACE] = modifies.namespace
    return annotations


def _source(
    draft: Draft, made: Made, driver: Driver, options: ProvisionerOptions, identity: str
) -> Doc:
    modes = [capability.mode for capability in draft.request.capabilities]
    source: Doc = {
        "driver": driver.name,
        "volumeHandle": made.volume_id,
        "volumeAttributes": {Parameter.PROVISIONER_IDENTITY: identity, **made.context},
    }
    if modes == [WireMode.MULTI_NODE_READER_ONLY] and options.controller_publish_readonly:
        source["readOnly"] = True
    if draft.fs_type and draft.claim.spec.volume_mode is not VolumeMode.BLOCK:
        source["fsType"] = draft.fs_type
    references = draft.references
    for field, reference in (
        ("controllerPublishSecretRef", references.controller_publish),
        ("nodeStageSecretRef", references.node_stage),
        ("nodePublishSecretRef", references.node_publish),
        ("controllerExpandSecretRef", references.controller_expand),
        ("nodeExpandSecretRef", references.node_expand),
    ):
        if reference is not None:
            source[field] = _reference(reference)
    return source


def _reference(reference: SecretReference) -> Doc:
    return {"name": reference.name, "namespace": reference.namespace}
