"""Warnings for pods that are valid and hardly meant: removed volume plugins, duplicate names."""

from collections.abc import Iterable, Iterator

from mooring.apiserver.kinds.resources import warn_of_fraction
from mooring.model.document import Doc
from mooring.model.field_error import show
from mooring.model.names import dns_label

_REMOVED_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SPELT = {"storageos": "storageOS"}  # upstream's warning does not spell it as the field
_IN_BYTES = ("memory", "ephemeral-storage")
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_REQUIRED_RULES = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED_RULES = "preferredDuringSchedulingIgnoredDuringExecution"


def warnings(doc: Doc) -> Iterable[str]:
    spec = doc.get("spec", {})
    if problems := dns_label(doc["metadata"].get("name", "")):
        listed = " ".join(problems)
        yield (
            "metadata.name: this is used in the Pod's hostname, which can result in surprising "
            f"behavior; a DNS label is recommended: [{listed}]"
        )
    for index, constraint in enumerate(spec.get("topologySpreadConstraints", ())):
        if "labelSelector" not in constraint:
            yield f"spec.topologySpreadConstraints[{index}].labelSelector: {_NO_SELECTOR}"
    for index, volume in enumerate(spec.get("volumes", ())):
        yield from _of_volume(volume, f"spec.volumes[{index}]")
    yield from _of_pull_secrets(spec.get("imagePullSecrets", ()))
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field, ())):
            yield from _of_container(container, f"spec.{field}[{index}]")
    for field, rules in spec.get("affinity", {}).items():
        if field != "nodeAffinity":
            yield from _of_neighbours(rules, f"spec.affinity.{field}")


def _of_volume(volume: Doc, path: str) -> Iterator[str]:
    for field, said in _REMOVED_VOLUMES.items():
        if field in volume:
            yield f"{path}.{_SPELT.get(field, field)}: {said}"
    template = volume.get("ephemeral", {}).get("volumeClaimTemplate", {})
    for part, amounts in template.get("spec", {}).get("resources", {}).items():
        if amount := amounts.get("storage"):
            at = f"{path}.ephemeral.volumeClaimTemplate.spec.resources.{part}[storage]"
            yield from warn_of_fraction(at, amount)


def _of_pull_secrets(secrets: Iterable[Doc]) -> Iterator[str]:
    path = "spec.imagePullSecrets[{}].name"
    names = [secret.get("name", "") for secret in secrets]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield f"{path.format(index)}: duplicate name {show(name)}"
    for index, name in enumerate(names):
        if not name:
            yield f'{path.format(index)}: invalid empty name ""'


def _of_container(container: Doc, path: str) -> Iterator[str]:
    resources = container.get("resources", {})
    for name in _IN_BYTES:
        for part in ("limits", "requests"):
            if amount := resources.get(part, {}).get(name):
                yield from warn_of_fraction(f"{path}.resources.{part}[{name}]", amount)
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env", ())):
        name = variable.get("name", "")
        if name in seen and _hides(variable, f"$({name})"):
            yield (
                f"{path}.env[{index}]: hides previous definition of {show(name)}, "
                "which may be dropped when using apply"
            )
        seen.add(name)


def _hides(variable: Doc, reference: str) -> bool:
    """Whether it replaces the variable of that name, rather than extending it."""
    value = variable.get("value", "")
    return "valueFrom" in variable or value == reference or reference not in value


def _of_neighbours(rules: Doc, path: str) -> Iterator[str]:
    for index, term in enumerate(rules.get(_REQUIRED_RULES, ())):
        if "labelSelector" not in term:
            yield f"{path}.{_REQUIRED_RULES}[{index}].labelSelector: {_NO_SELECTOR}"
    for index, preference in enumerate(rules.get(_PREFERRED_RULES, ())):
        if "labelSelector" not in preference.get("podAffinityTerm", {}):
            at = f"{path}.{_PREFERRED_RULES}[{index}].podAffinityTerm.labelSelector"
            yield f"{at}: {_NO_SELECTOR}"
