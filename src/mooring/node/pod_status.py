"""What a node writes into the status of a pod that has no containers yet, or never will. Pure."""

from mooring.model.document import Doc
from mooring.model.pod import Pod
from mooring.node.pods.status import Circumstances, document, status_of
from mooring.node.pods.view import View


def creating(pod: Pod, now: str, host_address: str) -> Doc:
    """The status of a pod that this node has taken on, and whose volumes are coming."""
    return document(pod, status_of(View(pod, 0.0), Circumstances(now, host_address)))


def rejected(reason: str, message: str) -> Doc:
    """The status of a pod that this node will not run."""
    status = {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {message}"}
    return {"status": status}
