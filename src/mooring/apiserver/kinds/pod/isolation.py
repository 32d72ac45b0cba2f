"""Fields of a pod that exclude each other: user namespaces and host namespaces, OS, host names.

Asked of new pods only: one that was stored before these rules can still be changed and ended.
"""

from collections.abc import Iterable, Iterator

from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from mooring.model.names import dns_subdomain

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_OWN_USERS = "when `hostUsers` is false"
_LONGEST_NAME = 64
_LONGEST_PROFILE = 4095
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_MOST_RULES, _MOST_CODES = 20, 255
_OPERATORS = ("In", "NotIn")
_WINDOWS, _LINUX = "windows", "linux"
_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
_ANNOTATED = ("", "runtime/default", "unconfined")
# What the rules below begin with.
_OF_SPECS = frozenset(("hostUsers", "hostPID", "hostnameOverride", "os"))
_OF_PODS = frozenset(("sysctls", "appArmorProfile"))
_OF_CONTAINERS = frozenset(("procMount", "appArmorProfile"))
# What a pod that says it is for Windows cannot mean.
_OF_LINUX_PODS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy"),
    *("sysctls", "runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy"),
    "seLinuxChangePolicy",
)
_OF_LINUX_SPECS = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_OF_LINUX_CONTAINERS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities"),
    *("readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount"),
    *("runAsUser", "runAsGroup"),
)


def validate_isolation(doc: Doc) -> Iterable[FieldError]:
    spec = doc.get("spec", {})
    annotations = doc.get("metadata", {}).get("annotations", {})
    if _may_contradict_itself(spec, annotations):
        yield from _validate(spec, annotations)


def _may_contradict_itself(spec: Doc, annotations: Doc) -> bool:
    """Most pods say nothing of all this, and need not be looked at five times."""
    if not _OF_SPECS.isdisjoint(spec) or any(key.startswith(_ANNOTATION) for key in annotations):
        return True
    if not _OF_PODS.isdisjoint(spec.get("securityContext", ())):
        return True
    return any(
        "restartPolicyRules" in container
        or not _OF_CONTAINERS.isdisjoint(container.get("securityContext", ()))
        for _, container in _containers(spec)
    )


def _validate(spec: Doc, annotations: Doc) -> Iterable[FieldError]:
    security = spec.get("securityContext", {})
    yield from _validate_users(spec)
    yield from _validate_settings(spec, security)
    if (profile := security.get("appArmorProfile")) is not None:
        yield from _validate_app_armor(profile, "spec.securityContext.appArmorProfile")
    for path, container in _containers(spec):
        own = container.get("securityContext", {})
        if (profile := own.get("appArmorProfile")) is not None:
            yield from _validate_app_armor(profile, f"{path}.securityContext.appArmorProfile")
        yield from _validate_restart_rules(container, path)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        yield invalid(
            "spec.shareProcessNamespace",
            spec["shareProcessNamespace"],
            "ShareProcessNamespace and HostPID cannot both be enabled",
        )
    yield from _validate_name(spec)
    yield from _validate_system(spec, security)
    yield from _validate_annotations(annotations, spec)


def _containers(spec: Doc) -> Iterator[tuple[str, Doc]]:
    for field in _CONTAINERS:
        for index, container in enumerate(spec.get(field, ())):
            yield f"spec.{field}[{index}]", container


def _validate_users(spec: Doc) -> Iterable[FieldError]:
    if spec.get("hostUsers") is not False:
        for path, container in _containers(spec):
            if container.get("securityContext", {}).get("procMount") == "Unmasked":
                yield invalid(
                    f"{path}.securityContext.procMount",
                    "Unmasked",
                    "`hostUsers` must be false to use `Unmasked`",
                )
        return
    # As upstream spells the fields.
    for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID")):
        if spec.get(field):
            yield forbidden(f"spec.{shown}", _OWN_USERS)
    if spec.get("hostIPC"):
        yield forbidden("spec.HostIPC", _OWN_USERS)
    for path, container in _containers(spec):
        if container.get("volumeDevices"):
            yield forbidden(f"{path}.volumeDevices", _OWN_USERS)


