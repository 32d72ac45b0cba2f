"""PUT, on objects and on their status: what may change, who may change it."""

from typing import Any

import pytest

from tests.api.answers import causes, message, refusal
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CLASSES,
    CONFIG_MAPS,
    CUSTOM,
    DRIVERS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    STORED,
    VOLUMES,
    a_claim,
    a_class,
    a_config_map,
    a_driver,
    a_lease,
    a_namespace,
    a_node,
    a_pod,
    a_secret,
    a_snapshot,
    a_snapshot_content,
    a_volume,
    an_attachment,
    an_event,
)

Doc = dict[str, Any]

NEEDS_VERSION = {
    *CUSTOM,
    "VolumeAttachment",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "Lease",
    "ClusterTrustBundle",
    "PodDisruptionBudget",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "StorageVersionMigration",
}
CREATED_BY_PUT = {"Endpoints", "Lease", "Event", "Event of events.k8s.io"}


def version(doc: Doc) -> str:
    return str(doc["metadata"]["resourceVersion"])


@pytest.mark.parametrize(("url", "make"), STORED.values(), ids=STORED)
async def test_the_same_object_again_changes_nothing(
    api: ApiUnderTest, url: str, make: Any
) -> None:
    name = (await api.post(url, make())).doc["metadata"]["name"]
    await api.settle()
    stored = (await api.get(f"{url}/{name}")).doc  # as the server's own controllers leave it
    watching = await api.watch(f"{url}?watch=1&resourceVersion={version(stored)}")
    await api.clock.advance(60)
    answer = await api.put(f"{url}/{stored['metadata']['name']}", stored, user_agent="other/1")
    assert answer.code == 200, answer.text
    assert answer.doc == stored
    await api.settle()
    assert [e for e in watching.events if e["object"]["metadata"].get("uid") == _uid(stored)] == []


@pytest.mark.parametrize(
    ("url", "make"),
    [
        (CONFIG_MAPS, a_config_map),
        (VOLUMES, a_volume),
        (CLAIMS, a_claim),
        (CLASSES, a_class),
        (NODES, a_node),
    ],
    ids=["ConfigMap", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "Node"],
)
async def test_what_the_client_wrote_again_changes_nothing_but_what_it_left_out(
    api: ApiUnderTest, url: str, make: Any
) -> None:
    """`kubectl replace -f` with the file an object was created from."""
    stored = (await api.post(url, make())).doc
    finalizers = stored["metadata"].get("finalizers")
    doc = make()
    if finalizers:
        doc["metadata"]["finalizers"] = finalizers
    if "storageClassName" in stored.get("spec", {}):
        doc["spec"]["storageClassName"] = stored["spec"]["storageClassName"]
    answer = await api.put(f"{url}/{stored['metadata']['name']}", doc)
    assert answer.doc == stored


async def test_another_spelling_of_the_same_amount_changes_nothing(api: ApiUnderTest) -> None:
    stored = (await api.post(CLAIMS, a_claim(storage="1024Mi"))).doc
    assert stored["spec"]["resources"]["requests"] == {"storage": "1Gi"}
    stored["spec"]["resources"]["requests"]["storage"] = "1048576Ki"
    assert version((await api.put(f"{CLAIMS}/data", stored)).doc) == version(stored)


