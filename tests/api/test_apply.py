"""Server-side apply: who asks for what owns it, and kubectl's way there from before."""

import json
from typing import Any

import pytest

from tests.api.answers import causes, message, refusal
from tests.fakes.api import Answered, ApiUnderTest
from tests.fakes.objects import (
    CLAIMS,
    CLASSES,
    CONFIG_MAPS,
    CSI_NODES,
    PODS,
    SNAPSHOTS,
    VOLUMES,
    a_claim,
    a_class,
    a_config_map,
    a_csi_node,
    a_pod,
    a_snapshot,
    a_volume,
)

Doc = dict[str, Any]

X = f"{CONFIG_MAPS}/x"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def a_configuration(**data: str) -> Doc:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}


async def applied(
    api: ApiUnderTest, manager: str, doc: Doc, url: str = X, query: str = ""
) -> Answered:
    return await api.apply(f"{url}?fieldManager={manager}{query}", doc)


def owners(doc: Doc) -> dict[tuple[str, str], Doc]:
    """(manager, operation) -> what it owns, outside metadata."""
    return {
        (entry["manager"], entry["operation"]): entry["fieldsV1"]
        for entry in doc["metadata"].get("managedFields", [])
    }


async def test_who_applies_must_say_who_it_is(api: ApiUnderTest) -> None:
    answer = await api.apply(X, a_configuration(a="1"))
    assert refusal(answer) == (422, "Invalid")
    assert message(answer) == (
        'PatchOptions.meta.k8s.io "" is invalid: '
        "fieldManager: Required value: is required for apply patch"
    )
    assert causes(answer) == [("FieldValueRequired", "fieldManager")]


async def test_an_apply_creates_what_is_absent(api: ApiUnderTest) -> None:
    answer = await applied(api, "m1", a_configuration(a="1"))
    assert answer.code == 201
    assert answer.doc["metadata"]["namespace"] == "default"
    assert owners(answer.doc) == {("m1", "Apply"): {"f:data": {"f:a": {}}}}
    again = await applied(api, "m1", a_configuration(a="1"))
    assert (again.code, again.doc) == (200, answer.doc)


APPLIED: dict[str, tuple[str, Doc]] = {
    "StorageClass": (f"{CLASSES}/fast", a_class("fast")),
    "PersistentVolume": (f"{VOLUMES}/disk", a_volume("disk")),
    "PersistentVolumeClaim": (f"{CLAIMS}/data", a_claim("data")),
    "Pod": (f"{PODS}/web", a_pod("web")),
    "CSINode": (f"{CSI_NODES}/n1", a_csi_node("n1", "x", "y")),
    "VolumeSnapshot": (f"{SNAPSHOTS}/snap", a_snapshot("snap")),
}


@pytest.mark.parametrize(("url", "doc"), APPLIED.values(), ids=APPLIED)
async def test_applying_again_changes_nothing(api: ApiUnderTest, url: str, doc: Doc) -> None:
    first = await applied(api, "m1", doc, url)
    assert first.code == 201, first.text
    await api.clock.advance(60)
    second = await applied(api, "m1", doc, url)
    assert (second.code, second.doc) == (200, first.doc)


async def test_empty_lists_and_maps_do_not_make_every_apply_a_change(api: ApiUnderTest) -> None:
    doc = a_configuration()
    doc["metadata"] |= {"labels": {}, "annotations": {}}
    first = await applied(api, "m1", doc)
    await api.clock.advance(60)
    assert (await applied(api, "m1", doc)).doc == first.doc


async def test_two_who_apply_an_empty_map_do_not_conflict(api: ApiUnderTest) -> None:
    await applied(api, "m1", a_configuration())
    assert (await applied(api, "m2", a_configuration())).code == 200


async def test_an_apply_may_be_yaml(api: ApiUnderTest) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: '1'\n"
    answer = await api.apply(f"{X}?fieldManager=m1", body)
    assert (answer.code, answer.doc["data"]) == (201, {"a": "1"})


