"""PATCH with JSON, merge and strategic merge patches; server-side apply is elsewhere."""

import asyncio
from typing import Any

import pytest

from tests.api.answers import causes, message, refusal
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    CLAIMS,
    CLASSES,
    CONFIG_MAPS,
    CSI_NODES,
    NODES,
    PODS,
    SNAPSHOTS,
    VOLUMES,
    a_claim,
    a_class,
    a_config_map,
    a_csi_node,
    a_node,
    a_pod,
    a_snapshot,
    a_volume,
)

Doc = dict[str, Any]

JSON_PATCH = "json-patch+json"
MERGE = "merge-patch+json"
STRATEGIC = "strategic-merge-patch+json"
X = f"{CONFIG_MAPS}/x"


async def a_stored(api: ApiUnderTest, **data: str) -> Doc:
    answer = await api.post(CONFIG_MAPS, a_config_map("x", **data))
    assert answer.code == 201
    return answer.doc


def to_json_patch(patch: Doc) -> list[Doc]:
    """The same change of whole top-level members, as a JSON patch."""
    return [{"op": "add", "path": f"/{name}", "value": value} for name, value in patch.items()]


CHANGES: dict[str, tuple[str, Any, Doc]] = {
    "merge: a member is set": (MERGE, {"data": {"b": "2"}}, {"a": "1", "b": "2"}),
    "merge: null deletes": (MERGE, {"data": {"a": None, "b": "2"}}, {"b": "2"}),
    "merge: what is absent is added": (MERGE, {"data": {"b": "2"}}, {"a": "1", "b": "2"}),
    "strategic: a member is set": (STRATEGIC, {"data": {"b": "2"}}, {"a": "1", "b": "2"}),
    "strategic: null deletes": (STRATEGIC, {"data": {"a": None, "b": "2"}}, {"b": "2"}),
    "strategic: a map is replaced": (
        STRATEGIC,
        {"data": {"$patch": "replace", "b": "2"}},
        {"b": "2"},
    ),
    "strategic: the keys to retain": (
        STRATEGIC,
        {"data": {"$retainKeys": ["b"], "b": "2"}},
        {"b": "2"},
    ),
    "JSON: add": (
        JSON_PATCH,
        [{"op": "add", "path": "/data/b", "value": "2"}],
        {"a": "1", "b": "2"},
    ),
    "JSON: replace": (JSON_PATCH, [{"op": "replace", "path": "/data/a", "value": "2"}], {"a": "2"}),
    "JSON: move": (JSON_PATCH, [{"op": "move", "from": "/data/a", "path": "/data/b"}], {"b": "1"}),
    "JSON: copy": (
        JSON_PATCH,
        [{"op": "copy", "from": "/data/a", "path": "/data/b"}],
        {"a": "1", "b": "1"},
    ),
    "JSON: a test that holds": (
        JSON_PATCH,
        [
            {"op": "test", "path": "/data/a", "value": "1"},
            {"op": "replace", "path": "/data/a", "value": "2"},
        ],
        {"a": "2"},
    ),
    "JSON: no operation": (JSON_PATCH, [], {"a": "1"}),
}


