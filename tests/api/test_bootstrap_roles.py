"""The roles of every cluster, as a server that starts writes them."""

import json
from functools import partial

from tests.fakes.real_server import RealServer
from tests.fakes.waiting import until

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = f"{RBAC}/clusterroles"
AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"


def rules_of(server: RealServer, name: str) -> list[dict[str, list[str]]]:
    return list(server.ask("GET", f"{ROLES}/{name}").doc.get("rules") or [])


async def test_they_are_there_at_the_first_start_and_complete_after_the_next(
    own_api_server: RealServer,
) -> None:
    server = own_api_server
    names = {doc["metadata"]["name"] for doc in server.ask("GET", ROLES).doc["items"]}
    assert {"cluster-admin", "admin", "edit", "view", "system:discovery"} <= names
    assert len(names) == 73
    assert len(server.ask("GET", f"{RBAC}/clusterrolebindings").doc["items"]) == 50
    await until(lambda: len(rules_of(server, "admin")) > len(rules_of(server, "edit")) > 0)

    for name, kept in (("system:monitoring", "true"), ("system:basic-user", "false")):
        doc = server.ask("GET", f"{ROLES}/{name}").doc
        doc["rules"] = []
        doc["metadata"]["annotations"][AUTO_UPDATE] = kept
        assert server.ask("PUT", f"{ROLES}/{name}", doc).code == 200
    assert server.ask("DELETE", f"{ROLES}/system:kube-dns").code == 200
    mine = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["things"]}
    monitoring = server.ask("GET", f"{ROLES}/system:node-problem-detector").doc
    monitoring["rules"].append(mine)
    server.ask("PUT", f"{ROLES}/system:node-problem-detector", monitoring)
    before = json.dumps(server.ask("GET", f"{ROLES}/system:discovery").doc)
    server.stop()
    server.start()

    assert len(rules_of(server, "system:monitoring")) == 2
    assert rules_of(server, "system:basic-user") == []
    assert len(rules_of(server, "system:kube-dns")) == 1
    assert mine in rules_of(server, "system:node-problem-detector")
    assert json.dumps(server.ask("GET", f"{ROLES}/system:discovery").doc) == before


async def test_a_role_with_the_label_becomes_part_of_view_edit_and_admin(
    own_api_server: RealServer,
) -> None:
    server = own_api_server
    mine = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["things"]}
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    doc = {"metadata": {"name": "things", "labels": labels}, "rules": [mine]}
    assert server.ask("POST", ROLES, doc).code == 201

    def has(name: str) -> bool:
        return mine in rules_of(server, name)

    def has_not(name: str) -> bool:
        return not has(name)

    for name in ("view", "edit", "admin"):
        await until(partial(has, name))
    assert server.ask("DELETE", f"{ROLES}/things").code == 200
    for name in ("view", "edit", "admin"):
        await until(partial(has_not, name))
