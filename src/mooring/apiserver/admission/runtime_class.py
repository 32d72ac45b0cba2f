"""There are no runtime classes here: a pod that names one, or their overhead, is refused."""

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.request.refusals import forbidden


def check(attributes: AdmissionAttributes, objects: Objects) -> None:
    """On create; what upstream says of a class that does not exist."""
    if attributes.new is None:
        return
    spec = attributes.new["spec"]
    if name := spec.get("runtimeClassName"):
        why = f'pod rejected: RuntimeClass "{name}" not found'
        raise forbidden(attributes.kind, attributes.name, why)
    if spec.get("overhead"):
        why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise forbidden(attributes.kind, attributes.name, why)