@pytest.mark.parametrize(("media", "patch", "data"), CHANGES.values(), ids=CHANGES)
async def test_a_patch_changes_what_it_names(
    api: ApiUnderTest, media: str, patch: Any, data: Doc
) -> None:
    before = await a_stored(api, a="1")
    answer = await api.patch(X, patch, media)
    assert answer.code == 200, answer.text
    assert answer.doc["data"] == data
    assert (await api.get(X)).doc == answer.doc
    changed = answer.doc["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
    assert changed == (data != {"a": "1"})


@pytest.mark.parametrize(
    ("media", "patch"),
    [
        (MERGE, {"data": {"a": "1"}}),
        (MERGE, {}),
        (STRATEGIC, {"data": {"a": "1"}}),
        (STRATEGIC, {}),
        (JSON_PATCH, [{"op": "replace", "path": "/data/a", "value": "1"}]),
    ],
    ids=["merge", "empty merge", "strategic", "empty strategic", "JSON"],
)
async def test_a_patch_to_what_is_there_changes_nothing(
    api: ApiUnderTest, media: str, patch: Any
) -> None:
    before = await a_stored(api, a="1")
    watching = await api.watch(
        f"{CONFIG_MAPS}?watch=1&resourceVersion={before['metadata']['resourceVersion']}"
    )
    await api.clock.advance(60)
    assert (await api.patch(X, patch, media)).doc == before
    await api.settle()
    assert watching.events == []


async def test_a_patch_may_name_the_version_it_was_made_for(api: ApiUnderTest) -> None:
    version = (await a_stored(api, a="1"))["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version}, "data": {"a": "2"}}
    assert (await api.patch(X, patch)).code == 200
    answer = await api.patch(X, patch)
    assert refusal(answer) == (409, "Conflict")
    assert "the object has been modified" in message(answer)


async def test_patches_at_the_same_time_all_come_through(api: ApiUnderTest) -> None:
    await a_stored(api)
    patches = [{"metadata": {"labels": {f"l{n}": "v"}}} for n in range(20)]
    answers = await asyncio.gather(*(api.patch(X, patch) for patch in patches))
    assert {answer.code for answer in answers} == {200}
    assert (await api.get(X)).doc["metadata"]["labels"].keys() == {f"l{n}" for n in range(20)}


NO_FIT: dict[str, tuple[str, Any, tuple[int, str], str]] = {
    "a test that fails": (
        JSON_PATCH,
        [{"op": "test", "path": "/data/a", "value": "2"}],
        (422, "Invalid"),
        "the server rejected our request due to an error in our request",
    ),
    "nothing to remove": (
        JSON_PATCH,
        [{"op": "remove", "path": "/data/b"}],
        (422, "Invalid"),
        "the server rejected our request",
    ),
    "a path into nowhere": (
        JSON_PATCH,
        [{"op": "add", "path": "/nowhere/b", "value": "2"}],
        (422, "Invalid"),
        "the server rejected our request",
    ),
    "an object instead of a list": (
        JSON_PATCH,
        {"op": "add"},
        (400, "BadRequest"),
        "error decoding patch: json: cannot unmarshal object into Go value",
    ),
    "10001 operations": (
        JSON_PATCH,
        [{"op": "test", "path": "/data/a", "value": "1"}] * 10_001,
        (413, "RequestEntityTooLarge"),
        "The allowed maximum operations in a JSON patch is 10000, got 10001",
    ),
    "broken JSON": (MERGE, b"{", (400, "BadRequest"), "invalid JSON patch"),
    "a merge patch that is no object": (MERGE, b"[]", (400, "BadRequest"), ""),
    "a strategic patch that is no object": (STRATEGIC, b"[]", (400, "BadRequest"), ""),
    "nested beyond measure": (
        MERGE,
        b'{"data":' + b"[" * 100_000,
        (400, "BadRequest"),
        "invalid JSON patch",
    ),
    "another name": (
        MERGE,
        {"metadata": {"name": "y"}},
        (400, "BadRequest"),
        "the name of the object (y) does not match the name on the URL (x)",
    ),
    "another namespace": (
        MERGE,
        {"metadata": {"namespace": "other"}},
        (400, "BadRequest"),
        "the namespace of the provided object does not match the namespace sent on the request",
    ),
    "another kind": (
        MERGE,
        {"kind": "Odd"},
        (422, "Invalid"),
        'no kind "Odd" is registered for version "v1" in scheme',
    ),
    "null": (MERGE, b"null", (400, "BadRequest"), "Invalid JSON Patch"),
    "another uid": (
        MERGE,
        {"metadata": {"uid": "u"}},
        (422, "Invalid"),
        'metadata.uid: Invalid value: "u": field is immutable',
    ),
    "a wrong type": (
        MERGE,
        {"data": {"a": 1}},
        (422, "Invalid"),
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
    ),
    "an invalid result": (
        MERGE,
        {"metadata": {"labels": {"a": "b c"}}},
        (422, "Invalid"),
        "metadata.labels: Invalid value",
    ),
}


@pytest.mark.parametrize(("media", "patch", "expected", "said"), NO_FIT.values(), ids=NO_FIT)
async def test_a_patch_that_does_not_fit_is_refused(
    api: ApiUnderTest, media: str, patch: Any, expected: tuple[int, str], said: str
) -> None:
    before = await a_stored(api, a="1")
    answer = await api.patch(X, patch, media)
    assert refusal(answer) == expected
    assert said in message(answer)
    assert (await api.get(X)).doc == before


async def test_a_failed_test_tells_nothing_of_the_object(api: ApiUnderTest) -> None:
    await a_stored(api, a="secret")
    answer = await api.patch(X, [{"op": "test", "path": "/data/a", "value": "?"}], JSON_PATCH)
    assert answer.doc["details"] == {}


@pytest.mark.parametrize("media", [JSON_PATCH, MERGE, STRATEGIC])
async def test_what_is_absent_cannot_be_patched(api: ApiUnderTest, media: str) -> None:
    body: Any = [] if media == JSON_PATCH else {}
    assert refusal(await api.patch(X, body, media)) == (404, "NotFound")


@pytest.mark.parametrize(
    ("url", "media"),
    [(X, "json"), (X, "yaml"), (X, "vnd.kubernetes.protobuf"), (f"{SNAPSHOTS}/snap", STRATEGIC)],
    ids=["JSON", "YAML", "protobuf", "a strategic patch of a custom kind"],
)
async def test_other_media_types_are_no_patches(api: ApiUnderTest, url: str, media: str) -> None:
    await a_stored(api)
    await api.post(SNAPSHOTS, a_snapshot())
    answer = await api.patch(url, {}, media)
    assert refusal(answer) == (415, "UnsupportedMediaType")
    if url == X:  # refused before the kind is asked
        assert (message(answer), answer.doc["details"]) == ("415: Unsupported Media Type", {})
    else:
        assert "application/merge-patch+json" in message(answer)
        assert "strategic" not in message(answer)


async def test_a_strict_patch_is_blamed_in_its_own_words(api: ApiUnderTest) -> None:
    """Not the object: neither its kind nor its name is in the refusal."""
    await a_stored(api, a="1")
    url = f"{X}?fieldValidation=Strict"
    answer = await api.patch(url, {"odd": {"a": 1}}, STRATEGIC)
    assert message(answer) == (
        ' "" is invalid: patch: Invalid value: "map[odd:map[a:1]]": '
        'strict decoding error: unknown field "odd"'
    )
    assert answer.doc["details"].keys() == {"causes"}
    merged = await api.patch(url, {"odd": 1})
    assert '\\"odd\\":1' in message(merged)


async def test_a_custom_kind_takes_the_other_patches(api: ApiUnderTest) -> None:
    await api.post(SNAPSHOTS, a_snapshot())
    merged = await api.patch(f"{SNAPSHOTS}/snap", {"spec": {"volumeSnapshotClassName": "b"}})
    assert merged.doc["spec"]["volumeSnapshotClassName"] == "b"
    operations = [{"op": "remove", "path": "/spec/volumeSnapshotClassName"}]
    patched = await api.patch(f"{SNAPSHOTS}/snap", operations, JSON_PATCH)
    assert "volumeSnapshotClassName" not in patched.doc["spec"]


async def test_a_wrong_type_patched_into_a_custom_kind_is_a_complaint_about_its_field(
    api: ApiUnderTest,
) -> None:
    await api.post(SNAPSHOTS, a_snapshot())
    answer = await api.patch(f"{SNAPSHOTS}/snap", {"spec": {"volumeSnapshotClassName": 7}})
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer)[0] == ("FieldValueTypeInvalid", "spec.volumeSnapshotClassName")


def a_driver_entry(name: str) -> Doc:
    return {"name": name, "nodeID": f"id-of-{name}"}


DRIVERS: dict[str, tuple[list[str], Doc, list[str]]] = {
    "new entries come first": (["x"], {"drivers": [a_driver_entry("y")]}, ["y", "x"]),
    "an entry is deleted by name": (
        ["x", "y"],
        {"drivers": [{"$patch": "delete", "name": "x"}]},
        ["y"],
    ),
    "the order is set": (
        ["x", "y"],
        {
            "$setElementOrder/drivers": [{"name": "x"}, {"name": "z"}, {"name": "y"}],
            "drivers": [a_driver_entry("z")],
        },
        ["x", "z", "y"],
    ),
    "the list is replaced": (
        ["x", "y"],
        {"drivers": [{"$patch": "replace"}, a_driver_entry("z")]},
        ["z"],
    ),
}


@pytest.mark.parametrize(("before", "spec", "after"), DRIVERS.values(), ids=DRIVERS)
async def test_strategic_patches_merge_lists_by_key(
    api: ApiUnderTest, before: list[str], spec: Doc, after: list[str]
) -> None:
    await api.post(CSI_NODES, a_csi_node("n1", *before))
    answer = await api.patch(f"{CSI_NODES}/n1", {"spec": spec}, STRATEGIC)
    assert answer.code == 200, answer.text
    assert [driver["name"] for driver in answer.doc["spec"]["drivers"]] == after


async def test_an_entry_without_its_key_is_refused(api: ApiUnderTest) -> None:
    await api.post(CSI_NODES, a_csi_node("n1", "x"))
    patch = {"spec": {"drivers": [{"nodeID": "y"}]}}
    answer = await api.patch(f"{CSI_NODES}/n1", patch, STRATEGIC)
    assert answer.code == 500
    assert "does not contain declared merge key: name" in message(answer)


FINALIZERS: dict[str, tuple[Doc, list[str]]] = {
    "adding removes none": ({"finalizers": ["c.d/e"]}, ["a.b/c", "b.c/d", "c.d/e"]),
    "one is removed": ({"$deleteFromPrimitiveList/finalizers": ["a.b/c"]}, ["b.c/d"]),
    "one comes, one goes": (
        {"$deleteFromPrimitiveList/finalizers": ["a.b/c"], "finalizers": ["c.d/e"]},
        ["b.c/d", "c.d/e"],
    ),
}


@pytest.mark.parametrize(("metadata", "after"), FINALIZERS.values(), ids=FINALIZERS)
async def test_strategic_patches_merge_finalizers(
    api: ApiUnderTest, metadata: Doc, after: list[str]
) -> None:
    doc = a_config_map("x")
    doc["metadata"]["finalizers"] = ["a.b/c", "b.c/d"]
    await api.post(CONFIG_MAPS, doc)
    answer = await api.patch(X, {"metadata": metadata}, STRATEGIC)
    assert sorted(answer.doc["metadata"]["finalizers"]) == after


async def test_merge_patches_replace_lists(api: ApiUnderTest) -> None:
    doc = a_config_map("x")
    doc["metadata"]["finalizers"] = ["a.b/c", "b.c/d"]
    await api.post(CONFIG_MAPS, doc)
    answer = await api.patch(X, {"metadata": {"finalizers": ["c.d/e"]}})
    assert answer.doc["metadata"]["finalizers"] == ["c.d/e"]


async def test_strategic_patches_replace_lists_without_keys(api: ApiUnderTest) -> None:
    await api.post(VOLUMES, a_volume("v", accessModes=["ReadWriteOnce", "ReadOnlyMany"]))
    patch = {"spec": {"accessModes": ["ReadWriteMany"]}}
    answer = await api.patch(f"{VOLUMES}/v", patch, STRATEGIC)
    assert answer.doc["spec"]["accessModes"] == ["ReadWriteMany"]


async def test_conditions_are_merged_by_type(api: ApiUnderTest) -> None:
    await api.post(NODES, a_node("n1"))
    for status in ("False", "True"):
        condition = {"type": "Ready", "status": status}
        other = {"type": f"Was{status}", "status": "True"}
        patch = {"status": {"conditions": [condition, other]}}
        answer = await api.patch(f"{NODES}/n1/status", patch, STRATEGIC)
        assert answer.code == 200, answer.text
    stored = (await api.get(f"{NODES}/n1")).doc
    found = {c["type"]: c["status"] for c in stored["status"]["conditions"]}
    assert found == {"Ready": "True", "WasFalse": "True", "WasTrue": "True"}


async def test_a_container_is_patched_by_its_name(api: ApiUnderTest) -> None:
    pod = a_pod("p")
    pod["spec"]["containers"].append({"name": "side", "image": "busybox:1"})
    await api.post(PODS, pod)
    patch = {"spec": {"containers": [{"name": "side", "image": "busybox:2"}]}}
    spec = (await api.patch(f"{PODS}/p", patch, STRATEGIC)).doc["spec"]
    assert {c["name"]: c["image"] for c in spec["containers"]} == {
        "main": "busybox:1",
        "side": "busybox:2",
    }


UNKNOWN: dict[str, tuple[str, Any]] = {
    "merge": (MERGE, {"foo": 1, "metadata": {"colour": "red"}}),
    "strategic": (STRATEGIC, {"foo": 1, "metadata": {"colour": "red"}}),
    "JSON": (
        JSON_PATCH,
        [
            {"op": "add", "path": "/foo", "value": 1},
            {"op": "add", "path": "/metadata/colour", "value": "red"},
        ],
    ),
}
FINDINGS = ['unknown field "foo"', 'unknown field "metadata.colour"']


@pytest.mark.parametrize(("media", "patch"), UNKNOWN.values(), ids=UNKNOWN)
async def test_unknown_fields_in_a_patch_are_dropped_with_a_warning(
    api: ApiUnderTest, media: str, patch: Any
) -> None:
    before = await a_stored(api)
    answer = await api.patch(X, patch, media)
    assert sorted(answer.warnings) == FINDINGS
    assert answer.doc == before


@pytest.mark.parametrize(("media", "patch"), UNKNOWN.values(), ids=UNKNOWN)
async def test_unknown_fields_in_a_patch_may_be_ignored(
    api: ApiUnderTest, media: str, patch: Any
) -> None:
    before = await a_stored(api)
    answer = await api.patch(f"{X}?fieldValidation=Ignore", patch, media)
    assert (answer.doc, answer.warnings) == (before, [])


@pytest.mark.parametrize(("media", "patch"), UNKNOWN.values(), ids=UNKNOWN)
async def test_strictly_unknown_fields_are_wrong_with_the_patch(
    api: ApiUnderTest, media: str, patch: Any
) -> None:
    await a_stored(api)
    answer = await api.patch(f"{X}?fieldValidation=Strict", patch, media)
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer) == [("FieldValueInvalid", "patch")]
    assert "strict decoding error: " in message(answer)
    assert all(finding in message(answer) for finding in FINDINGS)