async def test_another_value_of_what_another_applied_is_a_conflict(api: ApiUnderTest) -> None:
    await applied(api, "m1", a_configuration(k="1"))
    answer = await applied(api, "m2", a_configuration(k="2"))
    assert refusal(answer) == (409, "Conflict")
    assert message(answer) == 'Apply failed with 1 conflict: conflict with "m1": .data.k'
    assert causes(answer) == [("FieldManagerConflict", ".data.k")]
    assert answer.doc["details"]["causes"][0]["message"] == 'conflict with "m1"'
    assert (await api.get(X)).doc["data"] == {"k": "1"}


async def test_conflicts_with_updates_name_the_version(api: ApiUnderTest) -> None:
    await api.post(f"{CONFIG_MAPS}?fieldManager=upd", a_config_map("x", b="1", z="1"))
    answer = await applied(api, "m1", a_configuration(b="2", z="2"))
    assert message(answer) == (
        'Apply failed with 2 conflicts: conflicts with "upd" using v1:\n- .data.b\n- .data.z'
    )


async def test_force_moves_the_ownership(api: ApiUnderTest) -> None:
    await applied(api, "m1", a_configuration(k="1", l="1"))
    answer = await applied(api, "m2", a_configuration(k="2"), query="&force=true")
    assert (answer.code, answer.doc["data"]) == (200, {"k": "2", "l": "1"})
    assert owners(answer.doc) == {
        ("m1", "Apply"): {"f:data": {"f:l": {}}},
        ("m2", "Apply"): {"f:data": {"f:k": {}}},
    }
    again = await applied(api, "m1", a_configuration(k="1", l="1"))
    assert message(again) == 'Apply failed with 1 conflict: conflict with "m2": .data.k'


async def test_force_that_is_false_is_no_force(api: ApiUnderTest) -> None:
    await applied(api, "m1", a_configuration(k="1"))
    answer = await applied(api, "m2", a_configuration(k="2"), query="&force=false")
    assert refusal(answer) == (409, "Conflict")


async def test_equal_values_are_shared(api: ApiUnderTest) -> None:
    await applied(api, "m1", a_configuration(k="1"))
    answer = await applied(api, "m2", a_configuration(k="1"))
    assert answer.code == 200
    assert owners(answer.doc).keys() == {("m1", "Apply"), ("m2", "Apply")}


async def test_what_its_only_owner_drops_is_removed(api: ApiUnderTest) -> None:
    await applied(api, "m1", a_configuration(k="1", l="1"))
    answer = await applied(api, "m1", a_configuration(k="1"))
    assert answer.doc["data"] == {"k": "1"}
    assert owners(answer.doc) == {("m1", "Apply"): {"f:data": {"f:k": {}}}}


async def test_what_another_owns_too_is_kept(api: ApiUnderTest) -> None:
    await applied(api, "m1", a_configuration(k="1", l="1"))
    await applied(api, "m2", a_configuration(l="1"))
    answer = await applied(api, "m1", a_configuration(k="1"))
    assert answer.doc["data"] == {"k": "1", "l": "1"}
    assert owners(answer.doc)["m2", "Apply"] == {"f:data": {"f:l": {}}}


async def test_an_update_takes_the_ownership_of_what_it_changes(api: ApiUnderTest) -> None:
    await applied(api, "m1", a_configuration(k="1", l="1"))
    await api.patch(f"{X}?fieldManager=upd", {"data": {"k": "2"}})
    dropped = await applied(api, "m1", a_configuration(l="1"))
    assert dropped.doc["data"] == {"k": "2", "l": "1"}
    answer = await applied(api, "m1", a_configuration(k="1", l="1"))
    assert message(answer) == 'Apply failed with 1 conflict: conflict with "upd" using v1: .data.k'


