"""The secret that a class names for its snapshots: templates, resolved when a content is made.

A namespace may depend on nothing but what the controller and the cluster choose, or users could
have a driver be given the secrets of others; a name may.
"""

from collections.abc import Mapping

import msgspec

from mooring.model.reference import SecretReference
from mooring.model.secret_template import InvalidTemplate, resolve_secret
from mooring.model.wellknown import Parameter


class Tokens(msgspec.Struct, frozen=True):
    """What templates may speak of: in namespaces, and in names besides."""

    of_namespace: Mapping[str, str]
    of_name: Mapping[str, str]


class SecretKeys(msgspec.Struct, frozen=True):
    """The pair of class parameters, and what errors call them."""

    kind: str
    key: str

    @property
    def name_key(self) -> str:
        return f"{Parameter.CSI_PREFIX}{self.key}-name"

    @property
    def namespace_key(self) -> str:
        return f"{Parameter.CSI_PREFIX}{self.key}-namespace"


SNAPSHOTTER = SecretKeys("Snapshotter", "snapshotter-secret")
GROUP_SNAPSHOTTER = SecretKeys("GroupSnapshotter", "group-snapshotter-secret")


def snapshot_tokens(content: str, namespace: str, name: str) -> Tokens:
    known = {"volumesnapshotcontent.name": content, "volumesnapshot.namespace": namespace}
    return Tokens(known, {**known, "volumesnapshot.name": name})


def group_tokens(content: str, namespace: str, name: str) -> Tokens:
    known = {"volumegroupsnapshotcontent.name": content, "volumegroupsnapshot.namespace": namespace}
    return Tokens(known, {**known, "volumegroupsnapshot.name": name})


def find_secret(
    keys: SecretKeys, parameters: Mapping[str, str], tokens: Tokens
) -> SecretReference | None:
    """None: the class names none. Raises: InvalidTemplate."""
    name, namespace = parameters.get(keys.name_key), parameters.get(keys.namespace_key)
    if name is None and namespace is None:
        return None
    if name is None or namespace is None:
        raise InvalidTemplate(
            f"either name and namespace for {keys.kind} secrets specified, Both must be specified"
        )
    if not name or not namespace:
        raise InvalidTemplate(
            f"{keys.kind} secrets specified in parameters but value of either namespace or name"
            " is empty"
        )
    return resolve_secret(name, namespace, tokens.of_name, tokens.of_namespace)
