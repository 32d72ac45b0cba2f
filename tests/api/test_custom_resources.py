"""CustomResourceDefinitions over the API: from a definition to objects, and back."""

from typing import Any

from mooring.apiserver.codec.protobuf_encode import encode as to_protobuf
from tests.api.definitions import conditions, created, define, put_definition
from tests.fakes.api import Answered, ApiUnderTest, Doc
from tests.fakes.clock import settle
from tests.fakes.definitions import (
    COLUMNS,
    DEFINITIONS,
    SCHEMA,
    WIDGETS,
    a_definition,
    a_version,
    a_widget,
)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


async def test_a_minimal_definition_is_established_and_served(api: ApiUnderTest) -> None:
    made = await api.post(DEFINITIONS, a_definition())
    assert made.doc["status"]["conditions"] is None, made.text
    assert made.doc["status"]["storedVersions"] == ["v1"]
    assert made.doc["spec"]["names"]["listKind"] == "WidgetList"
    await settle()
    established = (await api.get(f"{DEFINITIONS}/widgets.example.com")).doc
    assert conditions(established) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    listed = (await api.get("/apis/example.com/v1")).doc
    assert [each["name"] for each in listed["resources"]] == ["widgets", "widgets/status"]
    groups = (await api.get("/apis")).doc["groups"]
    assert "example.com" in [group["name"] for group in groups]
    assert (await api.get(WIDGETS)).doc["kind"] == "WidgetList"


