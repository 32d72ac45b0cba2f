"""Templates of a secret's name and namespace: `$x` and `${x}` stand for what is known of an object.

A namespace may depend on nothing that the owner of a namespaced object writes, or they could have
the secrets of others read; a name may.
"""

import re
from collections.abc import Mapping

from mooring.errors import MooringError
from mooring.model.names import dns_label, dns_subdomain
from mooring.model.reference import SecretReference

_TOKEN = re.compile(r"\$(?:\{([^}]*)\}|(\w+|[*#$@!?-]))", re.ASCII)


class InvalidTemplate(MooringError):
    """It speaks of something unknown, or does not become a name."""


def resolve_secret(
    name: str, namespace: str, for_name: Mapping[str, str], for_namespace: Mapping[str, str]
) -> SecretReference:
    """Raises: InvalidTemplate."""
    found_namespace = _resolve(namespace, for_namespace)
    if list(dns_label(found_namespace)):
        raise InvalidTemplate(_not_valid(namespace, found_namespace, "namespace"))
    found_name = _resolve(name, for_name)
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
