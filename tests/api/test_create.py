"""POST: what the server decides, what it keeps, and what it refuses."""

import base64
from typing import Any

import pytest

from tests.api.answers import causes, message, refusal
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CONFIG_MAPS,
    DRIVERS,
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
    SNAPSHOT_CONTENTS,
    SNAPSHOTS,
    STORED,
    VOLUMES,
    a_claim,
    a_config_map,
    a_driver,
    a_namespace,
    a_node,
    a_pod,
    a_secret,
    a_snapshot,
    a_snapshot_content,
    a_volume,
    an_attachment,
)

Doc = dict[str, Any]

NOW = "2026-01-02T03:04:05Z"


def with_metadata(doc: Doc, **metadata: Any) -> Doc:
    return doc | {"metadata": doc["metadata"] | metadata}


@pytest.mark.parametrize(("url", "make"), STORED.values(), ids=STORED)
async def test_every_kind_is_answered_as_it_is_stored(
    api: ApiUnderTest, url: str, make: Any
) -> None:
    doc = make()
    answer = await api.post(url, doc)
    assert answer.code == 201, answer.text
    stored = answer.doc
    assert (stored["kind"], stored["apiVersion"]) == (doc["kind"], doc["apiVersion"])
    metadata = stored["metadata"]
    assert metadata["resourceVersion"].isdecimal()
    assert metadata["creationTimestamp"] == NOW
    assert len(metadata["uid"]) == 36
    assert (await api.get(f"{url}/{metadata['name']}")).doc == stored


async def test_a_resource_version_does_not_belong_on_a_new_object(api: ApiUnderTest) -> None:
    answer = await api.post(CONFIG_MAPS, with_metadata(a_config_map("x"), resourceVersion="5"))
    assert answer.code == 500
    assert "resourceVersion should not be set on objects to be created" in message(answer)
    assert (await api.get(f"{CONFIG_MAPS}/x")).code == 404


async def test_what_only_the_server_knows_is_taken_from_the_server(api: ApiUnderTest) -> None:
    doc = with_metadata(
        a_config_map("x"),
        uid="mine",
        creationTimestamp="1999-01-01T00:00:00Z",
        deletionTimestamp="1999-01-01T00:00:00Z",
        deletionGracePeriodSeconds=7,
        selfLink="/somewhere",
    )
    metadata = (await api.post(CONFIG_MAPS, doc)).doc["metadata"]
    assert metadata["uid"] != "mine"
    assert metadata["creationTimestamp"] == NOW
    assert not metadata.keys() & {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}


async def test_the_namespace_of_the_body_is_that_of_the_path(api: ApiUnderTest) -> None:
    answer = await api.post(CONFIG_MAPS, with_metadata(a_config_map(), namespace="other"))
    assert refusal(answer) == (400, "BadRequest")
    assert message(answer) == (
        "the namespace of the provided object does not match the namespace sent on the request"
    )


async def test_a_namespace_on_a_cluster_wide_kind_is_dropped(api: ApiUnderTest) -> None:
    answer = await api.post(VOLUMES, with_metadata(a_volume(), namespace="default"))
    assert answer.code == 201
    assert "namespace" not in answer.doc["metadata"]


async def test_a_name_is_given_once(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, a_config_map("x"))
    answer = await api.post(CONFIG_MAPS, a_config_map("x"))
    assert refusal(answer) == (409, "AlreadyExists")
    assert message(answer) == 'configmaps "x" already exists'
    assert answer.doc["details"] == {"name": "x", "kind": "configmaps"}


async def test_a_missing_namespace_is_named(api: ApiUnderTest) -> None:
    answer = await api.post("/api/v1/namespaces/nowhere/configmaps", a_config_map())
    assert refusal(answer) == (404, "NotFound")
    assert message(answer) == 'namespaces "nowhere" not found'
    assert answer.doc["details"] == {"name": "nowhere", "kind": "namespaces"}