async def test_a_definition_in_protobuf_is_the_same_definition(api: ApiUnderTest) -> None:
    body = to_protobuf(a_definition(), "apiextensions.v1.CustomResourceDefinition")
    media = "application/vnd.kubernetes.protobuf"
    made = await api.post(DEFINITIONS, body, content_type=media)
    assert made.code == 201, made.text
    assert made.doc["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == SCHEMA


async def test_generated_manifests_with_an_empty_status_are_taken(api: ApiUnderTest) -> None:
    generated = a_definition()
    generated["metadata"]["creationTimestamp"] = None
    generated["status"] = {
        "acceptedNames": {"kind": "", "plural": ""},
        "conditions": [],
        "storedVersions": [],
    }
    assert conditions(await define(api, generated))["Established"][0] == "True"


async def test_every_mistake_of_a_definition_is_told(api: ApiUnderTest) -> None:
    wrong = a_definition(versions=[a_version("V1", storage=False)])
    wrong["metadata"]["name"] = "other.example.com"
    wrong["spec"]["scope"] = "Everywhere"
    answer = await api.post(DEFINITIONS, wrong)
    assert answer.code == 422, answer.text
    fields = {cause["field"] for cause in answer.doc["details"]["causes"]}
    assert fields >= {"metadata.name", "spec.scope", "spec.versions", "spec.versions[0].name"}


async def test_unknown_fields_are_dropped_with_a_warning(api: ApiUnderTest) -> None:
    await define(api)
    made = await api.post(WIDGETS, a_widget(unknown=1))
    assert made.code == 201, made.text
    assert made.warnings == ['unknown field "spec.unknown"']
    assert "unknown" not in made.doc["spec"]
    strict = await api.post(f"{WIDGETS}?fieldValidation=Strict", a_widget("s", unknown=1))
    assert strict.code == 400, strict.text
    assert 'strict decoding error: unknown field "spec.unknown"' in strict.doc["message"]


async def test_nulls_and_defaults(api: ApiUnderTest) -> None:
    await define(api)
    spec = (await created(api, WIDGETS, a_widget(note=None, word=None, color=None)))["spec"]
    assert spec == {"size": 3, "note": None, "color": "red"}


async def test_a_new_default_shows_on_old_objects_without_a_write(api: ApiUnderTest) -> None:
    definition = await define(api)
    before = await created(api, WIDGETS, a_widget())
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["word"]["default"] = "hello"
    assert (await put_definition(api, definition)).code == 200
    after = (await api.get(f"{WIDGETS}/w")).doc
    assert after["spec"]["word"] == "hello"
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert (await api.get(WIDGETS)).doc["items"][0]["spec"]["word"] == "hello"


async def test_an_invalid_object_is_refused_in_the_words_of_its_schema(api: ApiUnderTest) -> None:
    await define(api)
    answer = await api.post(WIDGETS, a_widget(size=0, color="green"))
    assert answer.code == 422, answer.text
    causes = {cause["field"]: cause["message"] for cause in answer.doc["details"]["causes"]}
    assert causes == {
        "spec.size": "Invalid value: 0: spec.size in body should be greater than or equal to 1",
        "spec.color": 'Unsupported value: "green": supported values: "red", "blue"',
    }


async def test_a_rule_is_checked_on_create_and_update(api: ApiUnderTest) -> None:
    definition = a_definition()
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": with_rule()}
    await define(api, definition)
    refused = await api.post(WIDGETS, a_widget(size=1, word="long"))
    assert refused.code == 422, refused.text
    assert "spec: Invalid value: word is too long" in refused.doc["message"]
    await created(api, WIDGETS, a_widget(size=9, word="long"))
    refused = await api.patch(f"{WIDGETS}/w", {"spec": {"size": 1}})
    assert refused.code == 422, refused.text


def with_rule() -> Doc:
    spec = SCHEMA["properties"]["spec"]
    rule = {
        "rule": "!has(self.word) || size(self.word) < self.size",
        "message": "word is too long",
    }
    word = {"type": "string", "maxLength": 20}
    properties = {**spec["properties"], "word": word}
    limited = {**spec, "properties": properties, "x-kubernetes-validations": [rule]}
    return {**SCHEMA, "properties": {**SCHEMA["properties"], "spec": limited}}


async def test_a_rule_that_does_not_compile_refuses_the_definition(api: ApiUnderTest) -> None:
    definition = a_definition()
    schema = with_rule()
    schema["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "self.nothing > 1"}]
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    answer = await api.post(DEFINITIONS, definition)
    assert answer.code == 422, answer.text
    path = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule"
    assert path in answer.doc["message"]
    assert "compilation failed" in answer.doc["message"]


async def test_status_has_its_own_path(api: ApiUnderTest) -> None:
    await define(api)
    made = await created(api, WIDGETS, {**a_widget(), "status": {"ready": True}})
    assert "status" not in made
    status = {**made, "status": {"ready": True}, "spec": {"size": 7}}
    status["metadata"] = {**made["metadata"], "labels": {"a": "b"}}
    written = (await api.put(f"{WIDGETS}/w/status", status)).doc
    assert written["status"] == {"ready": True}
    assert written["spec"]["size"] == 3
    assert "labels" not in written["metadata"]
    assert written["metadata"]["generation"] == 1
    written["spec"]["size"] = 8
    assert (await api.put(f"{WIDGETS}/w", written)).doc["metadata"]["generation"] == 2


async def test_without_a_status_subresource_status_is_a_field(api: ApiUnderTest) -> None:
    await define(api, a_definition(versions=[a_version()]))
    made = await created(api, WIDGETS, {**a_widget(), "status": {"ready": True}})
    assert made["status"] == {"ready": True}
    assert (await api.get(f"{WIDGETS}/w/status")).code == 404
    made["status"] = {"ready": False}
    assert (await api.put(f"{WIDGETS}/w", made)).doc["metadata"]["generation"] == 2


async def test_columns_are_those_of_the_definition(api: ApiUnderTest) -> None:
    await define(api, a_definition(versions=[a_version(additionalPrinterColumns=COLUMNS)]))
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    await created(api, WIDGETS, {**a_widget(tags=["a", "b"]), "status": ready})
    table = (await api.get(WIDGETS, accept=TABLE)).doc
    heads = [(each["name"], each["priority"]) for each in table["columnDefinitions"]]
    assert heads == [("Name", 0), ("Size", 0), ("Ready", 0), ("Tags", 1), ("Since", 0)]
    assert table["rows"][0]["cells"] == ["w", 3, "True", '["a","b"]', "0s"]


SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


async def test_scale_shows_no_status_of_a_wrong_type(api: ApiUnderTest) -> None:
    scale = {**SCALE, "labelSelectorPath": ".status.selector"}
    await define(api, a_definition(versions=[a_version(subresources={"scale": scale})]))
    wrong = {"replicas": "many", "selector": {"a": "b"}}
    await created(api, WIDGETS, {**a_widget(replicas=1), "status": wrong})
    assert (await api.get(f"{WIDGETS}/w/scale")).doc["status"] == {"replicas": 0}


async def test_scale_reads_and_writes_the_number_of_replicas(api: ApiUnderTest) -> None:
    await define(api, a_definition(versions=[a_version(subresources={"scale": SCALE})]))
    await created(api, WIDGETS, a_widget())
    absent = await api.get(f"{WIDGETS}/w/scale")
    assert absent.code == 500, absent.text
    assert absent.doc["message"] == 'the spec replicas field ".spec.replicas" does not exist'
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "w"},
        "spec": {"replicas": 4},
    }
    assert (await api.put(f"{WIDGETS}/w/scale", scale)).doc["spec"] == {"replicas": 4}
    assert (await api.get(f"{WIDGETS}/w")).doc["spec"]["replicas"] == 4
    patched = await api.patch(f"{WIDGETS}/w/scale", {"spec": {"replicas": 5}})
    assert patched.doc["spec"] == {"replicas": 5}, patched.text
    negative = await api.patch(f"{WIDGETS}/w", {"spec": {"replicas": -1}})
    assert negative.code == 422, negative.text
    assert ".spec.replicas: Invalid value: -1: should be a non-negative" in negative.doc["message"]


