"""DELETE: removed at once, held by finalizers, or given time to end."""

from typing import Any

import pytest

from tests.api.answers import causes, message, refusal
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    CLAIMS,
    CLASSES,
    CONFIG_MAPS,
    CUSTOM,
    DRIVERS,
    NAMESPACES,
    NODES,
    PODS,
    SNAPSHOTS,
    STORED,
    a_claim,
    a_class,
    a_config_map,
    a_driver,
    a_labelled,
    a_node,
    a_pod,
    a_snapshot,
)

Doc = dict[str, Any]

PROTECTION = "kubernetes.io/pvc-protection"
HOLD = "example.com/hold"
ANSWERED_AS_STATUS = {
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "StorageVersionMigration",
    *CUSTOM,
    "ConfigMap",
    "ControllerRevision",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "CronJob",
    "PriorityClass",
    "PodDisruptionBudget",
    "NetworkPolicy",
    "LimitRange",
    "Endpoints",
    "EndpointSlice",
    "Secret",
    "Node",
    "Event",
    "Lease",
    "ClusterTrustBundle",
    "CSIStorageCapacity",
    "Event of events.k8s.io",
}


def held(doc: Doc, *finalizers: str) -> Doc:
    doc["metadata"]["finalizers"] = list(finalizers or (HOLD,))
    return doc


async def unprotected(api: ApiUnderTest, url: str) -> None:
    """Take the finalizers away that admission gave."""
    await api.patch(url, {"metadata": {"finalizers": None}})


REMOVED = {kind: (kind, *how) for kind, how in STORED.items() if kind != "Namespace"}


@pytest.mark.parametrize(("kind", "url", "make"), REMOVED.values(), ids=REMOVED)
async def test_the_answer_to_a_deletion_tells_who_is_gone(
    api: ApiUnderTest, kind: str, url: str, make: Any
) -> None:
    doc = make()
    name = doc["metadata"]["name"]
    uid = (await api.post(url, doc)).doc["metadata"]["uid"]
    await unprotected(api, f"{url}/{name}")
    answer = await api.delete(f"{url}/{name}")
    assert answer.code == 200, answer.text
    if kind in ANSWERED_AS_STATUS:
        group = doc["apiVersion"].rpartition("/")[0]
        details = {"name": name, "group": group, "kind": url.rpartition("/")[2], "uid": uid}
        assert answer.doc == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: value for key, value in details.items() if value},
        }
    else:
        assert answer.doc["kind"] == doc["kind"]
        assert answer.doc["metadata"]["uid"] == uid
    await api.settle()  # a Job is kept until its pods are let go
    assert (await api.get(f"{url}/{name}")).code == 404


async def test_what_is_absent_cannot_be_deleted(api: ApiUnderTest) -> None:
    answer = await api.delete(f"{CLASSES}/none")
    assert refusal(answer) == (404, "NotFound")
    assert message(answer) == 'storageclasses.storage.k8s.io "none" not found'
    assert answer.doc["details"] == {
        "name": "none",
        "group": "storage.k8s.io",
        "kind": "storageclasses",
    }


PRECONDITIONS = {
    "another uid": (
        {"uid": "another"},
        "the UID in the precondition (another) does not match the UID in record",
    ),
    "another version": (
        {"resourceVersion": "1"},
        "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record",
    ),
}


@pytest.mark.parametrize(("given", "said"), PRECONDITIONS.values(), ids=PRECONDITIONS)
async def test_a_deletion_is_meant_for_one_object_only(
    api: ApiUnderTest, given: Doc, said: str
) -> None:
    stored = (await api.post(CONFIG_MAPS, a_config_map("x"))).doc["metadata"]
    answer = await api.delete(f"{CONFIG_MAPS}/x", {"preconditions": given})
    assert refusal(answer) == (409, "Conflict")
    assert message(answer).startswith('Operation cannot be fulfilled on ConfigMap "x": ' + said)
    assert answer.doc["details"] == {"name": "x", "kind": "ConfigMap"}
    right = {"uid": stored["uid"], "resourceVersion": stored["resourceVersion"]}
    assert (await api.delete(f"{CONFIG_MAPS}/x", {"preconditions": right})).code == 200


