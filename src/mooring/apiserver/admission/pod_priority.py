"""Pods without a priority class have priority 0; there are two classes built in."""

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.request.refusals import forbidden

BUILT_IN = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
POLICY = "PreemptLowerPriority"


def give(attributes: AdmissionAttributes, objects: Objects) -> None:
    """On create: the class decides; what the pod says itself may only repeat it."""
    if attributes.new is None:
        return
    spec = attributes.new["spec"]
    name = spec.get("priorityClassName", "")
    if name and name not in BUILT_IN:
        raise forbidden(
            attributes.kind, attributes.name, f"no PriorityClass with name {name} was found"
        )
    computed = BUILT_IN.get(name, 0)
    for field, what, wanted in (
        ("priority", "integer value of priority", computed),
        ("preemptionPolicy", "string value of PreemptionPolicy", POLICY),
    ):
        said = spec.setdefault(field, wanted)
        if said != wanted:
            raise forbidden(
                attributes.kind,
                attributes.name,
                f"the {what} ({said}) must not be provided in pod spec; priority admission "
                f"controller computed {wanted} from the given PriorityClass name",
            )


def keep(attributes: AdmissionAttributes, objects: Objects) -> None:
    """On update: a client that left them out did not mean to change them."""
    if attributes.new is None or attributes.old is None:
        return
    for field in ("priority", "preemptionPolicy"):
        if field in attributes.old["spec"]:
            attributes.new["spec"].setdefault(field, attributes.old["spec"][field])
