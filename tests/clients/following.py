"""Following what becomes of objects, over a watch of one's own."""

import json
from collections.abc import Generator

import pytest

from tests.clients.manifests import Doc
from tests.fakes.real_server import RealServer


def changes(server: RealServer, collection: str) -> Generator[Doc, None, None]:
    """All objects there as they are and as they become; the test's time limit bounds it."""
    connection = server.connect()
    headers = {"Authorization": f"Bearer {server.token()}"}
    connection.request("GET", f"{collection}?watch=true&timeoutSeconds=50", headers=headers)
    try:
        for line in connection.getresponse():
            yield json.loads(line)["object"]
    finally:
        connection.close()


def wait_for_phase(server: RealServer, collection: str, phase: str, count: int = 1) -> None:
    """Until so many objects have the phase."""
    names = set()
    for changed in changes(server, collection):
        if changed.get("status", {}).get("phase") == phase:
            names.add(changed["metadata"]["name"])
        if len(names) == count:
            return
    pytest.fail(f"only {len(names)} of {count} in {collection} became {phase}")