async def test_a_held_object_is_marked_and_a_second_deletion_changes_nothing(
    api: ApiUnderTest,
) -> None:
    created = (await api.post(CLAIMS, a_claim())).doc
    watching = await api.watch(f"{CLAIMS}?watch=1&resourceVersion=" + _version(created))
    await api.clock.advance(60)
    first = await api.delete(f"{CLAIMS}/data")
    metadata = first.doc["metadata"]
    assert (first.code, first.doc["kind"]) == (200, "PersistentVolumeClaim")
    assert metadata["deletionTimestamp"] == "2026-01-02T03:05:05Z"
    assert metadata["deletionGracePeriodSeconds"] == 0
    assert metadata["finalizers"] == [PROTECTION]
    await api.clock.advance(60)
    second = await api.delete(f"{CLAIMS}/data")
    assert second.code == 200
    assert second.doc == first.doc
    await api.settle()
    assert watching.types == ["MODIFIED"]


async def test_the_name_of_what_goes_is_not_free_yet(api: ApiUnderTest) -> None:
    await api.post(CLAIMS, a_claim())
    await api.delete(f"{CLAIMS}/data")
    answer = await api.post(CLAIMS, a_claim())
    assert refusal(answer) == (409, "AlreadyExists")
    assert message(answer) == (
        'object is being deleted: persistentvolumeclaims "data" already exists'
    )


RELEASES: dict[str, tuple[str, Any]] = {
    "a merge patch to null": ("merge-patch+json", {"metadata": {"finalizers": None}}),
    "a merge patch to none": ("merge-patch+json", {"metadata": {"finalizers": []}}),
    "a JSON patch": ("json-patch+json", [{"op": "remove", "path": "/metadata/finalizers"}]),
    "a strategic patch": (
        "strategic-merge-patch+json",
        {"metadata": {"$deleteFromPrimitiveList/finalizers": [PROTECTION]}},
    ),
}


@pytest.mark.parametrize(("media", "patch"), RELEASES.values(), ids=RELEASES)
async def test_when_the_last_finalizer_goes_so_does_the_object(
    api: ApiUnderTest, media: str, patch: Any
) -> None:
    await api.post(CLAIMS, a_claim())
    marked = (await api.delete(f"{CLAIMS}/data")).doc
    watching = await api.watch(f"{CLAIMS}?watch=1&resourceVersion=" + _version(marked))
    answer = await api.patch(f"{CLAIMS}/data", patch, media)
    assert (answer.code, answer.doc["kind"]) == (200, "PersistentVolumeClaim")
    assert "finalizers" not in answer.doc["metadata"]
    assert _version(answer.doc) == _version(marked)
    assert (await api.get(f"{CLAIMS}/data")).code == 404
    await api.settle()
    assert watching.types == ["DELETED"]
    gone = watching.events[0]["object"]
    assert gone["metadata"]["uid"] == marked["metadata"]["uid"]
    assert gone["metadata"]["finalizers"] == marked["metadata"]["finalizers"]  # as it was stored
    assert int(_version(gone)) > int(_version(marked))


async def test_a_put_without_finalizers_lets_go_as_well(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, held(a_config_map("x")))
    assert (await api.delete(f"{CONFIG_MAPS}/x")).doc["kind"] == "ConfigMap"  # not a Status
    assert (await api.put(f"{CONFIG_MAPS}/x", a_config_map("x"))).code == 200
    assert (await api.get(f"{CONFIG_MAPS}/x")).code == 404


async def test_one_finalizer_of_two_still_holds(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, held(a_config_map("x"), HOLD, "example.com/other"))
    await api.delete(f"{CONFIG_MAPS}/x")
    answer = await api.patch(f"{CONFIG_MAPS}/x", {"metadata": {"finalizers": [HOLD]}})
    assert answer.doc["metadata"]["finalizers"] == [HOLD]
    assert (await api.get(f"{CONFIG_MAPS}/x")).code == 200


async def test_finalizers_may_go_from_what_is_not_deleted(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, held(a_config_map("x")))
    answer = await api.patch(f"{CONFIG_MAPS}/x", {"metadata": {"finalizers": None}})
    assert "finalizers" not in answer.doc["metadata"]
    assert (await api.get(f"{CONFIG_MAPS}/x")).code == 200