async def test_a_stale_version_is_refused(api: ApiUnderTest) -> None:
    stale = (await api.post(CONFIG_MAPS, a_config_map("u1"))).doc
    await api.put(f"{CONFIG_MAPS}/u1", a_config_map("u1", colour="red"))
    answer = await api.put(f"{CONFIG_MAPS}/u1", stale)
    assert refusal(answer) == (409, "Conflict")
    assert message(answer) == (
        'Operation cannot be fulfilled on configmaps "u1": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert answer.doc["details"] == {"name": "u1", "kind": "configmaps"}


async def test_a_version_is_a_number(api: ApiUnderTest) -> None:
    stored = (await api.post(CONFIG_MAPS, a_config_map("x"))).doc
    stored["metadata"]["resourceVersion"] = "abc"
    answer = await api.put(f"{CONFIG_MAPS}/x", stored)
    assert answer.code == 500
    assert "invalid syntax" in message(answer)


async def test_another_object_of_the_name_is_not_meant(api: ApiUnderTest) -> None:
    doc = a_config_map("x")
    await api.post(CONFIG_MAPS, doc)
    doc["metadata"]["uid"] = "another"
    answer = await api.put(f"{CONFIG_MAPS}/x", doc)
    assert refusal(answer) == (409, "Conflict")
    assert "Precondition failed: UID in precondition: another, UID in object meta: " in message(
        answer
    )


NAMES = {
    "another name": (
        {"name": "b"},
        "the name of the object (b) does not match the name on the URL (a)",
    ),
    "no name": (
        {},
        "the name of the object (a based on URL) was undeterminable: name must be provided",
    ),
}


@pytest.mark.parametrize(("metadata", "said"), NAMES.values(), ids=NAMES)
async def test_the_body_must_name_what_the_path_names(
    api: ApiUnderTest, metadata: Doc, said: str
) -> None:
    await api.post(CONFIG_MAPS, a_config_map("a"))
    answer = await api.put(f"{CONFIG_MAPS}/a", a_config_map() | {"metadata": metadata})
    assert refusal(answer) == (400, "BadRequest")
    assert message(answer) == said


async def test_the_body_must_not_name_another_namespace(api: ApiUnderTest) -> None:
    doc = a_config_map("a")
    doc["metadata"]["namespace"] = "kube-system"
    assert refusal(await api.put(f"{CONFIG_MAPS}/a", doc)) == (400, "BadRequest")


@pytest.mark.parametrize(("kind", "url", "make"), [(k, *v) for k, v in STORED.items()], ids=STORED)
async def test_only_endpoints_leases_and_events_are_created_by_a_put(
    api: ApiUnderTest, kind: str, url: str, make: Any
) -> None:
    doc = make()
    answer = await api.put(f"{url}/{doc['metadata']['name']}", doc)
    if kind in CREATED_BY_PUT:
        assert answer.code == 201, answer.text
        assert answer.doc["metadata"]["uid"]
    else:
        assert refusal(answer) == (404, "NotFound")


async def test_a_put_that_creates_may_carry_a_version_but_no_uid(api: ApiUnderTest) -> None:
    """A version is of no object any more; a uid says which object was meant, and that is gone."""
    lease = a_lease("l")
    lease["metadata"]["resourceVersion"] = "3"
    assert (await api.put(f"{LEASES}/l", lease)).code == 201
    await api.delete(f"{LEASES}/l")
    lease["metadata"]["uid"] = "gone"
    answer = await api.put(f"{LEASES}/l", lease)
    assert refusal(answer) == (409, "Conflict")
    assert "UID in precondition: gone, UID in object meta: " in message(answer)


async def test_a_dry_put_creates_nothing(api: ApiUnderTest) -> None:
    assert (await api.put(f"{LEASES}/l?dryRun=All", a_lease("l"))).code == 201
    assert (await api.get(f"{LEASES}/l")).code == 404


@pytest.mark.parametrize(("kind", "url", "make"), [(k, *v) for k, v in STORED.items()], ids=STORED)
async def test_some_kinds_are_updated_only_by_those_who_know_their_version(
    api: ApiUnderTest, kind: str, url: str, make: Any
) -> None:
    stored = (await api.post(url, make())).doc
    name = stored["metadata"]["name"]
    for unknown in (None, "0"):
        doc = {**stored, "metadata": {**stored["metadata"], "labels": {"a": str(unknown)}}}
        doc["metadata"].pop("resourceVersion")
        if unknown:
            doc["metadata"]["resourceVersion"] = unknown
        answer = await api.put(f"{url}/{name}", doc)
        if kind in NEEDS_VERSION:
            group = stored["apiVersion"].rpartition("/")[0]
            assert refusal(answer) == (422, "Invalid")
            assert message(answer) == (
                f'{url.rpartition("/")[2]}.{group} "{name}" is invalid: '
                "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
            )
            assert causes(answer) == [("FieldValueInvalid", "metadata.resourceVersion")]
        else:
            assert answer.code == 200, answer.text
            assert answer.doc["metadata"]["labels"]["a"] == str(unknown)


SERVER_FIELDS: dict[str, Doc] = {
    "creationTimestamp": {"creationTimestamp": "1999-01-01T00:00:00Z"},
    "no creationTimestamp": {"creationTimestamp": None},
    "generation": {"generation": 9},
    "selfLink": {"selfLink": "/x"},
    "no uid": {"uid": None},
}


@pytest.mark.parametrize("metadata", SERVER_FIELDS.values(), ids=SERVER_FIELDS)
async def test_what_only_the_server_knows_stays(api: ApiUnderTest, metadata: Doc) -> None:
    stored = (await api.post(CONFIG_MAPS, a_config_map("x"))).doc
    doc = {**stored, "metadata": stored["metadata"] | metadata}
    assert (await api.put(f"{CONFIG_MAPS}/x", doc)).doc == stored


DELETIONS: dict[str, Doc] = {
    "deletionTimestamp": {"deletionTimestamp": "1999-01-01T00:00:00Z"},
    "deletionGracePeriodSeconds": {"deletionGracePeriodSeconds": 5},
}


@pytest.mark.parametrize(("field", "metadata"), DELETIONS.items(), ids=DELETIONS)
async def test_nobody_is_deleted_by_an_update(api: ApiUnderTest, field: str, metadata: Doc) -> None:
    stored = (await api.post(CONFIG_MAPS, a_config_map("x"))).doc
    doc = {**stored, "metadata": stored["metadata"] | metadata}
    answer = await api.put(f"{CONFIG_MAPS}/x", doc)
    assert causes(answer) == [("FieldValueInvalid", f"metadata.{field}")]


EMPTY: dict[str, Doc] = {
    "labels": {"labels": {}},
    "annotations": {"annotations": {}},
    "finalizers": {"finalizers": []},
    "owners": {"ownerReferences": []},
}


@pytest.mark.parametrize("metadata", EMPTY.values(), ids=EMPTY)
async def test_an_empty_list_or_map_in_metadata_is_none(api: ApiUnderTest, metadata: Doc) -> None:
    doc = a_config_map("x")
    doc["metadata"] |= metadata
    stored = (await api.post(CONFIG_MAPS, doc)).doc
    assert not stored["metadata"].keys() & metadata.keys()
    assert (await api.put(f"{CONFIG_MAPS}/x", doc)).doc == stored


async def test_a_put_replaces_what_it_does_not_mention(api: ApiUnderTest) -> None:
    doc = a_config_map("x", a="1", b="2")
    doc["metadata"]["labels"] = {"l": "1"}
    await api.post(CONFIG_MAPS, doc)
    stored = (await api.put(f"{CONFIG_MAPS}/x", a_config_map("x", b="3"))).doc
    assert stored["data"] == {"b": "3"}
    assert "labels" not in stored["metadata"]


async def test_a_dry_update_shows_the_change_and_makes_none(api: ApiUnderTest) -> None:
    before = (await api.post(CONFIG_MAPS, a_config_map("x", a="1"))).doc
    answer = await api.put(f"{CONFIG_MAPS}/x?dryRun=All", a_config_map("x", a="2"))
    assert answer.code == 200
    assert answer.doc["data"] == {"a": "2"}
    assert version(answer.doc) == version(before)
    assert (await api.get(f"{CONFIG_MAPS}/x")).doc == before


async def test_an_update_is_warned_about_odd_fields_or_strictly_refused(
    api: ApiUnderTest,
) -> None:
    await api.post(CONFIG_MAPS, a_config_map("x"))
    odd = a_config_map("x") | {"foo": 1}
    answer = await api.put(f"{CONFIG_MAPS}/x", odd)
    assert (answer.code, answer.warnings) == (200, ['unknown field "foo"'])
    strictly = await api.put(f"{CONFIG_MAPS}/x?fieldValidation=Strict", odd)
    assert refusal(strictly) == (400, "BadRequest")
    assert 'strict decoding error: unknown field "foo"' in message(strictly)


async def test_an_invalid_update_is_refused_and_changes_nothing(api: ApiUnderTest) -> None:
    before = (await api.post(CLASSES, a_class("fast"))).doc
    answer = await api.put(f"{CLASSES}/fast", a_class("fast") | {"provisioner": "other.com"})
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer) == [("FieldValueInvalid", "provisioner")]
    assert (await api.get(f"{CLASSES}/fast")).doc == before


