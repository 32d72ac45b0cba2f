"""The volumes of a pod: what each is made of, and what containers may do with it.

Where a pod and a PersistentVolume name the same kind of source, the rules are in `volume_sources`;
here are those only a pod can have.
"""

from collections.abc import Callable, Iterable

from mooring.apiserver.kinds.claim import validate_spec
from mooring.apiserver.kinds.metadata import validate_annotations, validate_labels
from mooring.apiserver.kinds.path_rules import validate_descending
from mooring.apiserver.kinds.pod.files import (
    validate_config_map,
    validate_downward_api,
    validate_projected,
    validate_secret,
)
from mooring.apiserver.kinds.volume_sources import SOURCES
from mooring.apiserver.limits.budgets import MOST_ERRORS
from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mooring.model.names import csi_driver_name_errors, dns_label, dns_subdomain
from mooring.model.quantity import ZERO, parse

PULL_POLICIES = ("Always", "IfNotPresent", "Never")

_TOO_MANY = "may not specify more than 1 volume type"
_MOST_ISCSI_NAME = 64


def validate_volumes(
    volumes: list[Doc], pod_name: str, path: str
) -> tuple[dict[str, Doc], list[FieldError]]:
    """The volumes that are well formed, by name, and the complaints about the others."""
    good: dict[str, Doc] = {}
    errors: list[FieldError] = []
    generated = _generated_claims(volumes, pod_name)
    for index, volume in enumerate(volumes):
        if len(errors) > MOST_ERRORS:
            break
        at = f"{path}[{index}]"
        wrong = [*_validate_source(volume, pod_name, at), *_validate_name(volume, good, at)]
        if wrong:
            errors += wrong
        else:
            good[volume["name"]] = volume
        claim = volume.get("persistentVolumeClaim", {}).get("claimName")
        if claim and claim in generated:
            errors.append(
                invalid(
                    f"{at}.persistentVolumeClaim.claimName",
                    claim,
                    "must not reference a PVC that gets created for an ephemeral volume",
                )
            )
    return good, errors


def _generated_claims(volumes: list[Doc], pod_name: str) -> set[str]:
    if not pod_name:
        return set()
    return {f"{pod_name}-{volume.get('name', '')}" for volume in volumes if "ephemeral" in volume}


def _validate_name(volume: Doc, others: dict[str, Doc], path: str) -> Iterable[FieldError]:
    name = volume.get("name", "")
    if not name:
        yield required(f"{path}.name")
    else:
        for problem in dns_label(name):
            yield invalid(f"{path}.name", name, problem)
    if name in others:
        yield duplicate(f"{path}.name", name)


def _validate_source(volume: Doc, pod_name: str, path: str) -> Iterable[FieldError]:
    given = [name for name in volume if name in _SOURCES]
    if len(given) > 1:
        given.sort(key=_ORDER.__getitem__)
    if not given:
        yield required(path, "must specify a volume type")
        return
    first, *others = given
    yield from _SOURCES[first](volume[first], f"{path}.{_PATHS.get(first, first)}")
    for name in others:
        yield forbidden(f"{path}.{name}", _TOO_MANY)
    if "iscsi" in volume:
        yield from _validate_iscsi_name(volume, path)
    if first == "ephemeral" and pod_name and volume.get("name"):
        claim = f"{pod_name}-{volume['name']}"
        for problem in dns_subdomain(claim):
            yield invalid(f"{path}.name", volume["name"], f'PVC name "{claim}": {problem}')


def _validate_iscsi_name(volume: Doc, path: str) -> Iterable[FieldError]:
    name, iscsi = volume.get("name", ""), volume["iscsi"]
    length = len(f"{name}:{iscsi.get('targetPortal', '')}")
    if "initiatorName" in iscsi and length > _MOST_ISCSI_NAME:
        yield invalid(
            f"{path}.name",
            name,
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
            "if iscsi.initiatorName is specified.",
        )


def _empty_dir(source: Doc, path: str) -> Iterable[FieldError]:
    if (limit := source.get("sizeLimit")) and parse(limit) < ZERO:
        yield forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _git_repo(source: Doc, path: str) -> Iterable[FieldError]:
    if not source.get("repository"):
        yield required(f"{path}.repository")
    yield from validate_descending(source.get("directory", ""), f"{path}.directory")


