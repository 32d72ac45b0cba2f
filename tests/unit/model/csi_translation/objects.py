"""Volumes and classes that the tests of the translators speak of."""

from typing import Any

from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wire import read_document

Doc = dict[str, Any]
ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"


def a_volume(
    labels: Doc | None = None,
    annotations: Doc | None = None,
    terms: list[Doc] | None = None,
    **spec: Any,
) -> Volume:
    """`terms` are of its node affinity: key to values."""
    if terms is not None:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [_term(term) for term in terms]}}
    metadata = {"name": "pv1", "labels": labels or {}, "annotations": annotations or {}}
    return read_document({"metadata": metadata, "spec": spec}, Volume)


def _term(term: Doc) -> Doc:
    wanted = [{"key": key, "operator": "In", "values": values} for key, values in term.items()]
    return {"matchExpressions": wanted}


def terms_of(volume: Volume) -> list[Doc]:
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    terms = () if required is None else required.node_selector_terms
    return [
        {wanted.key: list(wanted.values) for wanted in term.match_expressions} for term in terms
    ]


def a_class(provisioner: str, allowed: list[Doc] | None = None, **parameters: str) -> StorageClass:
    """`allowed` are its allowedTopologies: key to values."""
    terms = [
        {"matchLabelExpressions": [{"key": key, "values": each} for key, each in term.items()]}
        for term in allowed or []
    ]
    document = {
        "metadata": {"name": "c"},
        "provisioner": provisioner,
        "parameters": parameters,
        "allowedTopologies": terms,
    }
    return read_document(document, StorageClass)


def allowed_of(storage_class: StorageClass) -> list[Doc]:
    return [
        {wanted.key: list(wanted.values) for wanted in term.match_label_expressions}
        for term in storage_class.allowed_topologies
    ]