async def test_nobody_may_begin_to_hold_what_goes(api: ApiUnderTest) -> None:
    await api.post(CLAIMS, a_claim())
    await api.delete(f"{CLAIMS}/data")
    patch = {"metadata": {"finalizers": [PROTECTION, HOLD]}}
    answer = await api.patch(f"{CLAIMS}/data", patch)
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer) == [("FieldValueForbidden", "metadata.finalizers")]
    assert (
        "no new finalizers can be added if the object is being deleted, "
        f'found new finalizers []string{{"{HOLD}"}}'
    ) in message(answer)


async def test_what_goes_cannot_be_called_back(api: ApiUnderTest) -> None:
    await api.post(CLAIMS, a_claim())
    marked = (await api.delete(f"{CLAIMS}/data")).doc["metadata"]
    patch = {"metadata": {"deletionTimestamp": None, "deletionGracePeriodSeconds": None}}
    kept = (await api.patch(f"{CLAIMS}/data", patch)).doc["metadata"]
    assert kept["deletionTimestamp"] == marked["deletionTimestamp"]
    assert kept["deletionGracePeriodSeconds"] == 0


async def a_running_pod(api: ApiUnderTest, **spec: Any) -> None:
    pod = a_pod("web", node="n1")
    pod["spec"] |= spec
    assert (await api.post(PODS, pod)).code == 201


