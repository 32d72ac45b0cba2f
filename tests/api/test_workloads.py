"""Replication controllers, services, roles and ephemeral containers, as clients ask for them."""

from typing import Any

import pytest

from mooring.apiserver.lifecycle.housekeeper import HOUSEKEEPER
from mooring.apiserver.lifecycle.kubernetes_service import announce, reachable_address
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from tests.api.answers import message, refusal
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import PODS, a_pod

Doc = dict[str, Any]

DEFAULT = "/api/v1/namespaces/default"
RCS = f"{DEFAULT}/replicationcontrollers"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
READ_PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}


def a_controller(replicas: int = 2) -> Doc:
    return {
        "kind": "ReplicationController",
        "apiVersion": "v1",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "template": {
                "metadata": {"labels": {"app": "web", "b": "c"}},
                "spec": {"containers": [{"name": "c", "image": "busybox"}]},
            },
        },
    }


# scale


async def test_a_scale_shows_little(api: ApiUnderTest) -> None:
    stored = (await api.post(RCS, a_controller())).doc
    scale = (await api.get(f"{RCS}/web/scale")).doc
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    assert scale == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: stored["metadata"][field] for field in kept},
        "spec": {"replicas": 2},
        "status": {"replicas": 0, "selector": "app=web,b=c"},
    }


async def test_a_scale_that_is_put_back_changes_the_number_and_the_generation(
    api: ApiUnderTest,
) -> None:
    await api.post(RCS, a_controller())
    scale = (await api.get(f"{RCS}/web/scale")).doc
    scale["spec"]["replicas"] = 5
    answer = await api.put(f"{RCS}/web/scale", scale)
    assert (answer.code, answer.doc["spec"]) == (200, {"replicas": 5})
    stored = (await api.get(f"{RCS}/web")).doc
    assert (stored["spec"]["replicas"], stored["metadata"]["generation"]) == (5, 2)
    again = await api.put(f"{RCS}/web/scale", scale)
    assert refusal(again) == (409, "Conflict")


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("merge-patch+json", {"spec": {"replicas": 0}}),
        ("strategic-merge-patch+json", {"spec": {"replicas": 0}}),
        ("json-patch+json", [{"op": "replace", "path": "/spec/replicas", "value": 0}]),
    ],
    ids=["merge", "strategic", "json"],
)
async def test_a_scale_is_patched(api: ApiUnderTest, kind: str, patch: Any) -> None:
    await api.post(RCS, a_controller())
    answer = await api.patch(f"{RCS}/web/scale", patch, kind)
    assert (answer.code, answer.doc["spec"]) == (200, {})
    assert (await api.get(f"{RCS}/web")).doc["spec"]["replicas"] == 0


async def test_a_dry_run_scales_nothing(api: ApiUnderTest) -> None:
    await api.post(RCS, a_controller())
    answer = await api.patch(f"{RCS}/web/scale?dryRun=All", {"spec": {"replicas": 9}})
    assert answer.doc["spec"] == {"replicas": 9}
    assert (await api.get(f"{RCS}/web")).doc["spec"]["replicas"] == 2


async def test_scales_that_make_no_sense(api: ApiUnderTest) -> None:
    await api.post(RCS, a_controller())
    fewer = await api.patch(f"{RCS}/web/scale", {"spec": {"replicas": -1}})
    assert refusal(fewer) == (422, "Invalid")
    assert message(fewer) == (
        'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: '
        "must be greater than or equal to 0"
    )
    words = await api.patch(f"{RCS}/web/scale", {"spec": {"replicas": "many"}})
    assert refusal(words) == (422, "Invalid")
    absent = await api.patch(f"{RCS}/nobody/scale", {"spec": {"replicas": 1}})
    assert refusal(absent) == (404, "NotFound")
    other = await api.patch(f"{RCS}/web/scale", {}, "apply-patch+yaml")
    assert other.code == 415


# services


async def test_the_server_is_found_as_a_service(api: ApiUnderTest) -> None:
    writer = InProcessWriter(api.parts.backend, HOUSEKEEPER)
    for port in (6443, 7443):  # it came back somewhere else
        await announce(api.parts.backend, writer, "192.0.2.1", port)
        spec = (await api.get(f"{DEFAULT}/services/kubernetes")).doc["spec"]
        assert (spec["clusterIP"], spec["ports"][0]["port"]) == ("192.0.2.1", port)


ADDRESSES = {
    "its own": ("192.0.2.1", "192.0.2.1"),
    "all of version 4": ("0.0.0.0", "127.0.0.1"),  # noqa: S104  compared, not bound
    "all of version 6": ("::", "127.0.0.1"),
    "a name": ("me", "127.0.0.1"),
}


@pytest.mark.parametrize(("host", "address"), ADDRESSES.values(), ids=ADDRESSES)
def test_the_address_that_is_told(host: str, address: str) -> None:
    assert reachable_address(host) == address


# roles


async def grant(api: ApiUnderTest, user: str, *rules: Doc) -> None:
    role = {"metadata": {"name": "given"}, "rules": list(rules)}
    assert (await api.post(f"{RBAC}/clusterroles", role)).code == 201
    binding = {
        "metadata": {"name": "given"},
        "roleRef": {"kind": "ClusterRole", "name": "given"},
        "subjects": [{"kind": "User", "name": user}],
    }
    answer = await api.post(f"{RBAC}/clusterrolebindings", binding)
    assert answer.code == 201, answer.text


