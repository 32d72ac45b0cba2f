"""Namespaces: furnished when they appear, emptied when they go."""

from typing import Any

import pytest

from tests.api.answers import message, refusal
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    NAMESPACES,
    a_claim,
    a_config_map,
    a_lease,
    a_pod,
    a_secret,
    a_snapshot,
    an_event,
)

Doc = dict[str, Any]

HOLD = "example.com/hold"
TEAM = f"{NAMESPACES}/team"
SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1/namespaces/team/volumesnapshots"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/team/leases"


async def a_team(api: ApiUnderTest) -> Doc:
    answer = await api.post(NAMESPACES, {"metadata": {"name": "team"}})
    assert answer.code == 201
    await api.settle()
    return answer.doc


async def emptied(api: ApiUnderTest) -> None:
    for _ in range(5):
        await api.settle()


async def conditions(api: ApiUnderTest) -> dict[str, tuple[str, str, str]]:
    """type -> (status, reason, message)."""
    status = (await api.get(TEAM)).doc["status"]
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public", "kube-node-lease"])
async def test_some_namespaces_are_always_there(api: ApiUnderTest, name: str) -> None:
    namespace = (await api.get(f"{NAMESPACES}/{name}")).doc
    assert namespace["status"] == {"phase": "Active"}
    assert (await api.get(f"{NAMESPACES}/{name}/serviceaccounts/default")).code == 200


async def test_a_new_namespace_is_furnished(api: ApiUnderTest) -> None:
    await a_team(api)
    assert (await api.get(f"{TEAM}/serviceaccounts/default")).code == 200
    authority = (await api.get(f"{TEAM}/configmaps/kube-root-ca.crt")).doc["data"]["ca.crt"]
    assert authority.startswith("-----BEGIN CERTIFICATE-----")


@pytest.mark.parametrize("what", ["serviceaccounts/default", "configmaps/kube-root-ca.crt"])
async def test_furniture_that_is_taken_away_comes_back(api: ApiUnderTest, what: str) -> None:
    await a_team(api)
    first = (await api.get(f"{TEAM}/{what}")).doc["metadata"]["uid"]
    await api.delete(f"{TEAM}/{what}")
    await api.settle()
    again = await api.get(f"{TEAM}/{what}")
    assert again.code == 200
    assert again.doc["metadata"]["uid"] != first


async def test_a_pod_can_be_created_as_soon_as_its_namespace_is_there(api: ApiUnderTest) -> None:
    """Without waiting for the service account that is about to appear."""
    await api.post(NAMESPACES, {"metadata": {"name": "team"}})
    answer = await api.post(f"{TEAM}/pods", a_pod("web"))
    assert answer.code == 201, answer.text
    assert answer.doc["spec"]["serviceAccountName"] == "default"


async def test_a_deleted_namespace_goes_with_all_that_is_in_it(api: ApiUnderTest) -> None:
    namespace = await a_team(api)
    for url, doc in (
        (f"{TEAM}/configmaps", a_config_map()),
        (f"{TEAM}/secrets", a_secret()),
        (f"{TEAM}/pods", a_pod()),
        (LEASES, a_lease()),
        (SNAPSHOTS, a_snapshot()),
    ):
        assert (await api.post(url, doc)).code == 201
    event = an_event()
    event["involvedObject"]["namespace"] = "team"
    assert (await api.post(f"{TEAM}/events", event)).code == 201
    answer = await api.delete(TEAM)
    assert answer.code == 200
    assert answer.doc["metadata"]["uid"] == namespace["metadata"]["uid"]
    assert answer.doc["status"]["phase"] == "Terminating"
    await emptied(api)
    assert (await api.get(TEAM)).code == 404
    for url in (f"{TEAM}/configmaps", f"{TEAM}/secrets", f"{TEAM}/pods", LEASES, SNAPSHOTS):
        assert (await api.get(url)).doc["items"] == []


async def test_other_namespaces_keep_what_is_in_them(api: ApiUnderTest) -> None:
    await a_team(api)
    await api.post(NAMESPACES, {"metadata": {"name": "team2"}})  # a name that begins alike
    await api.post(f"{NAMESPACES}/team2/configmaps", a_config_map())
    await api.delete(TEAM)
    await emptied(api)
    assert (await api.get(f"{NAMESPACES}/team2/configmaps/settings")).code == 200
    assert (await api.get(f"{NAMESPACES}/default/serviceaccounts/default")).code == 200


async def test_held_content_keeps_a_namespace_which_says_why(api: ApiUnderTest) -> None:
    await a_team(api)
    held = a_snapshot()
    held["metadata"]["finalizers"] = [HOLD]
    await api.post(SNAPSHOTS, held)
    for name in ("a", "b"):
        await api.post(f"{TEAM}/persistentvolumeclaims", a_claim(name))
    await api.post(f"{TEAM}/configmaps", a_config_map())
    await api.delete(TEAM)
    await emptied(api)
    namespace = (await api.get(TEAM)).doc
    assert namespace["status"]["phase"] == "Terminating"
    assert namespace["spec"]["finalizers"] == ["kubernetes"]
    told = await conditions(api)
    assert told["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: "
        "persistentvolumeclaims. has 2 resource instances, "
        "volumesnapshots.snapshot.storage.k8s.io has 1 resource instances",
    )
    assert told["NamespaceFinalizersRemaining"] == (
        "True",
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: "
        "example.com/hold in 1 resource instances, "
        "kubernetes.io/pvc-protection in 2 resource instances",
    )
    assert (await api.get(f"{TEAM}/configmaps")).doc["items"] == []

    for name in ("a", "b"):
        url = f"{TEAM}/persistentvolumeclaims/{name}"
        await api.patch(url, {"metadata": {"finalizers": None}})
    await emptied(api)
    assert "persistentvolumeclaims" not in (await conditions(api))["NamespaceContentRemaining"][2]
    await api.patch(f"{SNAPSHOTS}/snap", {"metadata": {"finalizers": None}})
    await emptied(api)
    assert (await api.get(TEAM)).code == 404