IMMUTABLE_DATA: dict[str, tuple[str, Doc, Doc]] = {
    "a config map's data": (
        CONFIG_MAPS,
        a_config_map("x", a="1") | {"immutable": True},
        {"data": {"a": "2"}},
    ),
    "a config map's own immutability": (
        CONFIG_MAPS,
        a_config_map("x") | {"immutable": True},
        {"immutable": False},
    ),
    "a secret's data": (
        STORED["Secret"][0],
        a_secret("x") | {"immutable": True},
        {"data": {"key": "AAAA"}},
    ),
    "a secret's type": (STORED["Secret"][0], a_secret("x"), {"type": "example.com/other"}),
}


@pytest.mark.parametrize(("url", "doc", "change"), IMMUTABLE_DATA.values(), ids=IMMUTABLE_DATA)
async def test_what_is_immutable_stays(api: ApiUnderTest, url: str, doc: Doc, change: Doc) -> None:
    assert (await api.post(url, doc)).code == 201
    assert refusal(await api.put(f"{url}/x", doc | change)) == (422, "Invalid")


STATUS: dict[str, tuple[str, Doc, Doc]] = {
    "PersistentVolume": (VOLUMES, a_volume("x"), {"phase": "Available"}),
    "PersistentVolumeClaim": (CLAIMS, a_claim("x"), {"phase": "Lost"}),
    "VolumeAttachment": (ATTACHMENTS, an_attachment("x"), {"attached": True}),
    "Pod": (PODS, a_pod("x"), {"phase": "Running", "qosClass": "BestEffort"}),
    "Node": (NODES, a_node("x"), {"phase": "Running"}),
    "Namespace": (NAMESPACES, a_namespace("x"), {"phase": "Active"}),
    "VolumeSnapshot": (SNAPSHOTS, a_snapshot("x"), {"readyToUse": True}),
    "VolumeSnapshotContent": (SNAPSHOT_CONTENTS, a_snapshot_content("x"), {"readyToUse": True}),
}
CHANGED_SPEC: dict[str, Doc] = {
    "PersistentVolume": {"storageClassName": "other"},
    "PersistentVolumeClaim": {"volumeName": "other"},
    "VolumeAttachment": {"nodeName": "other"},
    "Pod": {"nodeName": "other"},
    "Node": {"unschedulable": True},
    "Namespace": {"finalizers": []},
    "VolumeSnapshot": {"volumeSnapshotClassName": "other"},
    "VolumeSnapshotContent": {"deletionPolicy": "Retain"},
}
KEEPS_METADATA = {"VolumeAttachment", "VolumeSnapshot", "VolumeSnapshotContent"}