@pytest.mark.parametrize("media", [MERGE, STRATEGIC])
async def test_a_key_that_comes_twice_in_a_patch_is_remarked_on(
    api: ApiUnderTest, media: str
) -> None:
    await a_stored(api, a="1")
    patch = b'{"data":{"a":"2","a":"3"}}'
    answer = await api.patch(X, patch, media)
    assert answer.doc["data"] == {"a": "3"}
    assert answer.warnings == ['duplicate field "data.a"']
    strictly = await api.patch(f"{X}?fieldValidation=Strict", patch, media)
    assert refusal(strictly) == (422, "Invalid")
    assert 'strict decoding error: duplicate field "data.a"' in message(strictly)


async def test_a_dry_patch_shows_the_change_and_makes_none(api: ApiUnderTest) -> None:
    before = await a_stored(api, a="1")
    answer = await api.patch(f"{X}?dryRun=All", {"data": {"a": "2"}})
    assert answer.doc["data"] == {"a": "2"}
    assert answer.doc["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert (await api.get(X)).doc == before


async def test_a_dry_patch_of_the_last_finalizer_removes_nothing(api: ApiUnderTest) -> None:
    await api.post(CLAIMS, a_claim())
    await api.delete(f"{CLAIMS}/data")
    answer = await api.patch(f"{CLAIMS}/data?dryRun=All", {"metadata": {"finalizers": None}})
    assert answer.code == 200
    assert (await api.get(f"{CLAIMS}/data")).code == 200


@pytest.mark.parametrize("media", [JSON_PATCH, MERGE, STRATEGIC])
async def test_a_patch_of_the_main_path_does_not_touch_the_status(
    api: ApiUnderTest, media: str
) -> None:
    before = (await api.post(CLAIMS, a_claim())).doc
    change: Doc = {"status": {"phase": "Bound"}}
    body: Any = to_json_patch(change) if media == JSON_PATCH else change
    assert (await api.patch(f"{CLAIMS}/data", body, media)).doc == before


@pytest.mark.parametrize("media", [JSON_PATCH, MERGE, STRATEGIC])
async def test_a_patch_of_the_status_touches_nothing_else(api: ApiUnderTest, media: str) -> None:
    before = (await api.post(CLAIMS, a_claim())).doc
    change: Doc = {"status": {"phase": "Bound"}, "spec": before["spec"] | {"volumeName": "v"}}
    body: Any = to_json_patch(change) if media == JSON_PATCH else change
    after = (await api.patch(f"{CLAIMS}/data/status", body, media)).doc
    assert after["status"] == {"phase": "Bound"}
    assert after["spec"] == before["spec"]


async def test_what_the_patch_leads_to_is_validated_and_defaulted(api: ApiUnderTest) -> None:
    await api.post(CLASSES, a_class("fast"))
    answer = await api.patch(f"{CLASSES}/fast", {"reclaimPolicy": "Retain"})
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer) == [("FieldValueInvalid", "reclaimPolicy")]
    answer = await api.patch(f"{CLASSES}/fast", {"reclaimPolicy": None})
    assert answer.doc["reclaimPolicy"] == "Delete"


@pytest.mark.parametrize("media", [JSON_PATCH, MERGE])
async def test_taking_the_last_entry_away_leaves_no_empty_map(
    api: ApiUnderTest, media: str
) -> None:
    """`kubectl label x a-`"""
    doc = a_config_map("x")
    doc["metadata"]["labels"] = {"a": "b"}
    await api.post(CONFIG_MAPS, doc)
    body: Any = {"metadata": {"labels": {"a": None}}, "data": {"colour": None}}
    if media == JSON_PATCH:
        body = [
            {"op": "remove", "path": "/metadata/labels/a"},
            {"op": "remove", "path": "/data/colour"},
        ]
    after = (await api.patch(X, body, media)).doc
    assert "labels" not in after["metadata"]
    assert "data" not in after