async def test_what_a_binding_gives_holds_at_once_and_until_it_goes(api: ApiUnderTest) -> None:
    assert (await api.get(PODS, impersonate_user="jane")).code == 403
    await grant(api, "jane", READ_PODS)
    assert (await api.get(PODS, impersonate_user="jane")).code == 200
    assert (await api.get(PODS, impersonate_user="joe")).code == 403
    await api.delete(f"{RBAC}/clusterrolebindings/given")
    assert (await api.get(PODS, impersonate_user="jane")).code == 403


async def test_whoever_may_write_roles_cannot_give_away_more_than_that(api: ApiUnderTest) -> None:
    writes = {"verbs": ["*"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"]}
    await grant(api, "jane", writes)
    role = {"metadata": {"name": "mine"}, "rules": [READ_PODS]}
    answer = await api.post(f"{RBAC}/clusterroles", role, impersonate_user="jane")
    assert refusal(answer) == (403, "Forbidden")
    assert "is attempting to grant RBAC permissions not currently held" in message(answer)
    by_put = await api.put(f"{RBAC}/clusterroles/mine", role, impersonate_user="jane")
    assert refusal(by_put) == (403, "Forbidden")
    more = {"rules": [writes, READ_PODS]}
    headers = {"content-type": "application/merge-patch+json", "impersonate-user": "jane"}
    grown = await api.ask("PATCH", f"{RBAC}/clusterroles/given", more, headers)
    assert refusal(grown) == (403, "Forbidden")
    kept = {"metadata": {"finalizers": ["example.com/keep"], "ownerReferences": []}}
    collected = await api.ask("PATCH", f"{RBAC}/clusterroles/given", kept, headers)
    assert collected.code == 200


UPDATES: dict[str, tuple[str, str, Doc]] = {
    "a label that an aggregated role looks for": (
        "clusterroles/given",
        "PATCH",
        {"metadata": {"labels": {"rbac.example.com/aggregate": "true"}}},
    ),
    "an annotation": ("clusterroles/given", "PATCH", {"metadata": {"annotations": {"a": "b"}}}),
    "an aggregation rule": (
        "clusterroles/given",
        "PATCH",
        {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}},
    ),
    "the label of a binding": (
        "clusterrolebindings/given",
        "PATCH",
        {"metadata": {"labels": {"a": "b"}}},
    ),
    "a subject of a binding": (
        "clusterrolebindings/given",
        "PATCH",
        {"subjects": [{"kind": "User", "name": "joe", "apiGroup": "rbac.authorization.k8s.io"}]},
    ),
    "a role that is created by an update": (
        "namespaces/default/roles/new",
        "PUT",
        {"metadata": {"name": "new"}, "rules": []},
    ),
}


@pytest.mark.parametrize(("path", "method", "change"), UPDATES.values(), ids=UPDATES)
async def test_whoever_may_write_roles_cannot_change(
    api: ApiUnderTest, path: str, method: str, change: Doc
) -> None:
    writes = {"verbs": ["*"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"]}
    await grant(api, "jane", writes)
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"content-type": media, "impersonate-user": "jane"}
    answer = await api.ask(method, f"{RBAC}/{path}", change, headers)
    assert refusal(answer) == (403, "Forbidden")


async def test_whoever_may_write_roles_cannot_apply_a_label_either(api: ApiUnderTest) -> None:
    writes = {"verbs": ["*"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"]}
    await grant(api, "jane", writes)
    applied = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "given", "labels": {"a": "b"}},
    }
    headers = {"content-type": "application/apply-patch+yaml", "impersonate-user": "jane"}
    path = f"{RBAC}/clusterroles/given?fieldManager=jane"
    assert refusal(await api.ask("PATCH", path, applied, headers)) == (403, "Forbidden")


async def test_rights_are_reviewed_with_written_roles(api: ApiUnderTest) -> None:
    await grant(api, "jane", READ_PODS)
    review = {"spec": {"user": "jane", "resourceAttributes": {"verb": "list", "resource": "pods"}}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert (await api.post(path, review)).doc["status"]["allowed"] is True


# ephemeral containers


async def test_an_ephemeral_container_joins_a_pod(api: ApiUnderTest) -> None:
    await api.post(PODS, a_pod(node="n1"))
    path = f"{PODS}/web/ephemeralcontainers"
    debugger = {"name": "debug", "image": "busybox"}
    change = {"spec": {"ephemeralContainers": [debugger], "nodeName": "elsewhere"}}
    answer = await api.patch(path, change, "strategic-merge-patch+json")
    assert answer.code == 200, answer.text
    assert answer.doc["spec"]["nodeName"] == "n1"
    (joined,) = answer.doc["spec"]["ephemeralContainers"]
    assert (joined["name"], joined["imagePullPolicy"]) == ("debug", "Always")
    assert answer.doc["metadata"]["generation"] == 2
    gone = {"spec": {"ephemeralContainers": None}}
    assert refusal(await api.patch(path, gone)) == (422, "Invalid")
    by_main_path = await api.patch(f"{PODS}/web", gone)
    assert refusal(by_main_path) == (422, "Invalid")
