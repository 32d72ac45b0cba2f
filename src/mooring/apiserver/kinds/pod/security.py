"""Security contexts of pods and containers."""

import re
from collections.abc import Iterable

from mooring.apiserver.kinds.path_rules import validate_descending
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, not_supported, required

_MOST_ID = 2**31 - 1
_ID_TEXT = f"must be between 0 and {_MOST_ID}, inclusive"
_SECCOMP_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_PROC_MOUNTS = ("Default", "Unmasked")
_SYSCTL = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_MOST_SYSCTL = 253
_SYSCTL_TEXT = (
    f"must have at most {_MOST_SYSCTL} characters and match regex "
    r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)
_CHOICES = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "seLinuxChangePolicy": ("MountOption", "Recursive"),
}


def validate_pod_security(context: Doc, path: str) -> Iterable[FieldError]:
    yield from _validate_ids(context, ("fsGroup", "runAsUser", "runAsGroup"), path)
    for index, group in enumerate(context.get("supplementalGroups", ())):
        if not 0 <= group <= _MOST_ID:
            yield invalid(f"{path}.supplementalGroups[{index}]", group, _ID_TEXT)
    yield from _validate_sysctls(context.get("sysctls", ()), f"{path}.sysctls")
    for field, supported in _CHOICES.items():
        if (choice := context.get(field)) is not None and choice not in supported:
            yield not_supported(f"{path}.{field}", choice, supported)
    if (profile := context.get("seccompProfile")) is not None:
        yield from _validate_seccomp(profile, f"{path}.seccompProfile")


def validate_container_security(context: Doc, path: str) -> Iterable[FieldError]:
    yield from _validate_ids(context, ("runAsUser", "runAsGroup"), path)
    if (mount := context.get("procMount")) is not None and mount not in _PROC_MOUNTS:
        yield not_supported(f"{path}.procMount", mount, _PROC_MOUNTS)
    if (profile := context.get("seccompProfile")) is not None:
        yield from _validate_seccomp(profile, f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is not False:
        return
    if context.get("privileged"):
        yield invalid(
            path,
            context,
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
        )
    if "CAP_SYS_ADMIN" in context.get("capabilities", {}).get("add", ()):
        yield invalid(
            path,
            context,
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
        )


def _validate_ids(context: Doc, fields: tuple[str, ...], path: str) -> Iterable[FieldError]:
    for field in fields:
        number = context.get(field)
        if number is not None and not 0 <= number <= _MOST_ID:
            yield invalid(f"{path}.{field}", number, _ID_TEXT)


def _validate_sysctls(settings: Iterable[Doc], path: str) -> Iterable[FieldError]:
    names: set[str] = set()
    for index, setting in enumerate(settings):
        field, name = f"{path}[{index}].name", setting.get("name", "")
        if not name:
            yield required(field)
        elif len(name) > _MOST_SYSCTL or not _SYSCTL.fullmatch(name):
            yield invalid(field, name, _SYSCTL_TEXT)
        elif name in names:
            yield duplicate(field, name)
        names.add(name)


def _validate_seccomp(profile: Doc, path: str) -> Iterable[FieldError]:
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if not kind:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in _SECCOMP_TYPES:
        yield not_supported(f"{path}.type", kind, _SECCOMP_TYPES)
    if kind == "Localhost":
        if local is None:
            yield required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
        else:
            yield from validate_descending(local, f"{path}.localhostProfile")
    elif local is not None:
        yield invalid(
            f"{path}.localhostProfile", profile, "can only be set when seccomp type is Localhost"
        )
