"""Definitions that compete, change, have several versions, overlap built-in kinds, and go."""

import msgspec

from mooring.apiserver.lifecycle.definitions.run import Definitions
from mooring.apiserver.lifecycle.housekeeper import HOUSEKEEPER
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from tests.api.definitions import conditions, created, define, put_definition
from tests.fakes.api import ApiUnderTest, Doc
from tests.fakes.clock import settle
from tests.fakes.definitions import (
    DEFINITIONS,
    SCHEMA,
    WIDGETS,
    a_definition,
    a_version,
    a_widget,
)

WIDGET_DEFINITION = f"{DEFINITIONS}/widgets.example.com"
BETA_WIDGETS = WIDGETS.replace("/v1/", "/v1beta1/")


async def test_a_taken_short_name_waits_until_it_is_free(api: ApiUnderTest) -> None:
    await define(api, a_definition(shortNames=["w"]))
    second = await define(api, a_definition("wagons", "Wagon", shortNames=["w"]))
    assert conditions(second) == {
        "NamesAccepted": ("False", "ShortNamesConflict"),
        "Established": ("False", "NotAccepted"),
    }
    text = second["status"]["conditions"][0]["message"]
    assert text == '"w" is already in use'
    wagons = "/apis/example.com/v1/namespaces/default/wagons"
    assert (await api.get(wagons)).code == 404
    await api.delete(WIDGET_DEFINITION)
    await settle()
    assert (await api.get(wagons)).code == 200


async def test_the_same_names_in_another_group_are_free(api: ApiUnderTest) -> None:
    await define(api, a_definition(shortNames=["w"]))
    other = await define(api, a_definition(group="example.org", shortNames=["w"]))
    assert conditions(other)["Established"][0] == "True"


async def test_a_protected_group_needs_a_word_about_its_approval(api: ApiUnderTest) -> None:
    definition = a_definition(group="x.k8s.io")
    refused = await api.post(DEFINITIONS, definition)
    assert refused.code == 422, refused.text
    assert "metadata.annotations[api-approved.kubernetes.io]: Required value" in refused.text
    definition["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, test"}
    made = await define(api, definition)
    policy = conditions(made)["KubernetesAPIApprovalPolicyConformant"]
    assert policy == ("False", "UnapprovedAnnotation")


async def test_what_is_established_keeps_scope_and_kind(api: ApiUnderTest) -> None:
    definition = await define(api)
    definition["spec"]["scope"] = "Cluster"
    refused = await put_definition(api, definition)
    assert refused.code == 422, refused.text
    assert 'spec.scope: Invalid value: "Cluster": field is immutable' in refused.doc["message"]


async def test_defaults_that_explode_refuse_the_object_not_the_server(api: ApiUnderTest) -> None:
    schema: Doc = {"type": "object"}
    for _ in range(40):
        items = {"type": "array", "default": [{}, {}], "items": schema}
        schema = {"type": "object", "properties": {"x": items}}
    definition = await define(api)
    await created(api, WIDGETS, a_widget("before"))
    written = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    written["properties"]["spec"]["properties"]["more"] = {**schema, "default": {}}
    assert (await put_definition(api, definition)).code == 200
    refused = await api.post(WIDGETS, a_widget())
    assert refused.code == 413, refused.text
    assert "defaults of its schema" in refused.doc["message"]
    assert (await api.get(f"{WIDGETS}/before")).code == 200


# versions


def two_versions(storage: str = "v1", **beta: object) -> Doc:
    return a_definition(
        versions=[
            a_version("v1", storage=storage == "v1"),
            a_version("v1beta1", storage=storage == "v1beta1", **beta),
        ]
    )


async def test_an_object_is_read_in_every_version(api: ApiUnderTest) -> None:
    small = {**SCHEMA["properties"]["spec"], "properties": {"size": {"type": "integer"}}}
    beta = {**SCHEMA, "properties": {"spec": small}}
    await define(api, two_versions(schema={"openAPIV3Schema": beta}))
    await created(api, WIDGETS, a_widget(word="hello"))
    seen = (await api.get(f"{BETA_WIDGETS}/w")).doc
    assert seen["apiVersion"] == "example.com/v1beta1"
    assert seen["spec"] == {"size": 3}  # the other fields are unknown there
    assert (await api.get(f"{WIDGETS}/w")).doc["spec"]["word"] == "hello"


