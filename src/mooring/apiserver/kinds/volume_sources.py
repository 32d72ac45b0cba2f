"""The sources of a PersistentVolume, and their validation.

A source's rules are one function, `(source, path, volume name) -> errors`. Some errors are
reported at a path other than the source's own, or twice, as upstream does.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from mooring.apiserver.kinds.recurring import is_good
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required
from mooring.model.names import csi_driver_name, csi_driver_name_errors, dns_label, dns_subdomain

Check = Callable[[Doc, str, str], Iterable[FieldError]]

_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_CSI_SECRETS = (  # nodeStageSecretRef is not among them: it was never checked
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)
_ISCSI_NAMES = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)\Z", re.ASCII),
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}\Z", re.ASCII),
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}\Z", re.ASCII),
}
_HOST_PORTS = "must be a host:port pair or multiple pairs separated by commas"
_is_host_port = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*").fullmatch
_AZURE_CACHING = ("None", "ReadOnly", "ReadWrite")
_AZURE_KINDS = ("Dedicated", "Managed", "Shared")
_AZURE_MANAGED_URI = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}"
    "/providers/microsoft.compute/disks/{disk-id}"
)
_AZURE_BLOB_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"

_DEFAULTS: dict[str, dict[str, Any]] = {  # for fields that are absent
    "hostPath": {"type": ""},
    "iscsi": {"lun": 0},
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
}
_DEFAULTS_WHEN_EMPTY = {  # for fields that are absent or empty
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "iscsi": {"iscsiInterface": "default"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def default_sources(spec: Doc) -> None:
    for name in _DEFAULTS.keys() & spec.keys():
        for field, value in _DEFAULTS[name].items():
            spec[name].setdefault(field, value)
    for name in _DEFAULTS_WHEN_EMPTY.keys() & spec.keys():
        for field, value in _DEFAULTS_WHEN_EMPTY[name].items():
            spec[name][field] = spec[name].get(field) or value


def validate_sources(spec: Doc, path: str, volume: str) -> Iterable[FieldError]:
    """Complaints about the sources in `spec`: there must be one, and it must be well formed."""
    present = SOURCES.keys() & spec.keys()
    if len(present) == 1:
        (name,) = present
        return SOURCES[name](spec[name], f"{path}.{_PATHS.get(name, name)}", volume)
    if not present:
        return (required(path, "must specify a volume type"),)
    return _validate_first(spec, path, volume)


def _validate_first(spec: Doc, path: str, volume: str) -> Iterable[FieldError]:
    first, *others = (name for name in SOURCES if name in spec)
    yield from SOURCES[first](spec[first], f"{path}.{_PATHS.get(first, first)}", volume)
    for name in others:
        yield forbidden(f"{path}.{name}", "may not specify more than 1 volume type")


def sources_in(spec: Doc) -> Doc:
    return {name: source for name, source in spec.items() if name in SOURCES}


def _needs(*fields: str) -> Check:
    """A source with nothing to it but fields that must be there."""

    def check(source: Doc, path: str, _: str) -> Iterable[FieldError]:
        return [required(f"{path}.{field}") for field in fields if not source.get(field)]

    return check


def _csi(source: Doc, path: str, _: str) -> Iterable[FieldError]:
    driver = source.get("driver", "")
    if not is_good(csi_driver_name, driver):
        yield from csi_driver_name_errors(f"{path}.driver", driver)
    if not source.get("volumeHandle"):
        yield required(f"{path}.volumeHandle")
    if not source.keys().isdisjoint(_CSI_SECRETS):
        yield from _csi_secrets(source, path)


def _csi_secrets(source: Doc, path: str) -> Iterable[FieldError]:
    for field in _CSI_SECRETS:
        if (reference := source.get(field)) is not None:
            yield from _secret_reference(reference, f"{path}.{field}")


def _secret_reference(reference: Doc, path: str) -> Iterable[FieldError]:
    for field, rule in (("name", dns_subdomain), ("namespace", dns_label)):
        if value := reference.get(field):
            for problem in rule(value):
                yield invalid(f"{path}.{field}", value, problem)
        else:
            yield required(f"{path}.{field}")


def _host_path(source: Doc, path: str, _: str) -> Iterable[FieldError]:
    if not source.get("path"):
        yield required(f"{path}.path")
        return
    yield from _no_steps_back(source["path"], f"{path}.path")
    if (sort := source.get("type", "")) not in _HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", sort, _HOST_PATH_TYPES)


def _local(source: Doc, path: str, _: str) -> Iterable[FieldError]:
    if not source.get("path"):
        yield required(f"{path}.path")
        return
    yield from _no_steps_back(source["path"], f"{path}.path")


def _no_steps_back(text: str, field: str) -> Iterable[FieldError]:
    if ".." in text.split("/"):
        yield invalid(field, text, "must not contain '..'")


def _nfs(source: Doc, path: str, _: str) -> Iterable[FieldError]:
    if not source.get("server"):
        yield required(f"{path}.server")
    exported = source.get("path", "")
    if not exported:
        yield required(f"{path}.path")
    if not exported.startswith("/"):
        yield invalid(f"{path}.path", exported, "must be an absolute path")


def _iscsi(source: Doc, path: str, volume: str) -> Iterable[FieldError]:
    portal, initiator = source.get("targetPortal", ""), source.get("initiatorName")
    if not portal:
        yield required(f"{path}.targetPortal")
    if initiator is not None and len(f"{volume}:{portal}".encode()) > 64:
        yield invalid(
            f"{path}.targetportal",
            portal,
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
            "if iscsi.initiatorName is specified.",
        )
    if not source.get("iqn"):
        yield required(f"{path}.iqn")
    elif not _is_iscsi_name(source["iqn"]):
        yield invalid(f"{path}.iqn", source["iqn"], "must be valid format")
    yield from _within_byte(source.get("lun", 0), f"{path}.lun")
    secret = source.get("secretRef")
    if secret is None and (source.get("chapAuthDiscovery") or source.get("chapAuthSession")):
        yield required(f"{path}.secretRef")
    if secret is not None and not secret.get("name"):
        yield required(f"{path}.secretRef.name")
    if initiator is not None and not _is_iscsi_name(initiator):
        yield invalid(f"{path}.initiatorname", initiator, "must be valid format")


def _is_iscsi_name(name: str) -> bool:
    pattern = _ISCSI_NAMES.get(name[:3])
    return pattern is not None and pattern.match(name) is not None


def _within_byte(number: int, field: str) -> Iterable[FieldError]:
    if not 0 <= number <= 255:
        yield invalid(field, number, "must be between 0 and 255, inclusive")


def _fc(source: Doc, path: str, _: str) -> Iterable[FieldError]:
    targets, ids = source.get("targetWWNs"), source.get("wwids")
    field = f"{path}.targetWWNs"
    if not targets and not ids:
        yield required(field, "must specify either targetWWNs or wwids, but not both")
    if targets and ids:
        yield invalid(field, targets, "targetWWNs and wwids can not be specified simultaneously")
    if targets and "lun" not in source:
        yield required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif targets:
        yield from _within_byte(source["lun"], f"{path}.lun")


def _cloud_disk(name: str) -> Check:
    def check(source: Doc, path: str, _: str) -> Iterable[FieldError]:
        if not source.get(name):
            yield required(f"{path}.{name}")
        if not 0 <= (partition := source.get("partition", 0)) <= 255:
            yield invalid(f"{path}.partition", partition, "must be between 1 and 255, inclusive")

    return check


def _glusterfs(source: Doc, path: str, volume: str) -> Iterable[FieldError]:
    yield from _needs("endpoints", "path")(source, path, volume)
    namespace, field = source.get("endpointsNamespace"), f"{path}.endpointsNamespace"
    if namespace == "":
        yield invalid(
            field,
            namespace,
            "if the endpointnamespace is set, it must be a valid namespace name",
        )
    elif namespace is not None:
        for problem in dns_label(namespace):
            yield invalid(field, namespace, problem)


def _flocker(source: Doc, path: str, _: str) -> Iterable[FieldError]:
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID")
    if not name and not uuid:
        yield required(path, "one of datasetName and datasetUUID is required")
    if name and uuid:
        yield invalid(
            path, "resource", "datasetName and datasetUUID can not be specified simultaneously"
        )
    if "/" in name:
        yield invalid(f"{path}.datasetName", name, "must not contain '/'")


def _quobyte(source: Doc, path: str, _: str) -> Iterable[FieldError]:
    registry = source.get("registry", "")
    if not registry:
        yield required(f"{path}.registry", _HOST_PORTS)
    elif len(source.get("tenant", "")) > 64:
        yield required(
            f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters"
        )
    elif not all(map(_is_host_port, registry.split(","))):
        yield invalid(f"{path}.registry", registry, _HOST_PORTS)
    if not source.get("volume"):
        yield required(f"{path}.volume")


def _cinder(source: Doc, path: str, _: str) -> Iterable[FieldError]:
    if not source.get("volumeID"):
        yield required(f"{path}.volumeID")
    yield from _named_secret(source, path)


def _named_secret(source: Doc, path: str) -> Iterable[FieldError]:
    if (secret := source.get("secretRef")) is not None:
        for field in ("name", "namespace"):
            if not secret.get(field):
                yield required(f"{path}.secretRef.{field}")


def _flex_volume(source: Doc, path: str, _: str) -> Iterable[FieldError]:
    if not source.get("driver"):
        yield required(f"{path}.driver")
    for key in source.get("options") or ():
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            yield invalid(
                f"{path}.options[{key}]", key, "kubernetes.io and k8s.io namespaces are reserved"
            )


def _azure_file(source: Doc, path: str, volume: str) -> Iterable[FieldError]:
    yield from _needs("secretName", "shareName")(source, path, volume)
    if source.get("secretNamespace") == "":
        yield required(f"{path}.secretNamespace")


def _azure_disk(source: Doc, path: str, volume: str) -> Iterable[FieldError]:
    yield from _needs("diskName", "diskURI")(source, path, volume)
    if (caching := source.get("cachingMode")) is not None and caching not in _AZURE_CACHING:
        yield not_supported(f"{path}.cachingMode", caching, _AZURE_CACHING)
    if (kind := source.get("kind")) is None:
        return
    if kind not in _AZURE_KINDS:
        yield not_supported(f"{path}.kind", kind, _AZURE_KINDS)
    uri = source.get("diskURI", "")
    start, form = (
        ("/subscriptions/", _AZURE_MANAGED_URI)
        if kind == "Managed"
        else ("https://", _AZURE_BLOB_URI)
    )
    if not uri.startswith(start):
        yield not_supported(f"{path}.diskURI", uri, (form,))


def _storage_os(source: Doc, path: str, _: str) -> Iterable[FieldError]:
    if not source.get("volumeName"):
        yield required(f"{path}.volumeName")
    for field in ("volumeName", "volumeNamespace"):
        if value := source.get(field):
            for problem in dns_label(value):
                yield invalid(f"{path}.{field}", value, problem)
    yield from _named_secret(source, path)


SOURCES: dict[str, Check] = {  # of several, the first here counts and the others are too many
    "hostPath": _host_path,
    "gcePersistentDisk": _cloud_disk("pdName"),
    "awsElasticBlockStore": _cloud_disk("volumeID"),
    "glusterfs": _glusterfs,
    "flocker": _flocker,
    "nfs": _nfs,
    "rbd": _needs("monitors", "image"),
    "quobyte": _quobyte,
    "cephfs": _needs("monitors"),
    "iscsi": _iscsi,
    "cinder": _cinder,
    "fc": _fc,
    "flexVolume": _flex_volume,
    "azureFile": _azure_file,
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _azure_disk,
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "local": _local,
    "storageos": _storage_os,
    "csi": _csi,
}
_PATHS = {"gcePersistentDisk": "persistentDisk"}
