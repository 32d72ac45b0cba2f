"""Users, and the well-known user and group names of Kubernetes."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.model.names import dns_label, dns_subdomain

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
NODES = "system:nodes"
SERVICE_ACCOUNTS = "system:serviceaccounts"
BOOTSTRAPPERS = "system:bootstrappers"

_NODE_PREFIX = "system:node:"
_ACCOUNT_PREFIX = "system:serviceaccount:"
_BOOTSTRAP_PREFIX = "system:bootstrap:"

_EXTRA = "authentication.kubernetes.io/"
POD_NAME, POD_UID = f"{_EXTRA}pod-name", f"{_EXTRA}pod-uid"
NODE_NAME, NODE_UID = f"{_EXTRA}node-name", f"{_EXTRA}node-uid"
CREDENTIAL_ID = f"{_EXTRA}credential-id"


class User(msgspec.Struct, frozen=True):
    """A known caller. What it may do follows from its name and groups alone."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
"""The user of a request without a token. Compared by identity: a user *impersonated* under this
name has a token."""

ADMIN = User("admin", groups=(MASTERS, AUTHENTICATED))
CONTROLLERS = User("system:kube-controller-manager", groups=(AUTHENTICATED,))
SCHEDULER = User("system:kube-scheduler", groups=(AUTHENTICATED,))
SIDECARS = User("system:mooring:sidecars", groups=(AUTHENTICATED,))
READ_ONLY = User("read-only", groups=(AUTHENTICATED,))


def node_user(node: str) -> User:
    return User(f"{_NODE_PREFIX}{node}", groups=(NODES, AUTHENTICATED))


def bootstrap_user(token_id: str) -> User:
    """A machine with a join token: it may join, and nothing else."""
    return User(f"{_BOOTSTRAP_PREFIX}{token_id}", groups=(BOOTSTRAPPERS,))


def find_join_token(user: User) -> str | None:
    """The id of the join token that this user has shown; None for everyone else."""
    if user.name.startswith(_BOOTSTRAP_PREFIX) and BOOTSTRAPPERS in user.groups:
        return user.name[len(_BOOTSTRAP_PREFIX) :]
    return None


def find_node(user: User) -> str | None:
    """The node that this user is; None for everyone else. Empty: a node without a name."""
    if user.name.startswith(_NODE_PREFIX) and NODES in user.groups:
        return user.name[len(_NODE_PREFIX) :]
    return None


def service_account_name(namespace: str, name: str) -> str:
    return f"{_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, ...]:
    return SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}"


def find_service_account(user_name: str) -> tuple[str, str] | None:
    """The (namespace, name) in the user name of a service account; None in any other."""
    if not user_name.startswith(_ACCOUNT_PREFIX):
        return None
    namespace, _, name = user_name[len(_ACCOUNT_PREFIX) :].partition(":")
    if any(dns_label(namespace)) or any(dns_subdomain(name)):
        return None
    return namespace, name


def to_document(user: User) -> dict[str, Any]:
    """The `userInfo` of reviews."""
    info: dict[str, Any] = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info