@pytest.mark.parametrize(("url", "doc", "status"), STATUS.values(), ids=STATUS)
async def test_the_main_path_does_not_touch_the_status(
    api: ApiUnderTest, url: str, doc: Doc, status: Doc
) -> None:
    before = (await api.post(url, doc)).doc
    answer = await api.put(f"{url}/x", {**before, "status": status})
    assert answer.code == 200, answer.text
    assert answer.doc == before


@pytest.mark.parametrize(
    ("kind", "url", "doc", "status"), [(k, *v) for k, v in STATUS.items()], ids=STATUS
)
async def test_the_status_path_touches_nothing_but_the_status(
    api: ApiUnderTest, kind: str, url: str, doc: Doc, status: Doc
) -> None:
    before = (await api.post(url, doc)).doc
    sent = {**before, "status": status}
    sent["metadata"] = before["metadata"] | {"labels": {"l": "1"}}
    if "spec" in sent:
        sent["spec"] = {**sent["spec"], **CHANGED_SPEC[kind]}
    answer = await api.put(f"{url}/x/status", sent)
    assert answer.code == 200, answer.text
    after = answer.doc
    assert after.get("spec") == before.get("spec")
    assert after["status"].items() >= status.items()
    if kind in KEEPS_METADATA:
        assert after["metadata"].get("labels") == before["metadata"].get("labels")
    else:
        assert after["metadata"]["labels"]["l"] == "1"
    assert after["metadata"].get("generation") == before["metadata"].get("generation")
    assert (await api.get(f"{url}/x/status")).doc == after
    assert (await api.get(f"{url}/x")).doc == after