def _validate_settings(spec: Doc, security: Doc) -> Iterable[FieldError]:
    for index, setting in enumerate(security.get("sysctls", ())):
        name = setting.get("name", "")
        dotted, field = name.replace("/", "."), f"spec.securityContext.sysctls[{index}].name"
        if spec.get("hostNetwork") and dotted.startswith("net."):
            yield invalid(field, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and _is_of_ipc(dotted):
            yield invalid(field, name, "may not be specified when 'hostIPC' is true")


def _is_of_ipc(name: str) -> bool:
    return name == "kernel.sem" or name.startswith(("kernel.shm", "kernel.msg", "fs.mqueue."))


def _validate_app_armor(profile: Doc, path: str) -> Iterable[FieldError]:
    kind, name = profile.get("type", ""), profile.get("localhostProfile")
    field = f"{path}.localhostProfile"
    if not kind:
        yield required(f"{path}.type", "type is required when appArmorProfile is set")
    elif kind not in _PROFILES:
        yield not_supported(f"{path}.type", kind, _PROFILES)
    elif kind != "Localhost":
        if name is not None:
            yield invalid(field, name, "can only be set when AppArmor type is Localhost")
    elif name is None or not name:
        yield required(field, "must be set when AppArmor type is Localhost")
    else:
        if name != name.strip():
            yield invalid(field, name, "must not be padded with whitespace")
        if len(name.encode()) > _LONGEST_PROFILE:
            yield too_long(field, _LONGEST_PROFILE)


def _validate_annotations(annotations: Doc, spec: Doc) -> Iterable[FieldError]:
    names = {container.get("name") for _, container in _containers(spec)}
    for key, value in annotations.items():
        if not key.startswith(_ANNOTATION):
            continue
        name, field = key.removeprefix(_ANNOTATION), f"metadata.annotations[{key}]"
        if name not in names:
            yield invalid(field, name, "container not found")
        if value not in _ANNOTATED and not value.startswith("localhost/"):
            yield invalid(field, value, f'invalid AppArmor profile name: "{value}"')


def _validate_restart_rules(container: Doc, path: str) -> Iterable[FieldError]:
    rules = container.get("restartPolicyRules", ())
    if rules and container.get("restartPolicy") is None:
        yield required(
            f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used"
        )
    if len(rules) > _MOST_RULES:
        yield _too_many(f"{path}.restartPolicyRules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        at = f"{path}.restartPolicyRules[{index}]"
        if (action := rule.get("action", "")) != "Restart":
            yield not_supported(f"{at}.action", action, ("Restart",))
        codes = rule.get("exitCodes")
        if codes is None:
            yield required(f"{at}.exitCodes", "must be specified")
            continue
        if (operator := codes.get("operator", "")) not in _OPERATORS:
            yield not_supported(f"{at}.exitCodes.operator", operator, _OPERATORS)
        if (count := len(codes.get("values", ()))) > _MOST_CODES:
            yield _too_many(f"{at}.exitCodes.values", count, _MOST_CODES)


def _too_many(field: str, count: int, most: int) -> FieldError:
    text = f"Too many: {count}: must have at most {most} items"
    return FieldError(field, "FieldValueTooMany", text)


def _validate_name(spec: Doc) -> Iterable[FieldError]:
    name, field = spec.get("hostnameOverride"), "spec.hostnameOverride"
    if name is None:
        return
    if spec.get("setHostnameAsFQDN"):
        yield forbidden(field, "may not be specified when setHostnameAsFQDN is true")
    if spec.get("hostNetwork"):
        yield forbidden(field, "may not be specified when hostNetwork is true")
    if len(name) > _LONGEST_NAME:
        yield too_long(field, _LONGEST_NAME)
    for problem in dns_subdomain(name):
        yield invalid(field, name, problem)


def _validate_system(spec: Doc, security: Doc) -> Iterable[FieldError]:
    system = spec.get("os", {}).get("name")
    if system == _LINUX:
        text = "windows options cannot be set for a linux pod"
        if "windowsOptions" in security:
            yield forbidden("spec.securityContext.windowsOptions", text)
        for path, container in _containers(spec):
            if "windowsOptions" in container.get("securityContext", {}):
                yield forbidden(f"{path}.securityContext.windowsOptions", text)
    elif system == _WINDOWS:
        yield from _forbid(security, _OF_LINUX_PODS, "spec.securityContext")
        yield from _forbid(spec, _OF_LINUX_SPECS, "spec")
        for path, container in _containers(spec):
            own = container.get("securityContext", {})
            yield from _forbid(own, _OF_LINUX_CONTAINERS, f"{path}.securityContext")


def _forbid(part: Doc, fields: Iterable[str], path: str) -> Iterable[FieldError]:
    for field in fields:
        if field in part and part[field] not in ([], None):
            yield forbidden(f"{path}.{field}", "cannot be set for a windows pod")