async def test_nothing_new_enters_a_namespace_that_goes(api: ApiUnderTest) -> None:
    await api.post(NAMESPACES, a_namespace("team"))
    held = with_metadata(a_config_map("held"), finalizers=["example.com/hold"])
    await api.post("/api/v1/namespaces/team/configmaps", held)
    await api.delete(f"{NAMESPACES}/team")
    await api.settle()
    answer = await api.post("/api/v1/namespaces/team/configmaps", a_config_map("late"))
    assert refusal(answer) == (403, "Forbidden")
    assert causes(answer) == [("NamespaceTerminating", "metadata.namespace")]
    assert message(answer) == (
        'configmaps "late" is forbidden: unable to create new content in namespace team '
        "because it is being terminated"
    )


async def test_a_namespaced_object_is_created_in_a_namespace(api: ApiUnderTest) -> None:
    answer = await api.post("/api/v1/configmaps", a_config_map())
    assert refusal(answer) == (405, "MethodNotAllowed")


async def test_a_secret_holds_up_to_a_mebibyte(api: ApiUnderTest) -> None:
    def of_size(size: int) -> Doc:
        return a_secret(f"s{size}") | {"data": {"a": base64.b64encode(b"x" * size).decode()}}

    assert (await api.post(SECRETS, of_size(1024 * 1024))).code == 201
    answer = await api.post(SECRETS, of_size(1024 * 1024 + 1))
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer) == [("FieldValueTooLong", "data")]


async def test_annotations_hold_up_to_256_kibibytes(api: ApiUnderTest) -> None:
    fits = with_metadata(a_config_map("x"), annotations={"a": "x" * (262144 - 1)})
    assert (await api.post(CONFIG_MAPS, fits)).code == 201
    too_much = with_metadata(a_config_map("y"), annotations={"a": "x" * 262144})
    answer = await api.post(CONFIG_MAPS, too_much)
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer) == [("FieldValueTooLong", "metadata.annotations")]


BAD_METADATA: dict[str, tuple[Doc, str, str]] = {
    "a label key with a space": (
        {"labels": {"a b": "c"}},
        "metadata.labels",
        "name part must consist of alphanumeric characters",
    ),
    "a label value with a slash": (
        {"labels": {"a": "b/c"}},
        "metadata.labels",
        "a valid label must be an empty string or consist of alphanumeric characters",
    ),
    "a label value of 64 characters": (
        {"labels": {"a": "b" * 64}},
        "metadata.labels",
        "must be no more than 63",
    ),
    "an annotation key with two slashes": (
        {"annotations": {"a/b/c": ""}},
        "metadata.annotations",
        "a valid label key must consist of",
    ),
    "a finalizer without a domain": (
        {"finalizers": ["hold"]},
        "metadata.finalizers[0]",
        "name is neither a standard finalizer name nor is it fully qualified",
    ),
    "two ways to treat dependents": (
        {"finalizers": ["orphan", "foregroundDeletion"]},
        "metadata.finalizers",
        "finalizer orphan and foregroundDeletion cannot be both set",
    ),
    "an owner without a uid": (
        {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": ""}]},
        "metadata.ownerReferences.uid",
        "must not be empty",
    ),
    "an owner without a version": (
        {"ownerReferences": [{"kind": "Pod", "name": "p", "uid": "u"}]},
        "metadata.ownerReferences.apiVersion",
        "version must not be empty",
    ),
    "two controllers": (
        {
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n, "controller": True}
                for n in ("p", "q")
            ]
        },
        "metadata.ownerReferences",
        "Only one reference can have Controller set to true",
    ),
}


@pytest.mark.parametrize(("metadata", "field", "said"), BAD_METADATA.values(), ids=BAD_METADATA)
async def test_bad_metadata_is_refused(
    api: ApiUnderTest, metadata: Doc, field: str, said: str
) -> None:
    answer = await api.post(CONFIG_MAPS, with_metadata(a_config_map("x"), **metadata))
    assert refusal(answer) == (422, "Invalid")
    assert field in {where for _, where in causes(answer)}
    assert said in message(answer)
    assert message(answer).startswith('ConfigMap "x" is invalid: ')


