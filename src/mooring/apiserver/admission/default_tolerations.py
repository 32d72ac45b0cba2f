"""Pods stay for five minutes on a node that is not ready or cannot be reached, unless they say."""

from collections.abc import Iterable

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.model.document import Doc

TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
EFFECT = "NoExecute"
SECONDS = 300


def give(attributes: AdmissionAttributes, objects: Objects) -> None:
    """On create and update, as upstream: a pod never loses them by a write that leaves them out."""
    if attributes.new is None:
        return
    spec = attributes.new["spec"]
    tolerations = spec.get("tolerations", [])
    missing = [
        {"key": taint, "operator": "Exists", "effect": EFFECT, "tolerationSeconds": SECONDS}
        for taint in TAINTS
        if not _is_tolerated(taint, tolerations)
    ]
    if missing:
        spec["tolerations"] = [*tolerations, *missing]


def _is_tolerated(taint: str, tolerations: Iterable[Doc]) -> bool:
    return any(
        toleration.get("key", "") in ("", taint) and toleration.get("effect", "") in ("", EFFECT)
        for toleration in tolerations
    )
