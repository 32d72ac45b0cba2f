"""Node: a machine that runs pods. Unlike the others, it may bring its status along when created."""

from collections.abc import Iterable
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

from mooring.apiserver.kinds.cells import NONE, age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind, Subresource
from mooring.apiserver.kinds.resources import validate_not_negative
from mooring.apiserver.kinds.selectable import flag_in
from mooring.apiserver.kinds.separation import keep, keep_all_but_status
from mooring.model.age import UNKNOWN
from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    show,
)
from mooring.model.names import label_value, qualified_name

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"
_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    first, ranges = spec.get("podCIDR"), spec.get("podCIDRs")
    if first and (not ranges or ranges[0] != first):
        spec["podCIDRs"] = [first]
    elif ranges and not first:
        spec["podCIDR"] = ranges[0]
    status = doc.setdefault("status", {})
    if "capacity" in status and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])
    if "nodeInfo" in status:  # typed clients refuse one that is only half there
        for field in _INFO:
            status["nodeInfo"].setdefault(field, "")


def _prepare_create(doc: Doc, _: Context) -> None:
    # What the removed dynamic configuration of nodes left behind in the schema.
    doc["spec"].pop("configSource", None)
    doc["status"].pop("config", None)


def _prepare_update(new: Doc, old: Doc, _: Context) -> None:
    keep(new, old, "status")
    keep(new["spec"], old.get("spec", {}), "configSource")


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc.get("spec", {})
    # The path is upstream's: taints began their life as an annotation.
    yield from _validate_taints(spec.get("taints", ()), "metadata.taints")
    yield from _validate_amounts(doc.get("status", {}))
    yield from _validate_ranges(spec.get("podCIDRs", ()))


def _validate_taints(taints: Iterable[Doc], path: str) -> Iterable[FieldError]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at = f"{path}[{index}]"
        key, value, effect = (taint.get(field, "") for field in ("key", "value", "effect"))
        for problem in qualified_name(key):
            yield invalid(f"{at}.key", key, problem)
        if problems := label_value(value):
            yield invalid(f"{at}.value", value, ";".join(problems))
        if not effect:
            yield required(f"{at}.effect")
        elif effect not in TAINT_EFFECTS:
            yield not_supported(f"{at}.effect", effect, TAINT_EFFECTS)
        if (key, effect) in seen:
            yield FieldError(
                at,
                "FieldValueDuplicate",
                f"Duplicate value: {show(taint)}: taints must be unique by key and effect pair",
            )
        seen.add((key, effect))


def _validate_amounts(status: Doc) -> Iterable[FieldError]:
    for field in ("capacity", "allocatable"):
        for resource, amount in status.get(field, {}).items():
            yield from validate_not_negative(f"status.{field}.{resource}", amount)


def _validate_ranges(ranges: list[str]) -> Iterable[FieldError]:
    families = []
    for index, text in enumerate(ranges):
        try:
            families.append(ip_network(text, strict=False).version)
        except ValueError:
            yield invalid(
                f"spec.podCIDRs[{index}]",
                text,
                "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            )
    if len(set(families)) < len(families):
        yield invalid(
            "spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family"
        )


def _validate_update(new: Doc, old: Doc) -> Iterable[FieldError]:
    now, before = new.get("spec", {}), old.get("spec", {})
    if before.get("podCIDRs") and now.get("podCIDRs") != before["podCIDRs"]:
        yield forbidden(
            "spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'
        )
    if before.get("providerID") and now.get("providerID") != before["providerID"]:
        yield invalid("spec.providerID", None, "field cannot be modified once set")


def _validate_update_before(new: Doc, old: Doc) -> Iterable[FieldError]:
    for error in _validate_update(new, old):
        if error.field != "spec.providerID":
            yield error
            continue
        yield forbidden(
            error.field, 'node updates may not change providerID except from "" to valid'
        )


def _validate_status(new: Doc, old: Doc) -> Iterable[FieldError]:
    yield from _validate_amounts(new.get("status", {}))
    seen = []
    for index, address in enumerate(new.get("status", {}).get("addresses", ())):
        if address in seen:
            yield duplicate(f"status.addresses[{index}]", address)
        seen.append(address)


def _warnings(doc: Doc) -> Iterable[str]:
    spec = doc.get("spec", {})
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"


def _readiness(doc: Doc) -> str:
    """`Ready`, `NotReady` or `Unknown`, and whether pods may be placed here."""
    state = "Unknown"
    for condition in doc.get("status", {}).get("conditions", ()):
        if condition.get("type") == "Ready":
            state = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if doc.get("spec", {}).get("unschedulable") else state


def _roles(doc: Doc) -> str:
    roles = set()
    for key, value in doc["metadata"].get("labels", {}).items():
        if key.startswith(_ROLE_PREFIX):
            roles.add(key.removeprefix(_ROLE_PREFIX))
        elif key == _ROLE_LABEL:
            roles.add(value)
    return ",".join(sorted(roles - {""})) or NONE


def _address(doc: Doc, kind: str) -> str:
    for address in doc.get("status", {}).get("addresses", ()):
        if address.get("type") == kind:
            text: str = address.get("address", "")
            return text
    return NONE


def _row(doc: Doc, now: str) -> list[Any]:
    info = doc.get("status", {}).get("nodeInfo", {})
    kernel = info.get("kernelVersion") or UNKNOWN
    if architecture := info.get("architecture"):
        kernel = f"{kernel} ({architecture})"
    return [
        name_of(doc),
        _readiness(doc),
        _roles(doc),
        age_of(doc, now),
        info.get("kubeletVersion", ""),
        _address(doc, "InternalIP"),
        _address(doc, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


NODE = Kind(
    group="",
    version="v1",
    kind="Node",
    plural="nodes",
    message="core.v1.Node",
    namespaced=False,
    short_names=("no",),
    status=True,
    subresources=(Subresource("proxy", ("get",), "NodeProxyOptions"),),
    columns=(
        NAME,
        Column("Status", description="Whether it is ready, and whether it takes new pods."),
        Column("Roles", description="What its labels say it is for."),
        AGE,
        Column("Version", description="The version its agent reports."),
        Column("Internal-IP", wide=True),
        Column("External-IP", wide=True),
        Column("OS-Image", wide=True),
        Column("Kernel-Version", wide=True),
        Column("Container-Runtime", wide=True),
    ),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    prepare_status=keep_all_but_status,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
    warnings=_warnings,
    fields={"spec.unschedulable": flag_in("spec", "unschedulable")},
    deleted_as_status=True,
)

NODE_BEFORE = replace(NODE, validate_update=_validate_update_before)
