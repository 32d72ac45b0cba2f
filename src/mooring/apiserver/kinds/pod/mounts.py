"""volumeMounts and volumeDevices of a container: the pod's volumes as directories or devices."""

from collections.abc import Iterable, Mapping

from mooring.apiserver.kinds.path_rules import validate_descending
from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def validate_mounts(container: Doc, volumes: Mapping[str, Doc], path: str) -> Iterable[FieldError]:
    """Errors of `volumeMounts`; `volumes` are the pod's, by name.

    Some are reported without the mount's index, as upstream does.
    """
    mounts = container.get("volumeMounts")
    if not mounts:
        return
    base = f"{path}.volumeMounts"
    devices = container.get("volumeDevices", ())
    device_names = {device.get("name", "") for device in devices}
    device_paths = {device.get("devicePath", "") for device in devices}
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        at = f"{base}[{index}]"
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{at}.name")
        if name not in volumes:
            yield not_found(f"{at}.name", name)
        if not target:
            yield required(f"{at}.mountPath")
        if target in seen:
            yield invalid(f"{at}.mountPath", target, "must be unique")
        seen.add(target)
        if name in device_names:
            yield invalid(f"{at}.name", name, "must not already exist in volumeDevices")
        if target in device_paths:
            yield invalid(
                f"{at}.mountPath", target, "must not already exist as a path in volumeDevices"
            )
        yield from _validate_sub_path(mount, at, base)
        if "mountPropagation" in mount:
            yield from _validate_propagation(mount, container, f"{base}.mountPropagation")
        if "recursiveReadOnly" in mount:
            yield from _validate_recursive(mount, f"{base}.recursiveReadOnly")


def _validate_sub_path(mount: Doc, at: str, base: str) -> Iterable[FieldError]:
    if sub_path := mount.get("subPath"):
        yield from validate_descending(sub_path, f"{base}.subPath")
    if expression := mount.get("subPathExpr"):
        if sub_path:
            yield invalid(
                f"{at}.subPathExpr",
                expression,
                "subPathExpr and subPath are mutually exclusive",
            )
        yield from validate_descending(expression, f"{base}.subPathExpr")


def _validate_propagation(mount: Doc, container: Doc, field: str) -> Iterable[FieldError]:
    propagation = mount["mountPropagation"]
    if propagation not in _PROPAGATIONS:
        yield not_supported(field, propagation, _PROPAGATIONS)
    privileged = container.get("securityContext", {}).get("privileged")
    if propagation == "Bidirectional" and not privileged:
        yield forbidden(
            field, "Bidirectional mount propagation is available only to privileged containers"
        )


def _validate_recursive(mount: Doc, field: str) -> Iterable[FieldError]:
    wish = mount["recursiveReadOnly"]
    if wish not in _RECURSIVE:
        yield not_supported(field, wish, _RECURSIVE)
    elif wish != "Disabled":
        if not mount.get("readOnly"):
            yield forbidden(field, "may only be specified when readOnly is true")
        if mount.get("mountPropagation", "None") != "None":
            yield forbidden(
                field,
                "may only be specified when mountPropagation is None or not specified",
            )


def validate_devices(container: Doc, volumes: Mapping[str, Doc], path: str) -> Iterable[FieldError]:
    """Complaints about `volumeDevices`: only claims come as devices."""
    devices = container.get("volumeDevices")
    if not devices:
        return
    mounts = container.get("volumeMounts", ())
    mount_names = {mount.get("name", "") for mount in mounts}
    mount_paths = {mount.get("mountPath", "") for mount in mounts}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(devices):
        at = f"{path}.volumeDevices[{index}]"
        name, target = device.get("name", ""), device.get("devicePath", "")
        if not name:
            yield required(f"{at}.name")
        if name in names:
            yield invalid(f"{at}.name", name, "must be unique")
        yield from _validate_is_claim(name, volumes, at)
        if not target:
            yield required(f"{at}.devicePath")
        if target in paths:
            yield invalid(f"{at}.devicePath", target, "must be unique")
        if ".." in target.split("/"):
            yield invalid(f"{at}.devicePath", target, "can not contain backsteps ('..')")
        else:
            paths.add(target)
        if name in mount_names:
            yield invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if target in mount_paths:
            yield invalid(
                f"{at}.devicePath", target, "must not already exist as a path in volumeMounts"
            )
        if name:
            names.add(name)


def _validate_is_claim(name: str, volumes: Mapping[str, Doc], at: str) -> Iterable[FieldError]:
    volume = volumes.get(name)
    if volume is None:
        yield not_found(f"{at}.name", name)
    elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
        yield invalid(
            f"{at}.name",
            name,
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
        )