async def test_entries_of_keyed_lists_are_owned_one_by_one(api: ApiUnderTest) -> None:
    url = f"{CSI_NODES}/n1"
    await applied(api, "m1", a_csi_node("n1", "x"), url)
    await applied(api, "m2", a_csi_node("n1", "y"), url)
    both = (await api.get(url)).doc["spec"]["drivers"]
    assert {driver["name"] for driver in both} == {"x", "y"}
    after = (await applied(api, "m1", a_csi_node("n1"), url)).doc
    assert [driver["name"] for driver in after["spec"]["drivers"]] == ["y"]


async def test_finalizers_are_owned_one_by_one(api: ApiUnderTest) -> None:
    def holding(*names: str) -> Doc:
        doc = a_configuration()
        doc["metadata"]["finalizers"] = list(names)
        return doc

    await applied(api, "m1", holding("a.b/c"))
    both = await applied(api, "m2", holding("b.c/d"))
    assert sorted(both.doc["metadata"]["finalizers"]) == ["a.b/c", "b.c/d"]
    after = await applied(api, "m1", holding())
    assert after.doc["metadata"]["finalizers"] == ["b.c/d"]


REFUSED: dict[str, tuple[Doc | bytes, tuple[int, str], str]] = {
    "managedFields": (
        a_configuration() | {"metadata": {"name": "x", "managedFields": [{}]}},
        (400, "BadRequest"),
        "metadata.managedFields must be nil",
    ),
    "a version that is no text": (
        a_configuration() | {"apiVersion": 1},
        (400, "BadRequest"),
        "invalid object type: /, Kind=ConfigMap",
    ),
    "no kind": (
        {"apiVersion": "v1", "metadata": {"name": "x"}},
        (400, "BadRequest"),
        "invalid object type: /v1, Kind=",
    ),
    "another kind": (
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}},
        (400, "BadRequest"),
        "invalid object type: /v1, Kind=Secret",
    ),
    "another name": (
        a_configuration() | {"metadata": {"name": "y"}},
        (400, "BadRequest"),
        "the name of the object (y) does not match the name on the URL (x)",
    ),
    "another namespace": (
        a_configuration() | {"metadata": {"name": "x", "namespace": "other"}},
        (400, "BadRequest"),
        "the namespace of the provided object does not match",
    ),
    "another uid": (
        a_configuration() | {"metadata": {"name": "x", "uid": "u"}},
        (409, "Conflict"),
        "uid mismatch: the provided object specified uid u, and no existing object was found",
    ),
    "a list": (b"[]", (400, "BadRequest"), "cannot unmarshal array"),
    "broken YAML": (b"a: [", (400, "BadRequest"), "error decoding YAML: "),
    "a field that is not declared": (
        a_configuration() | {"dat": {}},
        (500, ""),
        ".dat: field not declared in schema",
    ),
    "a wrong type": (
        a_configuration() | {"data": {"a": 1}},
        (500, ""),
        "failed to create typed patch object",
    ),
    "an invalid result": (
        a_configuration() | {"metadata": {"name": "x", "labels": {"a": "b c"}}},
        (422, "Invalid"),
        "metadata.labels: Invalid value",
    ),
}


@pytest.mark.parametrize("mode", ["Ignore", "Warn", "Strict"])
@pytest.mark.parametrize(("doc", "expected", "said"), REFUSED.values(), ids=REFUSED)
async def test_what_cannot_be_applied(
    api: ApiUnderTest, doc: Doc | bytes, expected: tuple[int, str], said: str, mode: str
) -> None:
    answer = await api.apply(f"{X}?fieldManager=m1&fieldValidation={mode}", doc)
    assert refusal(answer) == expected
    assert said in message(answer)
    assert (await api.get(X)).code == 404


async def test_a_key_that_comes_twice_is_remarked_on(api: ApiUnderTest) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: '1', a: '2'}\n"
    answer = await api.apply(f"{X}?fieldManager=m1", body)
    assert (answer.code, answer.doc["data"]) == (201, {"a": "2"})
    assert len(answer.warnings) == 1
    assert answer.warnings[0].endswith('line 4: key "a" already set in map')
    strictly = await api.apply(f"{X}?fieldManager=m1&fieldValidation=Strict", body)
    assert refusal(strictly) == (400, "BadRequest")
    assert message(strictly).startswith("error strict decoding YAML: ")