async def test_a_pod_that_takes_its_time_keeps_its_namespace_and_what_it_uses(
    api: ApiUnderTest,
) -> None:
    await a_team(api)
    await api.post(f"{TEAM}/pods", a_pod("web", node="n1"))
    await api.post(f"{TEAM}/configmaps", a_config_map())
    await api.delete(TEAM)
    await emptied(api)
    pod = (await api.get(f"{TEAM}/pods/web")).doc
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    settings = (await api.get(f"{TEAM}/configmaps/settings")).doc
    assert "deletionTimestamp" not in settings["metadata"]
    told = await conditions(api)
    assert "pods. has 1 resource instances" in told["NamespaceContentRemaining"][2]
    assert told["NamespaceDeletionContentFailure"] == (
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    )
    await api.delete(f"{TEAM}/pods/web", {"gracePeriodSeconds": 0})  # the node says it has ended
    await emptied(api)
    assert (await api.get(TEAM)).code == 404


async def test_an_emptied_namespace_is_not_furnished_again(api: ApiUnderTest) -> None:
    await a_team(api)
    held = a_config_map()
    held["metadata"]["finalizers"] = [HOLD]
    await api.post(f"{TEAM}/configmaps", held)
    await api.delete(TEAM)
    await emptied(api)
    assert (await api.get(f"{TEAM}/serviceaccounts")).doc["items"] == []
    names = [i["metadata"]["name"] for i in (await api.get(f"{TEAM}/configmaps")).doc["items"]]
    assert names == ["settings"]


async def test_deleting_a_namespace_again_changes_nothing(api: ApiUnderTest) -> None:
    await a_team(api)
    held = a_config_map()
    held["metadata"]["finalizers"] = [HOLD]
    await api.post(f"{TEAM}/configmaps", held)
    await api.delete(TEAM)
    await emptied(api)
    before = (await api.get(TEAM)).doc
    answer = await api.delete(TEAM)
    assert (answer.code, answer.doc) == (200, before)


async def test_nothing_is_written_while_a_namespace_waits(api: ApiUnderTest) -> None:
    await a_team(api)
    held = a_config_map()
    held["metadata"]["finalizers"] = [HOLD]
    await api.post(f"{TEAM}/configmaps", held)
    await api.delete(TEAM)
    await emptied(api)
    revision = api.parts.backend.store.revision
    await api.clock.advance(600)
    await emptied(api)
    assert api.parts.backend.store.revision == revision


async def test_a_name_is_free_again_when_its_namespace_is_gone(api: ApiUnderTest) -> None:
    first = await a_team(api)
    await api.delete(TEAM)
    await emptied(api)
    second = await a_team(api)
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert (await api.get(f"{TEAM}/serviceaccounts/default")).code == 200


async def test_a_namespace_held_by_its_own_finalizer_stays_when_it_is_empty(
    api: ApiUnderTest,
) -> None:
    await api.post(NAMESPACES, {"metadata": {"name": "team", "finalizers": [HOLD]}})
    await api.settle()
    await api.delete(TEAM)
    await emptied(api)
    namespace = (await api.get(TEAM)).doc
    assert "finalizers" not in namespace["spec"]
    told = await conditions(api)
    assert {status for status, _, _ in told.values()} == {"False"}
    await api.patch(TEAM, {"metadata": {"finalizers": None}})
    assert (await api.get(TEAM)).code == 404


# the finalize subresource


async def a_finalized_team(api: ApiUnderTest) -> None:
    finalizers = ["kubernetes", HOLD]
    await api.post(NAMESPACES, {"metadata": {"name": "team"}, "spec": {"finalizers": finalizers}})
    await api.settle()


async def test_who_holds_a_namespace_lets_go_through_finalize(api: ApiUnderTest) -> None:
    await a_finalized_team(api)
    await api.delete(TEAM)
    await emptied(api)
    namespace = (await api.get(TEAM)).doc
    assert namespace["spec"]["finalizers"] == [HOLD]
    namespace["spec"] = {}
    answer = await api.put(f"{TEAM}/finalize", namespace)
    assert answer.code == 200, answer.text
    assert (await api.get(TEAM)).code == 404


async def test_a_namespace_that_is_not_deleted_stays_whoever_lets_go(api: ApiUnderTest) -> None:
    await a_team(api)
    answer = await api.put(f"{TEAM}/finalize", {"metadata": {"name": "team"}})
    assert answer.code == 200
    assert (await api.get(TEAM)).code == 200


async def test_the_main_path_cannot_change_who_holds_a_namespace(api: ApiUnderTest) -> None:
    before = await a_team(api)
    answer = await api.put(TEAM, {**before, "spec": {"finalizers": []}})
    assert answer.doc == before


async def test_finalize_refuses_bad_finalizers(api: ApiUnderTest) -> None:
    await a_team(api)
    body = {"metadata": {"name": "team"}, "spec": {"finalizers": ["hold"]}}
    answer = await api.put(f"{TEAM}/finalize", body)
    assert refusal(answer) == (422, "Invalid")
    assert "name is neither a standard finalizer name nor is it fully qualified" in message(answer)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PATCH"])
async def test_finalize_is_only_ever_put(api: ApiUnderTest, method: str) -> None:
    answer = await api.ask(method, f"{NAMESPACES}/default/finalize", {})
    assert refusal(answer) == (405, "MethodNotAllowed")