@pytest.mark.parametrize(
    "url", [CONFIG_MAPS, CLASSES, DRIVERS, LEASES, STORED["VolumeSnapshotClass"][0]]
)
async def test_kinds_without_a_status_have_no_path_for_it(api: ApiUnderTest, url: str) -> None:
    answer = await api.get(f"{url}/x/status")
    assert refusal(answer) == (404, "NotFound")
    assert message(answer) == "the server could not find the requested resource"


async def test_the_status_path_heeds_versions_too(api: ApiUnderTest) -> None:
    stale = (await api.post(CLAIMS, a_claim())).doc
    await api.patch(f"{CLAIMS}/data", {"metadata": {"labels": {"a": "b"}}})
    assert refusal(await api.put(f"{CLAIMS}/data/status", stale)) == (409, "Conflict")


async def test_the_owners_of_a_pod_are_not_changed_through_its_status(api: ApiUnderTest) -> None:
    owner = {"apiVersion": "example.com/v1", "kind": "Set", "name": "s", "uid": "u"}
    pod = a_pod("x")
    pod["metadata"]["ownerReferences"] = [owner]
    stored = (await api.post(PODS, pod)).doc
    del stored["metadata"]["ownerReferences"]
    after = (await api.put(f"{PODS}/x/status", stored)).doc
    assert after["metadata"]["ownerReferences"] == [owner]


async def test_when_a_volume_changes_phase_is_noted(api: ApiUnderTest) -> None:
    stored = (await api.post(VOLUMES, a_volume("x"))).doc
    await api.clock.advance(60)
    stored["status"]["phase"] = "Anything"  # phases are not checked
    after = (await api.put(f"{VOLUMES}/x/status", stored)).doc
    assert after["status"]["lastPhaseTransitionTime"] == "2026-01-02T03:05:05Z"
    await api.clock.advance(60)
    after["status"]["message"] = "still the same"
    again = (await api.put(f"{VOLUMES}/x/status", after)).doc
    assert again["status"]["lastPhaseTransitionTime"] == "2026-01-02T03:05:05Z"


COUNTED: dict[str, tuple[str, Doc, Doc, list[int | None]]] = {
    "a snapshot": (
        SNAPSHOTS,
        a_snapshot("x"),
        {"spec": {"volumeSnapshotClassName": "other"}},
        [1, 1, 1, 2],
    ),
    "a driver": (DRIVERS, a_driver("x"), {"spec": {"podInfoOnMount": True}}, [None, None, None, 1]),
    "a pod": (PODS, a_pod("x"), {"spec": {"activeDeadlineSeconds": 9}}, [1, 1, 1, 2]),
    "a volume": (VOLUMES, a_volume("x"), {"spec": {"storageClassName": "a"}}, [None] * 4),
}


@pytest.mark.parametrize(("url", "doc", "change", "counts"), COUNTED.values(), ids=COUNTED)
async def test_only_changes_of_what_shall_be_are_counted(
    api: ApiUnderTest, url: str, doc: Doc, change: Doc, counts: list[int | None]
) -> None:
    answers = [
        await api.post(url, doc),
        await api.patch(f"{url}/x", {"metadata": {"labels": {"a": "b"}}}),
        await api.patch(f"{url}/x", {"metadata": {"generation": 9}}),
        await api.patch(f"{url}/x", change),
    ]
    assert [a.doc["metadata"].get("generation") for a in answers] == counts


async def test_an_event_is_updated_in_either_of_its_versions(api: ApiUnderTest) -> None:
    url = STORED["Event"][0]
    await api.post(url, an_event("e"))
    answer = await api.put(f"{url}/e", an_event("e", count=4))
    assert answer.doc["count"] == 4
    shown = (await api.get(f"{STORED['Event of events.k8s.io'][0]}/e")).doc
    assert shown["deprecatedCount"] == 4


def _uid(doc: Doc) -> str:
    return str(doc["metadata"]["uid"])
