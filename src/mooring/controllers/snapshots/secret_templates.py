"""The secret that a class names for its snapshots: templates, resolved when a content is made.

A namespace may depend on nothing but what the controller and the cluster choose, or users could
have a driver be given the secrets of others; a name may.
"""

import re
from collections.abc import Mapping

import msgspec

from mooring.errors import MooringError
from mooring.model.names import dns_label, dns_subdomain
from mooring.model.reference import SecretReference
from mooring.model.wellknown import Parameter

_TOKEN = re.compile(r"\$(?:\{([^}]*)\}|(\w+|[*#$@!?-]))", re.ASCII)


class InvalidTemplate(MooringError):
    """The class does not name a secret that could exist."""


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
    found_namespace = _resolve(namespace, tokens.of_namespace)
    if list(dns_label(found_namespace)):
        raise InvalidTemplate(_not_valid(namespace, found_namespace, "namespace"))
    found_name = _resolve(name, tokens.of_name)
    if list(dns_subdomain(found_name)):
        raise InvalidTemplate(_not_valid(name, found_name, "secret"))
    return SecretReference(found_name, found_namespace)


def _resolve(template: str, known: Mapping[str, str]) -> str:
    unknown: set[str] = set()

    def fill(match: re.Match[str]) -> str:
        token = match[1] if match[1] is not None else match[2]
        if token not in known:
            unknown.add(token)
        return known.get(token, "")

    resolved = _TOKEN.sub(fill, template)
    if unknown:
        tokens = " ".join(f'"{token}"' for token in sorted(unknown))
        raise InvalidTemplate(f'error resolving value "{template}": invalid tokens: [{tokens}]')
    return resolved


def _not_valid(template: str, resolved: str, what: str) -> str:
    if template == resolved:
        return f'"{template}" is not a valid {what} name'
    return f'"{template}" resolved to "{resolved}" which is not a valid {what} name'