async def test_owners_named_twice_are_dropped_with_a_warning(api: ApiUnderTest) -> None:
    owner = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "name": "t",
        "uid": "u",
        "controller": True,
    }
    doc = with_metadata(a_config_map(), ownerReferences=[owner, owner])
    answer = await api.post(CONFIG_MAPS, doc)
    assert answer.doc["metadata"]["ownerReferences"] == [owner]
    assert answer.warnings == [
        "metadata.ownerReferences contains duplicate entries, which were dropped; "
        "duplicate UID(s) observed: u"
    ]
    assert (await api.get(f"{CONFIG_MAPS}/settings")).doc == answer.doc


async def test_every_complaint_is_made_at_once(api: ApiUnderTest) -> None:
    doc = a_claim(accessModes=[], storage="0")
    answer = await api.post(CLAIMS, doc)
    assert refusal(answer) == (422, "Invalid")
    assert {field for _, field in causes(answer)} >= {"spec.accessModes", "spec.resources[storage]"}
    assert message(answer).startswith('PersistentVolumeClaim "data" is invalid: [')
    assert answer.doc["details"]["kind"] == "PersistentVolumeClaim"


NO_INFO = dict.fromkeys(
    (
        *("architecture", "bootID", "containerRuntimeVersion", "kernelVersion"),
        *("kubeProxyVersion", "kubeletVersion", "machineID", "operatingSystem"),
        *("osImage", "systemUUID"),
    ),
    "",
)

STATUS: dict[str, tuple[str, Doc, Doc, Doc | None]] = {
    "a volume starts pending": (
        VOLUMES,
        a_volume(),
        {"phase": "Bound", "message": "x"},
        {"phase": "Pending", "lastPhaseTransitionTime": NOW},
    ),
    "a claim starts pending": (
        CLAIMS,
        a_claim(),
        {"phase": "Bound", "capacity": {"storage": "1Gi"}},
        {"phase": "Pending"},
    ),
    "an attachment starts detached": (
        ATTACHMENTS,
        an_attachment(),
        {"attached": True},
        {"attached": False},
    ),
    "a pod starts pending": (
        PODS,
        a_pod(),
        {"phase": "Running", "podIP": "1.2.3.4"},
        {"phase": "Pending", "qosClass": "BestEffort"},
    ),
    "a namespace starts active": (
        NAMESPACES,
        a_namespace(),
        {"phase": "Terminating"},
        {"phase": "Active"},
    ),
    "a snapshot has no status": (SNAPSHOTS, a_snapshot(), {"readyToUse": True}, None),
    "a snapshot's content has no status": (
        SNAPSHOT_CONTENTS,
        a_snapshot_content(),
        {"readyToUse": True},
        None,
    ),
    "a node keeps the status it brings": (
        NODES,
        a_node(),
        {"capacity": {"cpu": "4"}},
        {
            "capacity": {"cpu": "4"},
            "allocatable": {"cpu": "4"},
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
            "nodeInfo": NO_INFO,
        },
    ),
}


@pytest.mark.parametrize(("url", "doc", "sent", "stored"), STATUS.values(), ids=STATUS)
async def test_the_status_of_a_new_object(
    api: ApiUnderTest, url: str, doc: Doc, sent: Doc, stored: Doc | None
) -> None:
    answer = await api.post(url, doc | {"status": sent})
    assert answer.code == 201, answer.text
    assert answer.doc.get("status") == stored


GENERATION: dict[str, tuple[str, Doc, int | None]] = {
    "a pod's changes are counted from one": (PODS, with_metadata(a_pod(), generation=7), 1),
    "a snapshot's changes are counted from one": (
        SNAPSHOTS,
        with_metadata(a_snapshot(), generation=7),
        1,
    ),
    "a driver's changes are counted from none": (DRIVERS, a_driver(), None),
    "a config map's changes are not counted": (CONFIG_MAPS, a_config_map(), None),
    "what the client says is kept where nobody counts": (
        CONFIG_MAPS,
        with_metadata(a_config_map(), generation=7),
        7,
    ),
}