async def test_a_key_of_two_lines_that_comes_twice_is_told_in_one(api: ApiUnderTest) -> None:
    twice = '{"a\\nb": "1", "a\\nb": "2"}'
    body = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x, annotations: {twice}}}\n"
    answer = await api.apply(f"{X}?fieldManager=m1&fieldValidation=Strict", body.encode())
    assert message(answer).endswith(r'line 3: key "a\nb" already set in map')


async def test_an_apply_may_name_the_version_it_was_made_for(api: ApiUnderTest) -> None:
    first = (await applied(api, "m1", a_configuration(k="1"))).doc
    doc = a_configuration(k="2")
    doc["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"]
    assert (await applied(api, "m1", doc)).code == 200
    assert refusal(await applied(api, "m1", doc)) == (409, "Conflict")


async def test_an_apply_to_another_object_of_the_name_is_refused(api: ApiUnderTest) -> None:
    await applied(api, "m1", a_configuration(k="1"))
    doc = a_configuration(k="2")
    doc["metadata"]["uid"] = "another"
    answer = await applied(api, "m1", doc)
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer) == [("FieldValueInvalid", "metadata.uid")]


async def test_a_dry_apply_leaves_nothing(api: ApiUnderTest) -> None:
    answer = await applied(api, "m1", a_configuration(k="1"), query="&dryRun=All")
    assert answer.code == 201
    assert "resourceVersion" not in answer.doc["metadata"]
    assert (await api.get(X)).code == 404
    before = (await applied(api, "m1", a_configuration(k="1"))).doc
    answer = await applied(api, "m1", a_configuration(k="2"), query="&dryRun=All")
    assert (answer.code, answer.doc["data"]) == (200, {"k": "2"})
    assert (await api.get(X)).doc == before


async def test_a_dry_apply_conflicts_as_the_real_one(api: ApiUnderTest) -> None:
    await applied(api, "m1", a_configuration(k="1"))
    answer = await applied(api, "m2", a_configuration(k="2"), query="&dryRun=All")
    assert refusal(answer) == (409, "Conflict")


async def test_the_status_is_applied_on_its_own_path_and_owned_there(api: ApiUnderTest) -> None:
    url = f"{CLAIMS}/data"
    doc = a_claim() | {"status": {"phase": "Bound"}}
    created = (await applied(api, "m1", doc, url)).doc
    assert created["status"] == {"phase": "Pending"}
    assert "f:status" not in owners(created)["m1", "Apply"]
    status: Doc = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    status |= {"metadata": {"name": "data"}, "status": {"phase": "Bound"}}
    answer = await applied(api, "m2", status, f"{url}/status")
    assert answer.doc["status"] == {"phase": "Bound"}
    entry = next(e for e in answer.doc["metadata"]["managedFields"] if e["manager"] == "m2")
    assert (entry["subresource"], entry["fieldsV1"]) == ("status", {"f:status": {"f:phase": {}}})
    assert answer.doc["spec"] == created["spec"]


async def test_the_status_of_what_is_absent_cannot_be_applied(api: ApiUnderTest) -> None:
    doc = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    answer = await applied(api, "m1", doc, f"{CLAIMS}/data/status")
    assert refusal(answer) == (404, "NotFound")


async def test_what_was_there_before_the_first_apply_is_owned_by_nobody_in_particular(
    api: ApiUnderTest,
) -> None:
    await api.post(CONFIG_MAPS, a_config_map("x", k="1", l="1"))
    await api.patch(X, {"metadata": {"managedFields": [{}]}})
    answer = await applied(api, "m1", a_configuration(k="1", n="1"))
    assert owners(answer.doc) == {
        ("before-first-apply", "Update"): {"f:data": {".": {}, "f:k": {}, "f:l": {}}},
        ("m1", "Apply"): {"f:data": {"f:k": {}, "f:n": {}}},
    }


