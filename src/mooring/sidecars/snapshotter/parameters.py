"""The parameters of a snapshot class: which secrets they name, and what of them the driver sees."""

from collections.abc import Mapping

import msgspec

from mooring.errors import MooringError
from mooring.model.meta import ApiObject
from mooring.model.reference import SecretReference
from mooring.model.secret_template import InvalidTemplate, resolve_secret
from mooring.model.wellknown import Annotation, Parameter


class Impossible(MooringError):
    """The request cannot be put together; the text goes into the status."""


class SecretPair(msgspec.Struct, frozen=True):
    """The two keys of a class that name a secret."""

    key: str  # without prefix and suffix

    @property
    def name_key(self) -> str:
        return f"{Parameter.CSI_PREFIX}{self.key}-name"

    @property
    def namespace_key(self) -> str:
        return f"{Parameter.CSI_PREFIX}{self.key}-namespace"


SNAPSHOTTER = SecretPair("snapshotter-secret")
LIST = SecretPair("snapshotter-list-secret")
GROUP = SecretPair("group-snapshotter-secret")
GROUP_GET = SecretPair("group-snapshotter-get-secret")

_OURS = frozenset(
    key
    for pair in (SNAPSHOTTER, LIST, GROUP, GROUP_GET)
    for key in (pair.name_key, pair.namespace_key)
)


def for_driver(parameters: Mapping[str, str]) -> dict[str, str]:
    """Without the keys that are ours. Raises: Impossible for one that only looks like ours."""
    for key in parameters:
        if key.startswith(Parameter.CSI_PREFIX) and key not in _OURS:
            raise Impossible(
                f'found unknown parameter key "{key}" with reserved namespace'
                f" {Parameter.CSI_PREFIX}"
            )
    return {
        key: value for key, value in parameters.items() if not key.startswith(Parameter.CSI_PREFIX)
    }


def find_secret(
    pair: SecretPair, parameters: Mapping[str, str], known: Mapping[str, str]
) -> SecretReference | None:
    """The secret that a class names; `known` is what its templates may speak of.

    Raises: Impossible.
    """
    name, namespace = parameters.get(pair.name_key), parameters.get(pair.namespace_key)
    if name is None and namespace is None:
        return None
    if not name or not namespace:
        raise Impossible(f"either name and namespace for {pair.key} specified, both must be")
    try:
        return resolve_secret(name, namespace, known, known)
    except InvalidTemplate as error:
        raise Impossible(str(error)) from error


def find_noted_secret(content: ApiObject, name: str, namespace: str) -> SecretReference | None:
    """The secret in two annotations, which the snapshot controller wrote there.

    Raises: Impossible when one of them is missing.
    """
    notes = content.metadata.annotations
    if name not in notes and namespace not in notes:
        return None
    if not notes.get(name) or not notes.get(namespace):
        raise Impossible(
            f"cannot get credentials for snapshot content {content.name!r}:"
            f" annotations {name} and {namespace} must both be set"
        )
    return SecretReference(notes[name], notes[namespace])


def find_content_secret(content: ApiObject) -> SecretReference | None:
    """For everything that a VolumeSnapshotContent needs but a list. Raises: Impossible."""
    keys = Annotation.SNAPSHOT_SECRET_NAME, Annotation.SNAPSHOT_SECRET_NAMESPACE
    return find_noted_secret(content, *keys)


def find_group_secret(content: ApiObject) -> SecretReference | None:
    """Raises: Impossible."""
    keys = Annotation.GROUP_SNAPSHOT_SECRET_NAME, Annotation.GROUP_SNAPSHOT_SECRET_NAMESPACE
    return find_noted_secret(content, *keys)
