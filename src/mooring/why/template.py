"""Where the pods of a workload come from: the object whose template, or count, can be changed."""

from mooring.model.pod import Pod
from mooring.why.answer import Ref
from mooring.why.found import is_plain

_TEMPLATE_HASH = "pod-template-hash"
_CHANGEABLE = frozenset({"StatefulSet", "DaemonSet", "ReplicaSet"})


def find_template(pod: Pod) -> Ref | None:
    """Of a pod of a deployment the deployment, by the name of its replica set."""
    owner = pod.metadata.find_controller()
    if owner is None or owner.kind not in _CHANGEABLE or not is_plain(owner.name):
        return None
    suffix = f"-{pod.metadata.labels.get(_TEMPLATE_HASH, '')}"
    if owner.kind == "ReplicaSet" and len(suffix) > 1 and owner.name.endswith(suffix):
        return Ref("Deployment", owner.name.removesuffix(suffix), pod.namespace)
    return Ref(owner.kind, owner.name, pod.namespace)
