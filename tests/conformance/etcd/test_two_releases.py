"""Two API servers on one etcd that follow different releases: neither erases what it does not know.

What only a release to come knows is put into etcd by hand.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.etcd import gateway
from tests.conformance.etcd.members import EtcdMember, etcd_cluster
from tests.conformance.etcd.servers import Client, api_servers
from tests.conformance.etcd.test_faults import MAPS, a_map
from tests.conformance.peers import FORGETFUL

Doc = dict[str, Any]

DRIVERS = "/apis/storage.k8s.io/v1/csidrivers"
DRIVER_KEY = "/registry/csidrivers/a.driver"
MAP_KEY = "/registry/configmaps/default/mine"
RELEASES = ("1.37", "1.35")


@pytest.fixture
def member(etcd_program: Path, tmp_path: Path) -> Iterator[EtcdMember]:
    with etcd_cluster(etcd_program, tmp_path / "etcd", 1, FORGETFUL) as members:
        yield members[0]


@pytest.fixture
def clients(member: EtcdMember, tmp_path: Path) -> Iterator[list[Client]]:
    """Of a server of each release."""
    flags = [("--kubernetes-version", release) for release in RELEASES]
    with api_servers(tmp_path / "api", [member], len(flags), flags) as servers:
        clients = [Client([server], 0) for server in servers]
        yield clients
        for client in clients:
            client.close()


def in_etcd(member: EtcdMember, key: str) -> Doc:
    return dict(json.loads(gateway.read(member, key)))


def merge(client: Client, path: str, change: Doc) -> Doc:
    code, doc = client.ask("PATCH", path, change, "application/merge-patch+json")
    assert code == 200, doc
    return doc


def replace(client: Client, path: str, doc: Doc) -> Doc:
    code, answer = client.ask("PUT", path, doc)
    assert code == 200, answer
    return answer


def applied(client: Client, path: str, doc: Doc) -> Doc:
    code, answer = client.ask(
        "PATCH", f"{path}?fieldManager=me&force=true", doc, "application/apply-patch+yaml"
    )
    assert code == 200, answer
    return answer


def test_a_field_of_the_newer_release_survives_writes_through_the_older(
    member: EtcdMember, clients: list[Client]
) -> None:
    newer, older = clients
    driver = {"metadata": {"name": "a.driver"}, "spec": {"preventPodSchedulingIfMissing": True}}
    assert newer.ask("POST", DRIVERS, driver)[0] == 201
    path = f"{DRIVERS}/a.driver"

    merge(older, path, {"metadata": {"labels": {"by": "merge"}}})
    assert in_etcd(member, DRIVER_KEY)["spec"]["preventPodSchedulingIfMissing"] is True
    _, doc = older.ask("GET", path)
    doc["metadata"]["labels"]["by"] = "put"
    doc["spec"].pop("preventPodSchedulingIfMissing")  # a client of that release cannot send it
    replace(older, path, doc)
    assert in_etcd(member, DRIVER_KEY)["spec"]["preventPodSchedulingIfMissing"] is True
    configuration = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": "a.driver", "labels": {"by": "apply"}},
        "spec": {"podInfoOnMount": True},
    }
    applied(older, path, configuration)

    _, seen = newer.ask("GET", path)
    assert seen["metadata"]["labels"] == {"by": "apply"}
    assert seen["spec"]["podInfoOnMount"] is True
    assert seen["spec"]["preventPodSchedulingIfMissing"] is True
    merge(newer, path, {"spec": {"preventPodSchedulingIfMissing": False}})
    assert in_etcd(member, DRIVER_KEY)["spec"]["preventPodSchedulingIfMissing"] is False


def test_what_no_server_knows_yet_survives_writes_of_both(
    member: EtcdMember, clients: list[Client]
) -> None:
    assert clients[0].ask("POST", MAPS, a_map("mine"))[0] == 201
    stored = in_etcd(member, MAP_KEY)
    stored["later"] = {"deep": [1, 2]}
    stored["metadata"]["later"] = "too"
    gateway.put(member, MAP_KEY, json.dumps(stored).encode())

    for number, client in enumerate(clients):
        path = f"{MAPS}/mine"
        merge(client, path, {"data": {f"n{number}": "merged"}})
        _, doc = client.ask("GET", path)
        del doc["later"], doc["metadata"]["later"]
        doc["data"]["put"] = str(number)
        replace(client, path, doc)

    stored = in_etcd(member, MAP_KEY)
    assert (stored["later"], stored["metadata"]["later"]) == ({"deep": [1, 2]}, "too")
    assert stored["data"] == {"text": "x", "n0": "merged", "n1": "merged", "put": "1"}


def test_both_serve_what_the_other_writes(clients: list[Client]) -> None:
    for number in range(20):
        assert clients[number % 2].ask("POST", MAPS, a_map(f"m{number}"))[0] == 201
    for client in clients:
        _, found = client.ask("GET", MAPS)
        names = {item["metadata"]["name"] for item in found["items"]}
        assert names >= {f"m{number}" for number in range(20)}
    minors = [client.ask("GET", "/version")[1]["minor"] for client in clients]
    assert minors == ["37", "35"]
