"""The priority of a pod is that of its class; without one, that of the default class, or 0."""

import msgspec

from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.kinds.priority_class import GROUP, POLICY, SYSTEM_CLASSES
from mooring.apiserver.request.refusals import forbidden
from mooring.model.document import Doc

_PLURAL = "priorityclasses"


class _Priority(msgspec.Struct, frozen=True):
    value: int = 0
    policy: str = POLICY
    name: str = ""  # of the class


def give(attributes: AdmissionAttributes, objects: Objects) -> None:
    """On create: the class decides; what the pod says itself may only repeat it."""
    if attributes.new is None:
        return
    spec = attributes.new["spec"]
    computed = _computed(attributes, objects, spec.get("priorityClassName", ""))
    if computed.name:
        spec["priorityClassName"] = computed.name
    for field, what, wanted in (
        ("priority", "integer value of priority", computed.value),
        ("preemptionPolicy", "string value of PreemptionPolicy", computed.policy),
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


def check_default(attributes: AdmissionAttributes, objects: Objects) -> None:
    """Of a class that is written: at most one is the default of pods without any."""
    if attributes.new is None or not attributes.new.get("globalDefault"):
        return
    present = _find_default(objects)
    if present is None:
        return
    name = present["metadata"]["name"]
    if attributes.old is None or name != attributes.name:
        why = f"PriorityClass {name} is already marked as default. Only one default can exist"
        raise forbidden(attributes.kind, attributes.name, why)


def keep_system_classes(attributes: AdmissionAttributes, objects: Objects) -> None:
    """On delete of a class."""
    if attributes.name in SYSTEM_CLASSES:
        why = "this is a system priority class and cannot be deleted"
        raise forbidden(attributes.kind, attributes.name, why)


def _computed(attributes: AdmissionAttributes, objects: Objects, name: str) -> _Priority:
    if not name:
        found = _find_default(objects)
        return _Priority() if found is None else _of(found)
    found = objects.find(_PLURAL, "", name, GROUP) or SYSTEM_CLASSES.get(name)
    if found is None:
        why = f"no PriorityClass with name {name} was found"
        raise forbidden(attributes.kind, attributes.name, why)
    return _of(found)


def _of(found: Doc) -> _Priority:
    value, policy = found.get("value", 0), found.get("preemptionPolicy", POLICY)
    return _Priority(value, policy, found["metadata"]["name"])


def _find_default(objects: Objects) -> Doc | None:
    """Of several, which only races can bring about, the one with the lowest value."""
    found = (c for c in objects.all(_PLURAL, group=GROUP) if c.get("globalDefault"))
    return min(found, key=lambda c: int(c.get("value", 0)), default=None)