def _claim(source: Doc, path: str) -> Iterable[FieldError]:
    if not source.get("claimName"):
        yield required(f"{path}.claimName")


def _csi(source: Doc, path: str) -> Iterable[FieldError]:
    yield from csi_driver_name_errors(f"{path}.driver", source.get("driver", ""))
    if (secret := source.get("nodePublishSecretRef")) is None:
        return
    if not secret.get("name"):
        yield required(f"{path}.nodePublishSecretRef.name")
        return
    for problem in dns_subdomain(secret["name"]):
        yield invalid(f"{path}.name", secret["name"], problem)


def _ephemeral(source: Doc, path: str) -> Iterable[FieldError]:
    if (template := source.get("volumeClaimTemplate")) is None:
        yield required(f"{path}.volumeClaimTemplate")
        return
    at = f"{path}.volumeClaimTemplate"
    metadata = template.get("metadata", {})
    yield from validate_annotations(metadata.get("annotations", {}), f"{at}.metadata.annotations")
    yield from validate_labels(metadata.get("labels", {}), f"{at}.metadata.labels")
    for field in sorted(metadata.keys() - {"annotations", "labels", "creationTimestamp"}):
        yield forbidden(f"{at}.metadata.{field}", "cannot be set")
    yield from validate_spec(template.get("spec", {}), f"{at}.spec")


def _image(source: Doc, path: str) -> Iterable[FieldError]:
    if not source.get("reference"):
        yield required(f"{path}.reference")
    if (policy := source.get("pullPolicy")) not in PULL_POLICIES:
        yield not_supported(f"{path}.pullPolicy", policy, PULL_POLICIES)


def _with_local_secret(*fields: str) -> Callable[[Doc, str], Iterable[FieldError]]:
    """A source with fields that must be there; its secret lives in the pod's own namespace."""

    def check(source: Doc, path: str) -> Iterable[FieldError]:
        for field in fields:
            if not source.get(field):
                yield required(f"{path}.{field}")
        if "secretRef" in source and not source["secretRef"].get("name"):
            yield required(f"{path}.secretRef.name")

    return check


def _as_volume(name: str) -> Callable[[Doc, str], Iterable[FieldError]]:
    """The rules of a PersistentVolume for the same source."""
    check = SOURCES[name]
    return lambda source, path: check(source, path, "")


_SOURCES: dict[str, Callable[[Doc, str], Iterable[FieldError]]] = {
    "emptyDir": _empty_dir,
    "hostPath": _as_volume("hostPath"),
    "gitRepo": _git_repo,
    "gcePersistentDisk": _as_volume("gcePersistentDisk"),
    "awsElasticBlockStore": _as_volume("awsElasticBlockStore"),
    "secret": validate_secret,
    "nfs": _as_volume("nfs"),
    "iscsi": _as_volume("iscsi"),
    "glusterfs": _as_volume("glusterfs"),
    "flocker": _as_volume("flocker"),
    "persistentVolumeClaim": _claim,
    "rbd": _as_volume("rbd"),
    "cinder": _with_local_secret("volumeID"),
    "cephfs": _as_volume("cephfs"),
    "quobyte": _as_volume("quobyte"),
    "downwardAPI": validate_downward_api,
    "fc": _as_volume("fc"),
    "flexVolume": _as_volume("flexVolume"),
    "configMap": validate_config_map,
    "azureFile": _as_volume("azureFile"),
    "vsphereVolume": _as_volume("vsphereVolume"),
    "photonPersistentDisk": _as_volume("photonPersistentDisk"),
    "portworxVolume": _as_volume("portworxVolume"),
    "azureDisk": _as_volume("azureDisk"),
    "storageos": _with_local_secret("volumeName"),
    "projected": validate_projected,
    "scaleIO": _as_volume("scaleIO"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
_ORDER = {name: position for position, name in enumerate(_SOURCES)}  # of several, the first counts
_PATHS = {"gcePersistentDisk": "persistentDisk"}