async def test_the_storage_version_is_remembered_until_it_is_taken_off(api: ApiUnderTest) -> None:
    definition = await define(api, two_versions("v1beta1"))
    for version in definition["spec"]["versions"]:
        version["storage"] = version["name"] == "v1"
    switched = await put_definition(api, definition)
    assert switched.doc["status"]["storedVersions"] == ["v1beta1", "v1"], switched.text
    definition = (await api.get(WIDGET_DEFINITION)).doc
    dropped = {**definition, "spec": {**definition["spec"]}}
    dropped["spec"]["versions"] = definition["spec"]["versions"][:1]
    refused = await put_definition(api, dropped)
    assert refused.code == 422, refused.text
    assert "status.storedVersions[0]" in refused.doc["message"]
    definition["status"]["storedVersions"] = ["v1"]
    migrated = await api.put(f"{WIDGET_DEFINITION}/status", definition)
    assert migrated.code == 200, migrated.text
    dropped["metadata"] = migrated.doc["metadata"]
    assert (await put_definition(api, dropped)).code == 200


async def test_a_version_that_is_not_served_is_not_found(api: ApiUnderTest) -> None:
    definition = await define(api, two_versions())
    await created(api, BETA_WIDGETS, a_widget(version="v1beta1"))
    definition["spec"]["versions"][1]["served"] = False
    assert (await put_definition(api, definition)).code == 200
    assert (await api.get(f"{BETA_WIDGETS}/w")).code == 404
    assert (await api.get(f"{WIDGETS}/w")).code == 200
    group = (await api.get("/apis/example.com")).doc
    assert [version["version"] for version in group["versions"]] == ["v1"]


async def test_users_of_a_deprecated_version_are_warned(api: ApiUnderTest) -> None:
    await define(api, two_versions(deprecated=True))
    text = "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"
    assert (await api.get(BETA_WIDGETS)).warnings == [text]
    assert (await api.get(f"{BETA_WIDGETS}/none")).warnings == [text]
    assert (await api.get(WIDGETS)).warnings == []


# watches


async def test_a_changed_schema_ends_the_watches_of_its_kind_alone(api: ApiUnderTest) -> None:
    definition = await define(api)
    await created(api, WIDGETS, a_widget("before"))
    watching = await api.watch(f"{WIDGETS}?watch=1")
    others = await api.watch("/api/v1/configmaps?watch=1")
    await settle()
    seen = len(others.events)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["more"] = {"type": "string"}
    assert (await put_definition(api, definition)).code == 200
    assert watching.names == [("ADDED", "before")]
    assert watching.ended
    assert not others.ended
    assert len(others.events) == seen
    await created(api, WIDGETS, a_widget("after"))
    version = watching.events[-1]["object"]["metadata"]["resourceVersion"]
    again = await api.watch(f"{WIDGETS}?watch=1&resourceVersion={version}")
    await settle()
    assert again.names == [("ADDED", "after")]


async def test_labels_and_conditions_disturb_no_watch(api: ApiUnderTest) -> None:
    definition = await define(api)
    watching = await api.watch(f"{WIDGETS}?watch=1")
    definition["metadata"]["labels"] = {"a": "b"}
    assert (await put_definition(api, definition)).code == 200
    assert not watching.ended


# deletion


async def test_a_definition_takes_its_objects_with_it(api: ApiUnderTest) -> None:
    await define(api)
    for name in ("a", "b", "c"):
        await created(api, WIDGETS, a_widget(name))
    watching = await api.watch(f"{WIDGETS}?watch=1")
    answer = await api.delete(WIDGET_DEFINITION)
    assert answer.code == 200, answer.text
    assert conditions(answer.doc)["Terminating"] == ("True", "InstanceDeletionPending")
    await settle()
    assert (await api.get(WIDGET_DEFINITION)).code == 404
    assert (await api.get(WIDGETS)).code == 404
    deleted = [name for kind, name in watching.names if kind == "DELETED"]
    assert sorted(deleted) == ["a", "b", "c"]
    assert watching.ended


async def test_others_are_answered_while_its_many_objects_go(api: ApiUnderTest) -> None:
    await define(api)
    for number in range(300):
        await created(api, WIDGETS, a_widget(f"w{number}"))
    await api.delete(WIDGET_DEFINITION)
    seen = set()
    while (answer := await api.get(WIDGETS)).code == 200:
        seen.add(len(answer.doc["items"]))
        await settle(1)
    assert len(seen - {0, 300}) > 3, "it was answered in between"


async def test_a_finalizer_of_an_object_holds_its_definition(api: ApiUnderTest) -> None:
    await define(api)
    held = a_widget()
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await created(api, WIDGETS, held)
    await api.delete(WIDGET_DEFINITION)
    await settle()
    going = (await api.get(WIDGET_DEFINITION)).doc
    assert conditions(going)["Terminating"] == ("True", "InstanceDeletionCheck")
    refused = await api.post(WIDGETS, a_widget("late"))
    assert refused.code == 403, refused.text
    why = "create not allowed while custom resource definition is terminating"
    assert why in refused.doc["message"]
    verbs = (await api.get("/apis/example.com/v1")).doc["resources"][0]["verbs"]
    assert verbs == ["delete", "deletecollection", "get", "list", "watch"]
    released = await api.patch(f"{WIDGETS}/w", {"metadata": {"finalizers": None}})
    assert released.code == 200, released.text
    await settle()
    assert (await api.get(WIDGET_DEFINITION)).code == 404


