"""Which secrets a class names for a volume: templates, filled in from claim and volume.

A namespace may depend on nothing that the claim's owner writes, or claims could read the secrets of
others; a name may.
"""

from collections.abc import Mapping

import msgspec

from mooring.model.reference import SecretReference
from mooring.model.secret_template import InvalidTemplate, resolve_secret
from mooring.model.wellknown import Parameter
from mooring.sidecars.provisioner.waiting_reason import WaitingReason


class SecretKind(msgspec.Struct, frozen=True):
    """What a secret is for; keys of a class name it, also those of an older time."""

    name: str
    key: str  # without prefix and suffix
    old_name_key: str = ""
    old_namespace_key: str = ""

    @property
    def name_key(self) -> str:
        return f"{Parameter.CSI_PREFIX}{self.key}-name"

    @property
    def namespace_key(self) -> str:
        return f"{Parameter.CSI_PREFIX}{self.key}-namespace"


def _with_old(name: str, key: str) -> SecretKind:
    old = f"csi{name}Secret"
    return SecretKind(name, key, f"{old}Name", f"{old}Namespace")


DEFAULT = SecretKind("Default", "secret")
PROVISIONER = _with_old("Provisioner", "provisioner-secret")
CONTROLLER_PUBLISH = _with_old("ControllerPublish", "controller-publish-secret")
NODE_STAGE = _with_old("NodeStage", "node-stage-secret")
NODE_PUBLISH = _with_old("NodePublish", "node-publish-secret")
CONTROLLER_EXPAND = SecretKind("ControllerExpand", "controller-expand-secret")
NODE_EXPAND = SecretKind("NodeExpand", "node-expand-secret")
CONTROLLER_MODIFY = SecretKind("ControllerModify", "controller-modify-secret")

_KINDS = (
    *(DEFAULT, PROVISIONER, CONTROLLER_PUBLISH, NODE_STAGE, NODE_PUBLISH),
    *(CONTROLLER_EXPAND, NODE_EXPAND, CONTROLLER_MODIFY),
)
SECRET_KEYS = frozenset(key for kind in _KINDS for key in (kind.name_key, kind.namespace_key))


class Subject(msgspec.Struct, frozen=True):
    """What templates may speak of. Of a claim that is gone, annotations are not known."""

    volume: str
    namespace: str
    claim: str
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)


def find_secret(
    kind: SecretKind, parameters: Mapping[str, str], subject: Subject
) -> SecretReference | None:
    """The secret that the class names for this, or else for everything. Raises: WaitingReason."""
    templates = _find_templates(kind, parameters)
    if templates is None:
        templates = _find_templates(DEFAULT, parameters, "default ")
    if templates is None:
        return None
    name, namespace = templates
    known = {"pv.name": subject.volume, "pvc.namespace": subject.namespace}
    notes = {f"pvc.annotations['{key}']": value for key, value in subject.annotations.items()}
    for_name = {**notes, **known, "pvc.name": subject.claim}
    try:
        return resolve_secret(name, namespace, for_name, known)
    except InvalidTemplate as error:
        raise WaitingReason(str(error)) from error


def _find_templates(
    kind: SecretKind, parameters: Mapping[str, str], which: str = ""
) -> tuple[str, str] | None:
    names = [parameters[key] for key in (kind.old_name_key, kind.name_key) if key in parameters]
    keys = (kind.old_namespace_key, kind.namespace_key)
    namespaces = [parameters[key] for key in keys if key in parameters]
    trouble = ""
    if len(names) > 1 or len(namespaces) > 1:
        both = f'both "csi" and "{Parameter.CSI_PREFIX}" keys'
        trouble = f"{kind.name} secrets specified in parameters with {both}"
    elif len(names) != len(namespaces):
        trouble = (
            f"either name and namespace for {kind.name} secrets specified, Both must be specified"
        )
    elif names and not (names[0] and namespaces[0]):
        trouble = (
            f"{kind.name} secrets specified in parameters but value of either namespace or name"
            " is empty"
        )
    if trouble:
        raise WaitingReason(
            f"failed to get {which}name and namespace template from params: {trouble}"
        )
    return (names[0], namespaces[0]) if names else None
