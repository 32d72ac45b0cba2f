"""Pods for tests: small ones that pass, to which a test adds what it is about."""

from typing import Any

from mooring.apiserver.kinds.pod.pod import POD
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import BEFORE, create, created, merged


def a_container(**fields: Any) -> Doc:
    return {"name": "c", "image": "busybox:1", **fields}


def a_pod(*containers: Doc, status: Doc | None = None, **spec: Any) -> Doc:
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "web", "namespace": "default", "creationTimestamp": BEFORE},
        "spec": {
            "serviceAccountName": "default",
            "containers": list(containers) or [a_container()],
            **spec,
        },
        "status": status or {},
    }


def stored(*containers: Doc, status: Doc | None = None, **spec: Any) -> Doc:
    """The same after it was created, with the status its node gave it."""
    pod = created(POD, a_pod(*containers, **spec))
    return merged(pod, {"metadata": {"resourceVersion": "7"}, "status": status or {}})


def complaints(*containers: Doc, **spec: Any) -> list[str]:
    return create(POD, a_pod(*containers, **spec))
