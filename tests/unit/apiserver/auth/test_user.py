"""Names of users, and what they say."""

from typing import Any

import pytest

from mooring.apiserver.auth.user import (
    ADMIN,
    ANONYMOUS,
    NODES,
    User,
    find_node,
    find_service_account,
    node_user,
    service_account_name,
    to_document,
)

NODE_NAMES = {
    "a node is known by its name and its group": (node_user("n1"), "n1"),
    "the name alone makes no node": (User("system:node:n1"), None),
    "the group alone makes no node": (User("bob", groups=(NODES,)), None),
    "a node may lack a name": (User("system:node:", groups=(NODES,)), ""),
    "the administrator is no node": (ADMIN, None),
}


@pytest.mark.parametrize(("user", "node"), NODE_NAMES.values(), ids=NODE_NAMES)
def test_find_node(user: User, node: str | None) -> None:
    assert find_node(user) == node


ACCOUNTS = {
    "namespace and name": ("system:serviceaccount:default:web", ("default", "web")),
    "a name may have dots": ("system:serviceaccount:kube-system:a.b", ("kube-system", "a.b")),
    "another user": ("bob", None),
    "no name": ("system:serviceaccount:default", None),
    "one part too many": ("system:serviceaccount:default:web:x", None),
    "a namespace that cannot be": ("system:serviceaccount:De_fault:web", None),
}


@pytest.mark.parametrize(("name", "account"), ACCOUNTS.values(), ids=ACCOUNTS)
def test_find_service_account(name: str, account: tuple[str, str] | None) -> None:
    assert find_service_account(name) == account


def test_service_account_names_are_read_back() -> None:
    assert find_service_account(service_account_name("ns", "sa")) == ("ns", "sa")


DOCUMENTS: dict[str, tuple[User, dict[str, Any]]] = {
    "what is empty is left out": (User("bob"), {"username": "bob"}),
    "all of it": (
        User("bob", uid="7", groups=("g",), extra={"k": ("a", "b")}),
        {"username": "bob", "uid": "7", "groups": ["g"], "extra": {"k": ["a", "b"]}},
    ),
    "anonymous": (
        ANONYMOUS,
        {"username": "system:anonymous", "groups": ["system:unauthenticated"]},
    ),
}


@pytest.mark.parametrize(("user", "document"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_user_info(user: User, document: dict[str, Any]) -> None:
    assert to_document(user) == document