async def test_an_apply_to_what_goes_may_not_add_finalizers(api: ApiUnderTest) -> None:
    await api.post(CLAIMS, a_claim())
    await api.delete(f"{CLAIMS}/data")
    doc = a_claim()
    doc["metadata"]["finalizers"] = ["a.b/c"]
    answer = await applied(api, "m1", doc, f"{CLAIMS}/data", "&force=true")
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer) == [("FieldValueForbidden", "metadata.finalizers")]


# kubectl apply --server-side on what kubectl apply has made


def by_client(**data: str) -> Doc:
    """What `kubectl apply` sends when it creates."""
    doc = a_configuration(**data)
    text = json.dumps(doc, separators=(",", ":")) + "\n"
    doc["metadata"] = {"name": "x", "annotations": {LAST_APPLIED: text}}
    return doc


async def test_kubectl_goes_over_from_client_side_apply(api: ApiUnderTest) -> None:
    """The requests of kubectl 1.26 and later, in their order."""
    client_side = "kubectl-client-side-apply"
    await api.post(f"{CONFIG_MAPS}?fieldManager={client_side}", by_client(k="1", l="1"))
    first = await applied(api, "kubectl", a_configuration(k="1"), query="&force=false")
    assert first.doc["data"] == {"k": "1", "l": "1"}  # `l` is still the old manager's
    assert owners(first.doc).keys() == {(client_side, "Update"), ("kubectl", "Apply")}

    note = first.doc["metadata"]["annotations"][LAST_APPLIED]
    annotated: Doc = {"apiVersion": "v1", "kind": "ConfigMap"}
    annotated |= {"metadata": {"name": "x", "annotations": {LAST_APPLIED: note}}}
    last = await applied(api, "kubectl-last-applied", annotated)
    assert last.code == 200, last.text

    moved = [
        entry | {"fieldsV1": {"f:data": {"f:k": {}, "f:l": {}}}}
        if entry["manager"] == "kubectl"
        else entry
        for entry in last.doc["metadata"]["managedFields"]
        if entry["manager"] != client_side
    ]
    version = last.doc["metadata"]["resourceVersion"]
    migration = [
        {"op": "replace", "path": "/metadata/managedFields", "value": moved},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]
    migrated = await api.patch(X, migration, "json-patch+json")
    assert migrated.code == 200, migrated.text
    assert owners(migrated.doc).keys() == {("kubectl", "Apply"), ("kubectl-last-applied", "Apply")}
    again = await api.patch(X, migration, "json-patch+json")
    assert refusal(again) == (409, "Conflict")  # made for an older version

    second = await applied(api, "kubectl", a_configuration(k="1"), query="&force=false")
    assert second.code == 200, second.text
    assert second.doc["data"] == {"k": "1"}
    assert LAST_APPLIED in second.doc["metadata"]["annotations"]


async def test_what_kubectl_applied_before_is_no_conflict(api: ApiUnderTest) -> None:
    url = f"{CONFIG_MAPS}?fieldManager=kubectl-client-side-apply"
    await api.post(url, by_client(k="1"))
    answer = await applied(api, "kubectl", a_configuration(k="2"), query="&force=false")
    assert (answer.code, answer.doc["data"]) == (200, {"k": "2"})
    note = json.loads(answer.doc["metadata"]["annotations"][LAST_APPLIED])
    assert note["data"] == {"k": "2"}  # for a kubectl that does not apply on the server


async def test_what_somebody_changed_since_is_a_conflict_for_kubectl_too(
    api: ApiUnderTest,
) -> None:
    await api.post(f"{CONFIG_MAPS}?fieldManager=kubectl-client-side-apply", by_client(k="1"))
    await api.patch(f"{X}?fieldManager=other", {"data": {"k": "3"}})
    answer = await applied(api, "kubectl", a_configuration(k="2"), query="&force=false")
    assert refusal(answer) == (409, "Conflict")
    assert (
        message(answer) == 'Apply failed with 1 conflict: conflict with "other" using v1: .data.k'
    )
