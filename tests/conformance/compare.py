"""One case on one server: a namespace of its own, the requests, what is compared of the answers."""

from typing import Any

from tests.conformance.asking import Case, Client, post
from tests.conformance.sameness import comparable

PREPARATION = (
    post("/api/v1/namespaces", {"metadata": {"name": "$name"}}),
    # Theirs has nobody who makes this account; in ours it may be there already.
    post("/api/v1/namespaces/$name/serviceaccounts", {"metadata": {"name": "default"}}),
)


def answered(client: Client, case: Case, name: str) -> list[Any]:
    client.run(PREPARATION, name)
    return comparable(case, client.run(case, name))