async def test_selectable_fields_select(api: ApiUnderTest) -> None:
    fields = [{"jsonPath": ".spec.color"}]
    await define(api, a_definition(versions=[a_version(selectableFields=fields)]))
    await created(api, WIDGETS, a_widget("r"))
    await created(api, WIDGETS, a_widget("b", color="blue"))
    blue = (await api.get(f"{WIDGETS}?fieldSelector=spec.color%3Dblue")).doc
    assert [each["metadata"]["name"] for each in blue["items"]] == ["b"]
    refused = await api.get(f"{WIDGETS}?fieldSelector=spec.size%3D3")
    assert refused.code == 400, refused.text
    assert "field label not supported: spec.size" in refused.doc["message"]


async def test_two_managers_own_what_the_list_types_say(api: ApiUnderTest) -> None:
    await define(api)

    async def apply(manager: str, **spec: Any) -> Answered:
        body = {**a_widget(), "spec": spec}
        return await api.patch(f"{WIDGETS}/w?fieldManager={manager}", body, "apply-patch+yaml")

    first = await apply("one", size=3, tags=["a"], ports=[{"port": 1}], atoms=["x"])
    assert first.code == 201, first.text
    both = await apply("two", tags=["b"], ports=[{"port": 2}])
    assert both.code == 200, both.text
    assert both.doc["spec"]["tags"] == ["a", "b"]
    assert both.doc["spec"]["ports"] == [{"port": 1}, {"port": 2}]
    conflict = await apply("two", atoms=["y"])
    assert conflict.code == 409, conflict.text
    undeclared = await apply("two", nothing=1)
    assert ".spec.nothing: field not declared in schema" in undeclared.text


async def test_strategic_merge_patches_are_refused(api: ApiUnderTest) -> None:
    await define(api)
    await created(api, WIDGETS, a_widget())
    patch = {"spec": {"size": 4}}
    answer = await api.patch(f"{WIDGETS}/w", patch, "strategic-merge-patch+json")
    assert answer.code == 415, answer.text


async def test_a_tightened_schema_forgives_what_an_update_leaves_alone(api: ApiUnderTest) -> None:
    definition = await define(api)
    await created(api, WIDGETS, a_widget(word="much too long"))
    schema = with_rule()
    word = schema["properties"]["spec"]["properties"]["word"]
    word["maxLength"] = 5
    word["x-kubernetes-validations"] = [{"rule": "self != 'much too long'", "message": "no"}]
    schema["properties"]["spec"].pop("x-kubernetes-validations")
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    assert (await put_definition(api, definition)).code == 200
    unrelated = await api.patch(f"{WIDGETS}/w", {"spec": {"size": 4}})
    assert unrelated.code == 200, unrelated.text
    assert any("spec.word" in warning for warning in unrelated.warnings), unrelated.warnings
    touched = await api.patch(f"{WIDGETS}/w", {"spec": {"word": "another long one"}})
    assert touched.code == 422, touched.text


async def test_unknown_fields_are_kept_beside_what_is_declared(api: ApiUnderTest) -> None:
    definition = a_definition()
    keeps = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}},
    }
    properties = {**SCHEMA["properties"], "spec": keeps}
    version = definition["spec"]["versions"][0]
    version["schema"] = {"openAPIV3Schema": {**SCHEMA, "properties": properties}}
    await define(api, definition)
    made = await created(api, WIDGETS, a_widget(free={"x": 1}, known={"a": "b", "gone": 1}))
    assert made["spec"] == {"size": 3, "free": {"x": 1}, "known": {"a": "b"}}


async def test_what_kubectl_reads_allows_the_fields_that_are_kept_at_the_root(
    api: ApiUnderTest,
) -> None:
    definition = a_definition()
    keeps = {**SCHEMA, "x-kubernetes-preserve-unknown-fields": True}
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": keeps}
    await define(api, definition)
    swagger = (await api.get("/openapi/v2", accept="application/json")).doc
    (described,) = (
        found
        for name, found in swagger["definitions"].items()
        if name.endswith(".Widget") and "example" in name
    )
    described.pop("x-kubernetes-group-version-kind")
    assert described == {"type": "object"}