async def test_a_definition_that_was_never_established_just_goes(api: ApiUnderTest) -> None:
    await define(api)
    await define(api, a_definition("others", "Widget"))
    await api.delete(f"{DEFINITIONS}/others.example.com")
    await settle()
    assert (await api.get(f"{DEFINITIONS}/others.example.com")).code == 404
    assert (await api.get(WIDGETS)).code == 200


async def test_a_namespace_and_an_owner_take_custom_objects_along(api: ApiUnderTest) -> None:
    await define(api)
    await api.post("/api/v1/namespaces", {"metadata": {"name": "going"}})
    elsewhere = WIDGETS.replace("default", "going")
    await created(api, elsewhere, a_widget())
    owner = await created(api, WIDGETS, a_widget("owner"))
    owned = a_widget("owned")
    owned["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "name": "owner",
            "uid": owner["metadata"]["uid"],
        }
    ]
    await created(api, WIDGETS, owned)
    await api.delete("/api/v1/namespaces/going")
    await api.delete(f"{WIDGETS}/owner")
    await settle()
    assert (await api.get(f"{WIDGETS}/owned")).code == 404
    assert (await api.get("/api/v1/namespaces/going")).code == 404
    assert (await api.get("/apis/example.com/v1/widgets")).doc["items"] == []


async def test_what_custom_objects_own_goes_with_their_definition(api: ApiUnderTest) -> None:
    await define(api)
    maps = "/api/v1/namespaces/default/configmaps"
    for number in range(40):  # more than are collected before the kind is gone
        owner = await created(api, WIDGETS, a_widget(f"w{number}"))
        reference = {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "name": f"w{number}",
            "uid": owner["metadata"]["uid"],
        }
        metadata = {"name": f"owned-{number}", "ownerReferences": [reference]}
        await created(api, maps, {"metadata": metadata})
    await api.delete(WIDGET_DEFINITION)
    await settle()
    assert (await api.get(WIDGET_DEFINITION)).code == 404
    left = (await api.get(maps)).doc["items"]
    assert [each["metadata"]["name"] for each in left] == ["kube-root-ca.crt"]


# built-in kinds


async def test_the_definition_of_a_built_in_kind_is_stored_and_changes_nothing(
    api: ApiUnderTest,
) -> None:
    definition = a_definition(
        "volumesnapshots", "VolumeSnapshot", "snapshot.storage.k8s.io", shortNames=["vs"]
    )
    url = "https://github.com/kubernetes-csi/external-snapshotter/pull/814"
    definition["metadata"]["annotations"] = {"api-approved.kubernetes.io": url}
    made = await define(api, definition)
    assert conditions(made)["Established"][0] == "True"
    snapshots = "/apis/snapshot.storage.k8s.io/v1/namespaces/default/volumesnapshots"
    snapshot = {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": "s"},
        "spec": {"source": {"persistentVolumeClaimName": "data"}},
    }
    await created(api, snapshots, snapshot)
    name = f"{DEFINITIONS}/volumesnapshots.snapshot.storage.k8s.io"
    assert (await api.delete(name)).code == 200
    await settle()
    assert (await api.get(name)).code == 404
    assert (await api.get(f"{snapshots}/s")).code == 200


async def test_names_of_built_in_kinds_are_taken(api: ApiUnderTest) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    group = "snapshot.storage.k8s.io"
    snapshots = f"/apis/{group}/v1/namespaces/default/volumesnapshots"
    source = {"source": {"persistentVolumeClaimName": "data"}}
    whose = {"apiVersion": f"{group}/v1", "kind": "VolumeSnapshot"}
    owner = await created(api, snapshots, {**whose, "metadata": {"name": "s"}, "spec": source})
    reference = {**whose, "name": "s", "uid": owner["metadata"]["uid"]}
    owned = {"name": "owned", "ownerReferences": [reference]}
    definition = a_definition("photographs", "VolumeSnapshot", group)
    definition["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, test"}
    made = await define(api, definition)
    assert conditions(made)["NamesAccepted"] == ("False", "ListKindConflict")
    await created(api, maps, {"metadata": owned})
    await settle()
    assert (await api.get(f"{maps}/owned")).code == 200  # its owner is there


# restart


async def test_a_restart_serves_what_is_defined_before_anything_runs(api: ApiUnderTest) -> None:
    await define(api)
    await created(api, WIDGETS, a_widget())
    backend = api.parts.backend
    backend.kinds.withdraw("widgets.example.com")
    assert (await api.get(WIDGETS)).code == 404
    Definitions(backend, InProcessWriter(backend, HOUSEKEEPER)).start()
    items = msgspec.json.decode((await api.get(WIDGETS)).body)["items"]
    assert [item["metadata"]["name"] for item in items] == ["w"]