@pytest.mark.parametrize(("url", "doc", "stored"), GENERATION.values(), ids=GENERATION)
async def test_the_generation_of_a_new_object(
    api: ApiUnderTest, url: str, doc: Doc, stored: int | None
) -> None:
    answer = await api.post(url, doc)
    assert answer.doc["metadata"].get("generation") == stored


async def test_a_namespace_is_labelled_with_its_name_and_held_by_the_server(
    api: ApiUnderTest,
) -> None:
    stored = (await api.post(NAMESPACES, a_namespace("team"))).doc
    assert stored["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}
    assert stored["spec"] == {"finalizers": ["kubernetes"]}


async def test_the_plain_text_of_a_secret_is_folded_into_its_data(api: ApiUnderTest) -> None:
    doc: Doc = {
        "metadata": {"name": "s"},
        "data": {"a": base64.b64encode(b"old").decode(), "b": "Yg=="},
        "stringData": {"a": "new"},
    }
    stored = (await api.post(SECRETS, doc)).doc
    assert stored["data"] == {"a": base64.b64encode(b"new").decode(), "b": "Yg=="}
    assert stored["type"] == "Opaque"
    assert "stringData" not in stored
    assert "stringData" not in (await api.get(f"{SECRETS}/s")).doc


async def test_a_dry_run_answers_and_leaves_nothing(api: ApiUnderTest) -> None:
    watching = await api.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion=1")
    seen = len(watching.events)
    revision = api.parts.backend.store.revision
    answer = await api.post(f"{CONFIG_MAPS}?dryRun=All", a_config_map("x"))
    assert answer.code == 201
    metadata = answer.doc["metadata"]
    assert metadata["uid"]
    assert metadata["creationTimestamp"] == NOW
    assert "resourceVersion" not in metadata
    assert (await api.get(f"{CONFIG_MAPS}/x")).code == 404
    await api.settle()
    assert len(watching.events) == seen
    assert api.parts.backend.store.revision == revision


DRY_REFUSED: dict[str, tuple[str, Doc, tuple[int, str]]] = {
    "what exists": (CONFIG_MAPS, a_config_map("there"), (409, "AlreadyExists")),
    "what is invalid": (CONFIG_MAPS, a_config_map("Bad_Name"), (422, "Invalid")),
    "what admission refuses": (
        "/api/v1/namespaces/nowhere/configmaps",
        a_config_map(),
        (404, "NotFound"),
    ),
}


@pytest.mark.parametrize(("url", "doc", "expected"), DRY_REFUSED.values(), ids=DRY_REFUSED)
async def test_a_dry_run_is_refused_as_the_real_thing(
    api: ApiUnderTest, url: str, doc: Doc, expected: tuple[int, str]
) -> None:
    await api.post(CONFIG_MAPS, a_config_map("there"))
    assert refusal(await api.post(f"{url}?dryRun=All", doc)) == expected


async def test_a_dry_run_shows_what_admission_adds(api: ApiUnderTest) -> None:
    answer = await api.post(f"{CLAIMS}?dryRun=All", a_claim())
    assert answer.doc["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert answer.doc["status"] == {"phase": "Pending"}


async def test_a_dry_run_completes_a_generated_name(api: ApiUnderTest) -> None:
    doc = a_config_map() | {"metadata": {"generateName": "gn-"}}
    answer = await api.post(f"{CONFIG_MAPS}?dryRun=All", doc)
    assert answer.doc["metadata"]["name"].startswith("gn-")
    assert (await api.get(CONFIG_MAPS)).doc["items"][0]["metadata"]["name"] == "kube-root-ca.crt"


async def test_a_finalizer_of_a_custom_kind_needs_no_domain(
    api: ApiUnderTest,
) -> None:
    answer = await api.post(SNAPSHOTS, with_metadata(a_snapshot(), finalizers=["hold"]))
    assert answer.doc["metadata"]["finalizers"] == ["hold"]