async def test_a_pod_gets_time_and_later_deletions_only_shorten_it(api: ApiUnderTest) -> None:
    await a_running_pod(api)
    first = (await api.delete(f"{PODS}/web")).doc["metadata"]
    assert first["deletionGracePeriodSeconds"] == 30
    assert first["deletionTimestamp"] == "2026-01-02T03:04:35Z"
    assert first["generation"] == 2  # what it shall be has changed
    shorter = (await api.delete(f"{PODS}/web", {"gracePeriodSeconds": 10})).doc["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 10
    assert shorter["deletionTimestamp"] == "2026-01-02T03:04:15Z"
    assert shorter["generation"] == 2
    longer = (await api.delete(f"{PODS}/web", {"gracePeriodSeconds": 60})).doc["metadata"]
    assert longer == shorter
    assert (await api.delete(f"{PODS}/web", {"gracePeriodSeconds": 0})).code == 200
    assert (await api.get(f"{PODS}/web")).code == 404


GRACE: dict[str, tuple[Doc, Doc | None, int]] = {
    "as the pod says": ({"terminationGracePeriodSeconds": 7}, None, 7),
    "as the deletion says": ({"terminationGracePeriodSeconds": 7}, {"gracePeriodSeconds": 90}, 90),
    "a negative one is a second": ({}, {"gracePeriodSeconds": -5}, 1),
}


@pytest.mark.parametrize(("spec", "body", "seconds"), GRACE.values(), ids=GRACE)
async def test_how_much_time_a_pod_gets(
    api: ApiUnderTest, spec: Doc, body: Doc | None, seconds: int
) -> None:
    await a_running_pod(api, **spec)
    metadata = (await api.delete(f"{PODS}/web", body)).doc["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == seconds


async def test_a_second_deletion_that_names_no_time_leaves_the_first_alone(
    api: ApiUnderTest,
) -> None:
    await a_running_pod(api)
    first = (await api.delete(f"{PODS}/web", {"gracePeriodSeconds": 90})).doc
    assert (await api.delete(f"{PODS}/web")).doc == first


async def test_a_time_that_is_over_is_not_moved_into_the_past(api: ApiUnderTest) -> None:
    await a_running_pod(api)
    await api.delete(f"{PODS}/web")
    await api.clock.advance(20)
    metadata = (await api.delete(f"{PODS}/web", {"gracePeriodSeconds": 5})).doc["metadata"]
    assert metadata["deletionTimestamp"] == "2026-01-02T03:04:25Z"
    assert metadata["deletionGracePeriodSeconds"] == 1
    assert (await api.get(f"{PODS}/web")).code == 200


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_pod_that_has_ended_goes_at_once(api: ApiUnderTest, phase: str) -> None:
    await a_running_pod(api)
    await api.patch(f"{PODS}/web/status", {"status": {"phase": phase}})
    await api.delete(f"{PODS}/web")
    assert (await api.get(f"{PODS}/web")).code == 404


async def test_a_pod_without_a_node_goes_at_once(api: ApiUnderTest) -> None:
    await api.post(PODS, a_pod("web"))
    deleted = (await api.delete(f"{PODS}/web")).doc
    assert (deleted["kind"], deleted["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    assert (await api.get(f"{PODS}/web")).code == 404


async def test_a_held_pod_stays_after_its_time(api: ApiUnderTest) -> None:
    await api.post(PODS, held(a_pod("web", node="n1")))
    await api.delete(f"{PODS}/web")
    ended = (await api.delete(f"{PODS}/web", {"gracePeriodSeconds": 0})).doc["metadata"]
    assert ended["deletionGracePeriodSeconds"] == 0
    assert (await api.get(f"{PODS}/web")).code == 200
    await unprotected(api, f"{PODS}/web")
    assert (await api.get(f"{PODS}/web")).code == 404


async def test_a_pod_that_nobody_holds_any_more_still_has_its_time(api: ApiUnderTest) -> None:
    await api.post(PODS, held(a_pod("web", node="n1")))
    await api.delete(f"{PODS}/web")
    await unprotected(api, f"{PODS}/web")
    assert (await api.get(f"{PODS}/web")).code == 200


COUNTED: dict[str, tuple[str, Doc, int | None]] = {
    "a snapshot counts it": (SNAPSHOTS, held(a_snapshot("x")), 2),
    "a driver that never changed counts nothing": (DRIVERS, held(a_driver("x")), None),
    "a config map counts nothing": (CONFIG_MAPS, held(a_config_map("x")), None),
}


@pytest.mark.parametrize(("url", "doc", "generation"), COUNTED.values(), ids=COUNTED)
async def test_the_mark_of_deletion_is_a_change_of_what_shall_be(
    api: ApiUnderTest, url: str, doc: Doc, generation: int | None
) -> None:
    await api.post(url, doc)
    metadata = (await api.delete(f"{url}/x")).doc["metadata"]
    assert metadata.get("generation") == generation


POLICIES: dict[str, tuple[Doc, list[str]]] = {
    "foreground": ({"propagationPolicy": "Foreground"}, [HOLD, "foregroundDeletion"]),
    "orphan": ({"propagationPolicy": "Orphan"}, [HOLD, "orphan"]),
    "background": ({"propagationPolicy": "Background"}, [HOLD]),
    "none": ({}, [HOLD]),
    "the old word for orphan": ({"orphanDependents": True}, [HOLD, "orphan"]),
    "the old word for background": ({"orphanDependents": False}, [HOLD]),
}


@pytest.mark.parametrize(("body", "finalizers"), POLICIES.values(), ids=POLICIES)
async def test_the_policy_for_dependents_becomes_a_finalizer(
    api: ApiUnderTest, body: Doc, finalizers: list[str]
) -> None:
    await api.post(CONFIG_MAPS, held(a_config_map("x")))
    answer = await api.delete(f"{CONFIG_MAPS}/x", body)
    assert answer.code == (202 if body.get("orphanDependents") is False else 200)
    assert answer.doc["metadata"]["finalizers"] == finalizers


async def test_a_second_deletion_may_choose_another_policy(api: ApiUnderTest) -> None:
    owner = (await api.post(CONFIG_MAPS, held(a_config_map("owner")))).doc["metadata"]
    dependent = held(a_config_map("dependent"), "example.com/also")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    dependent["metadata"]["ownerReferences"] = [reference | {"blockOwnerDeletion": True}]
    await api.post(CONFIG_MAPS, dependent)
    await api.delete(f"{CONFIG_MAPS}/owner", {"propagationPolicy": "Foreground"})
    kept = await api.delete(f"{CONFIG_MAPS}/owner")
    assert kept.doc["metadata"]["finalizers"] == [HOLD, "foregroundDeletion"]
    changed = await api.delete(f"{CONFIG_MAPS}/owner", {"propagationPolicy": "Background"})
    assert changed.doc["metadata"]["finalizers"] == [HOLD]


@pytest.mark.parametrize(
    ("url", "doc"),
    [(CONFIG_MAPS, a_config_map("x")), (NODES, a_node("x"))],
    ids=["ConfigMap", "Node"],
)
async def test_a_dry_deletion_answers_as_the_real_one_and_removes_nothing(
    api: ApiUnderTest, url: str, doc: Doc
) -> None:
    await api.post(url, doc)
    for where, body in (("?dryRun=All", None), ("", {"dryRun": ["All"]})):
        answer = await api.delete(f"{url}/x{where}", body)
        assert (answer.code, answer.doc["status"]) == (200, "Success")
    assert (await api.get(f"{url}/x")).code == 200


async def test_a_dry_deletion_of_what_is_held_shows_the_mark_and_leaves_none(
    api: ApiUnderTest,
) -> None:
    before = (await api.post(CLAIMS, a_claim())).doc
    shown = (await api.delete(f"{CLAIMS}/data", {"dryRun": ["All"]})).doc
    assert shown["metadata"]["deletionTimestamp"] == "2026-01-02T03:04:05Z"
    assert (await api.get(f"{CLAIMS}/data")).doc == before


async def test_a_collection_is_deleted_by_selector(api: ApiUnderTest) -> None:
    for name, label in (("a", "b"), ("b", "b"), ("c", "d")):
        await api.post(CONFIG_MAPS, a_labelled(name, a=label))
    await api.post(CONFIG_MAPS, held(a_labelled("held", a="b")))
    answer = await api.delete(f"{CONFIG_MAPS}?labelSelector=a%3Db")
    assert (answer.code, answer.doc["kind"]) == (200, "ConfigMapList")
    assert [item["metadata"]["name"] for item in answer.doc["items"]] == ["a", "b", "held"]
    assert "deletionTimestamp" not in answer.doc["items"][2]["metadata"]  # as they were found
    left = (await api.get(f"{CONFIG_MAPS}?labelSelector=a")).doc["items"]
    assert [item["metadata"]["name"] for item in left] == ["c", "held"]
    assert "deletionTimestamp" in left[1]["metadata"]


async def test_a_collection_is_deleted_dry(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, a_labelled("a", a="b"))
    answer = await api.delete(f"{CONFIG_MAPS}?labelSelector=a&dryRun=All")
    assert [item["metadata"]["name"] for item in answer.doc["items"]] == ["a"]
    assert (await api.get(f"{CONFIG_MAPS}/a")).code == 200


async def test_nothing_outside_the_namespace_is_deleted(api: ApiUnderTest) -> None:
    await api.post(NAMESPACES, {"metadata": {"name": "team"}})
    other = "/api/v1/namespaces/team/configmaps"
    await api.post(other, a_labelled("a", a="b"))
    await api.post(CONFIG_MAPS, a_labelled("a", a="b"))
    await api.delete(f"{CONFIG_MAPS}?labelSelector=a")
    assert (await api.get(f"{other}/a")).code == 200
    assert (await api.get(f"{CONFIG_MAPS}/a")).code == 404


async def test_nothing_is_deleted_in_all_namespaces_at_once(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, a_config_map("x"))
    answer = await api.delete("/api/v1/configmaps")
    assert refusal(answer) == (405, "MethodNotAllowed")
    assert (await api.get(f"{CONFIG_MAPS}/x")).code == 200


async def test_namespaces_are_not_deleted_together(api: ApiUnderTest) -> None:
    assert refusal(await api.delete(NAMESPACES)) == (405, "MethodNotAllowed")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_never_go(api: ApiUnderTest, name: str) -> None:
    answer = await api.delete(f"{NAMESPACES}/{name}")
    assert refusal(answer) == (403, "Forbidden")
    assert message(answer) == (
        f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    )


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_a_status_is_neither_created_nor_deleted(api: ApiUnderTest, method: str) -> None:
    await api.post(CLAIMS, a_claim())
    answer = await api.ask(method, f"{CLAIMS}/data/status", a_claim())
    assert refusal(answer) == (405, "MethodNotAllowed")


async def test_after_a_deletion_the_name_is_free_for_another_object(api: ApiUnderTest) -> None:
    first = (await api.post(CLASSES, a_class("fast"))).doc["metadata"]
    await api.delete(f"{CLASSES}/fast")
    second = (await api.post(CLASSES, a_class("fast"))).doc["metadata"]
    assert second["uid"] != first["uid"]
    assert int(second["resourceVersion"]) > int(first["resourceVersion"])


def _version(doc: Doc) -> str:
    return str(doc["metadata"]["resourceVersion"])
