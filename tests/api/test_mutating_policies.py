"""Mutating admission policies: what they make of writes, what follows when they cannot, and what
cannot be a policy."""

import threading
from pathlib import Path
from typing import Any

import pytest

from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.policies import mutations
from mooring.model.document import Doc
from mooring.model.kubernetes_version import V1_35
from tests.api.definitions import define
from tests.fakes.api import Answered, ApiUnderTest, running_api
from tests.fakes.definitions import WIDGETS, a_definition, a_version, a_widget
from tests.fakes.objects import PODS, a_pod

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{GROUP}/mutatingadmissionpolicies"
BINDINGS = f"{GROUP}/mutatingadmissionpolicybindings"
MAPS = "/api/v1/namespaces/default/configmaps"
RULE = {
    "operations": ["CREATE", "UPDATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps", "pods"],
}


def applying(expression: str) -> Doc:
    return {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": expression},
    }


def patching(expression: str) -> Doc:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


LABELLED = applying('Object{metadata: Object.metadata{labels: {"seen": "yes"}}}')


def counting(key: str = "count") -> Doc:
    """Adds a letter to a key of the object's data."""
    before = f"(has(object.data) && has(object.data.{key}) ? object.data.{key} : '')"
    return applying(f"Object{{data: {{'{key}': {before} + 'x'}}}}")


def a_policy(*changes: Doc, name: str = "p", **spec: Any) -> Doc:
    match = {"resourceRules": [{**RULE, **spec.pop("rule", {})}], **spec.pop("match", {})}
    return {
        "kind": "MutatingAdmissionPolicy",
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": match,
            "mutations": list(changes),
            "reinvocationPolicy": "Never",
            **spec,
        },
    }


def a_binding(name: str = "b", **spec: Any) -> Doc:
    return {
        "kind": "MutatingAdmissionPolicyBinding",
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": name},
        "spec": {"policyName": "p", **spec},
    }


def a_map(name: str = "m", **data: str) -> Doc:
    return {"metadata": {"name": name}, "data": data}


async def in_force(api: ApiUnderTest, policy: Doc, binding: Doc | None = None) -> None:
    name = policy["metadata"]["name"]
    answer = await api.post(POLICIES, policy)
    assert answer.code == 201, answer.doc
    answer = await api.post(BINDINGS, binding or a_binding(name, policyName=name))
    assert answer.code == 201, answer.doc


def told(answer: Answered) -> str:
    return str(answer.doc["message"])


async def test_a_configuration_is_applied_to_what_is_created_and_changed(
    api: ApiUnderTest,
) -> None:
    await in_force(api, a_policy(LABELLED))
    created = await api.post(MAPS, a_map(a="1"))
    assert (created.code, created.doc["metadata"]["labels"]) == (201, {"seen": "yes"})
    assert created.doc["data"] == {"a": "1"}
    changed = await api.patch(f"{MAPS}/m", {"metadata": {"labels": {"seen": "no", "own": "1"}}})
    assert changed.doc["metadata"]["labels"] == {"seen": "yes", "own": "1"}


async def test_operations_of_a_json_patch_are_carried_out(api: ApiUnderTest) -> None:
    expression = (
        "[JSONPatch{op: 'test', path: '/data/a', value: '1'},"
        " JSONPatch{op: 'add', path: '/metadata/labels', value: {}},"
        " JSONPatch{op: 'add', path: '/metadata/labels/'"
        " + jsonpatch.escapeKey('example.com/from'), value: object.data.a},"
        " JSONPatch{op: 'move', from: '/data/a', path: '/data/b'}]"
    )
    await in_force(api, a_policy(patching(expression)))
    created = (await api.post(MAPS, a_map(a="1"))).doc
    assert created["metadata"]["labels"] == {"example.com/from": "1"}
    assert created["data"] == {"b": "1"}
    untouched = (await api.post(MAPS, a_map("n", a="2"))).doc  # its test fails
    assert untouched["data"] == {"a": "2"}


async def test_a_sidecar_joins_the_containers_by_name(api: ApiUnderTest) -> None:
    expression = (
        "Object{spec: Object.spec{initContainers: [Object.spec.initContainers{"
        "name: 'mesh', image: 'mesh:1', restartPolicy: 'Always'}],"
        " containers: object.spec.containers.map(c,"
        " Object.spec.containers{name: c.name,"
        " env: [Object.spec.containers.env{name: 'MESH', value: 'on'}]})}}"
    )
    await in_force(api, a_policy(applying(expression)))
    created = await api.post(PODS, a_pod("web"))
    assert created.code == 201, created.doc
    spec = created.doc["spec"]
    assert [each["name"] for each in spec["initContainers"]] == ["mesh"]
    assert spec["initContainers"][0]["terminationMessagePath"] == "/dev/termination-log"
    assert [each["env"] for each in spec["containers"]] == [[{"name": "MESH", "value": "on"}]]
    assert spec["containers"][0]["image"]


async def test_without_a_binding_nothing_follows_and_it_goes_with_it(api: ApiUnderTest) -> None:
    assert (await api.post(POLICIES, a_policy(LABELLED))).code == 201
    assert "labels" not in (await api.post(MAPS, a_map("a"))).doc["metadata"]
    await api.post(BINDINGS, a_binding())
    assert "labels" in (await api.post(MAPS, a_map("b"))).doc["metadata"]
    await api.delete(f"{BINDINGS}/b")
    assert "labels" not in (await api.post(MAPS, a_map("c"))).doc["metadata"]


async def test_mutations_and_policies_see_what_was_changed_before_them(api: ApiUnderTest) -> None:
    await in_force(api, a_policy(counting(), counting(), name="first"))
    more = applying("Object{data: {'count': object.data.count + 'y'}}")
    await in_force(api, a_policy(more, name="second"))
    assert (await api.post(MAPS, a_map())).doc["data"] == {"count": "xxy"}


async def test_variables_parameters_and_conditions(api: ApiUnderTest) -> None:
    await api.post(MAPS, a_map("values", colour="blue"))
    policy = a_policy(
        applying("Object{data: {variables.key: params.data.colour}}"),
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        variables=[{"name": "key", "expression": "'of-' + object.metadata.name"}],
        matchConditions=[{"name": "c", "expression": "object.metadata.name != 'other'"}],
    )
    reference = {"name": "values", "parameterNotFoundAction": "Deny"}
    await in_force(api, policy, a_binding(paramRef=reference))
    assert (await api.post(MAPS, a_map())).doc["data"] == {"of-m": "blue"}
    assert not (await api.post(MAPS, a_map("other"))).doc.get("data")
    await api.delete(f"{MAPS}/values")
    refused = await api.post(MAPS, a_map("n"))
    assert (refused.code, refused.doc["reason"]) == (403, "Forbidden")
    assert told(refused) == (
        "policy 'p' with binding 'b' denied request: failed to configure binding: "
        "no params found for policy binding with `Deny` parameterNotFoundAction"
    )


async def test_each_object_of_parameters_is_a_change_of_its_own(api: ApiUnderTest) -> None:
    for name in ("one", "two"):
        doc = a_map(name, colour=name)
        doc["metadata"]["labels"] = {"params": "yes"}
        await api.post(MAPS, doc)
    policy = a_policy(
        applying("Object{data: {params.metadata.name: params.data.colour}}"),
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )
    chosen = {"selector": {"matchLabels": {"params": "yes"}}, "parameterNotFoundAction": "Deny"}
    await in_force(api, policy, a_binding(paramRef=chosen))
    assert (await api.post(MAPS, a_map())).doc["data"] == {"one": "one", "two": "two"}


async def test_a_rehearsal_shows_the_change_and_makes_none(api: ApiUnderTest) -> None:
    await in_force(api, a_policy(LABELLED))
    shown = await api.post(f"{MAPS}?dryRun=All", a_map())
    assert shown.doc["metadata"]["labels"] == {"seen": "yes"}
    assert (await api.get(f"{MAPS}/m")).code == 404


async def test_what_was_changed_is_judged(api: ApiUnderTest) -> None:
    bad = patching("[JSONPatch{op: 'replace', path: '/spec/containers/0/image', value: ''}]")
    await in_force(api, a_policy(bad))
    refused = await api.post(PODS, a_pod("web"))
    assert refused.code == 422
    assert "spec.containers[0].image: Required value" in told(refused)


async def test_name_namespace_and_uid_stay(api: ApiUnderTest) -> None:
    other = (
        "[JSONPatch{op: 'replace', path: '/metadata/name', value: 'other'},"
        " JSONPatch{op: 'add', path: '/metadata/uid', value: 'other'}]"
    )
    await in_force(api, a_policy(patching(other)))
    created = (await api.post(MAPS, a_map())).doc["metadata"]
    assert (created["name"], created["uid"] != "other") == ("m", True)


FAILURES: dict[str, tuple[Doc, str]] = {
    "an error": (
        applying("Object{data: {'a': object.data.none}}"),
        "expression 'Object{data: {'a': object.data.none}}' resulted in error: no such key: none",
    ),
    "a place that is not there": (
        patching("[JSONPatch{op: 'remove', path: '/data/none'}]"),
        "JSON Patch: error in remove for path: '/data/none': Unable to remove nonexistent key: "
        "none: missing value",
    ),
    "an operation that is none": (
        patching("[JSONPatch{op: 'change', path: '/data'}]"),
        "JSON Patch: Unexpected kind: change",
    ),
    "a type of another place": (
        applying("Object{metadata: Object.spec{labels: {'a': 'b'}}}"),
        'type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which '
        "matches field name path from root Object type",
    ),
    "a field that the kind has not": (
        applying("Object{spec: Object.spec{a: 1}}"),
        "error applying patch: failed to convert patch object to typed object: "
        ".spec: field not declared in schema",
    ),
    "a value of another type": (
        applying("Object{data: {'a': 1}}"),
        "error applying patch: failed to convert patch object to typed object: .data.a: expected "
        "string, got &value.valueUnstructured{Value:1}",
    ),
}


@pytest.mark.parametrize(("change", "text"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
async def test_what_cannot_be_changed(
    api: ApiUnderTest, change: Doc, text: str, failure_policy: str
) -> None:
    await in_force(api, a_policy(change, LABELLED, failurePolicy=failure_policy))
    answer = await api.post(MAPS, a_map(a="1"))
    if failure_policy == "Ignore":
        assert answer.code == 201
        assert answer.doc["data"] == {"a": "1"}
        assert answer.doc["metadata"]["labels"] == {"seen": "yes"}  # by the one after it
        return
    assert (answer.code, answer.doc["reason"]) == (403, "Invalid")
    assert told(answer) == f"policy 'p' with binding 'p' denied request: {text}"
    assert answer.doc["details"]["causes"] == [{"message": told(answer)}]
    assert (await api.get(f"{MAPS}/m")).code == 404


async def test_all_that_failed_is_told(api: ApiUnderTest) -> None:
    for name in ("a", "b"):
        await in_force(api, a_policy(FAILURES["an error"][0], name=name))
    answer = await api.post(MAPS, a_map(a="1"))
    assert [
        each["message"].partition(" denied")[0] for each in answer.doc["details"]["causes"]
    ] == [
        "policy 'a' with binding 'a'",
        "policy 'b' with binding 'b'",
    ]


async def test_a_list_that_has_no_keys_is_not_replaced(api: ApiUnderTest) -> None:
    lost = "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', args: ['a']}]}}"
    await in_force(api, a_policy(applying(lost)))
    answer = await api.post(PODS, a_pod("web"))
    assert told(answer) == (
        "policy 'p' with binding 'p' denied request: error applying patch: invalid "
        "ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
        ".spec.containers[0].args"
    )


async def test_an_unknown_field_is_an_error_whatever_the_policy_says(api: ApiUnderTest) -> None:
    unknown = patching("[JSONPatch{op: 'add', path: '/spec/none', value: 1}]")
    await in_force(api, a_policy(unknown, failurePolicy="Ignore"))
    answer = await api.post(PODS, a_pod("web"))
    assert answer.code == 500
    assert told(answer) == (
        'Internal error occurred: strict decoding error: unknown field "spec.none"'
    )


REINVOKED: dict[str, tuple[str, str, str]] = {
    "neither": ("Never", "Never", "xy"),
    "the first": ("IfNeeded", "Never", "xyx"),
    "both": ("IfNeeded", "IfNeeded", "xyxy"),
}


@pytest.mark.parametrize(("first", "second", "data"), REINVOKED.values(), ids=REINVOKED)
async def test_who_asks_for_it_is_applied_once_more(
    api: ApiUnderTest, first: str, second: str, data: str
) -> None:
    more = applying("Object{data: {'count': object.data.count + 'y'}}")
    await in_force(api, a_policy(counting(), name="first", reinvocationPolicy=first))
    await in_force(api, a_policy(more, name="second", reinvocationPolicy=second))
    assert (await api.post(MAPS, a_map())).doc["data"] == {"count": data}


async def test_nobody_is_asked_again_when_nothing_was_changed(api: ApiUnderTest) -> None:
    await in_force(
        api, a_policy(patching("false ? [JSONPatch{}] : []"), reinvocationPolicy="IfNeeded")
    )
    created = await api.post(MAPS, a_map(a="1"))
    assert (created.code, created.doc["data"]) == (201, {"a": "1"})


PARTS: Doc = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "size": {"type": "integer", "default": 3},
                        },
                    },
                },
            },
        }
    },
}
OF_WIDGETS = {"apiGroups": ["example.com"], "resources": ["widgets"]}


async def test_custom_objects_by_their_schema(api: ApiUnderTest) -> None:
    await define(api, a_definition(versions=[a_version(schema={"openAPIV3Schema": PARTS})]))
    part = "Object{spec: Object.spec{parts: [Object.spec.parts{name: 'b'}]}}"
    await in_force(api, a_policy(applying(part), rule=OF_WIDGETS))
    created = await api.post(WIDGETS, a_widget(parts=[{"name": "a", "size": 1}]))
    assert created.code == 201, created.doc
    assert created.doc["spec"]["parts"] == [{"name": "a", "size": 1}, {"name": "b", "size": 3}]


async def test_other_versions_of_the_kind_are_shown_in_the_one_that_the_policy_names(
    api: ApiUnderTest,
) -> None:
    versions = [
        a_version("v1", schema={"openAPIV3Schema": PARTS}),
        a_version("v2", schema={"openAPIV3Schema": PARTS}, storage=False),
    ]
    await define(api, a_definition(versions=versions))
    change = "Object{spec: Object.spec{size: object.apiVersion == 'example.com/v1' ? 1 : 2}}"
    await in_force(api, a_policy(applying(change), rule=OF_WIDGETS))
    written = await api.post(WIDGETS.replace("/v1/", "/v2/"), a_widget(version="v2"))
    assert written.code == 201, written.doc
    assert (written.doc["apiVersion"], written.doc["spec"]["size"]) == ("example.com/v2", 1)


async def test_it_is_not_asked_about_its_own_kind(api: ApiUnderTest) -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    broken = applying("Object{metadata: Object.metadata{name: object.none}}")
    await in_force(api, a_policy(broken, rule=everything))
    assert (await api.post(MAPS, a_map())).code == 403
    assert (await api.post(POLICIES, a_policy(LABELLED, name="more"))).code == 201
    assert (await api.delete(f"{POLICIES}/p")).code == 200
    assert (await api.post(MAPS, a_map())).code == 201


async def test_what_it_costs_is_limited(api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    await in_force(api, a_policy(*[LABELLED] * 5))
    monkeypatch.setattr(mutations, "MOST_COST", 300)
    refused = await api.post(MAPS, a_map())
    assert refused.code == 403
    assert told(refused).endswith("operation cancelled: actual cost limit exceeded")


async def test_it_is_counted_over_all_objects_of_parameters(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        doc = a_map(f"params-{number}")
        doc["metadata"]["labels"] = {"params": "yes"}
        await api.post(MAPS, doc)
    chosen = {"selector": {"matchLabels": {"params": "yes"}}, "parameterNotFoundAction": "Deny"}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    await in_force(api, a_policy(LABELLED, paramKind=kind), a_binding(paramRef=chosen))
    monkeypatch.setattr(mutations, "MOST_COST", 300)  # one of them costs less
    assert (await api.post(MAPS, a_map())).code == 403


REFUSED: dict[str, tuple[Doc, str]] = {
    "no mutations": (
        a_policy(),
        "spec.mutations: Required value: mutations must contain at least one item",
    ),
    "no reinvocationPolicy": (
        a_policy(LABELLED, reinvocationPolicy=""),
        "spec.reinvocationPolicy: Required value",
    ),
    "another reinvocationPolicy": (
        a_policy(LABELLED, reinvocationPolicy="Often"),
        'spec.reinvocationPolicy: Unsupported value: "Often": supported values: "IfNeeded", '
        '"Never"',
    ),
    "deletions": (
        a_policy(LABELLED, rule={"operations": ["DELETE"]}),
        'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported '
        'values: "*", "CONNECT", "CREATE", "UPDATE"',
    ),
    "no type of a patch": (
        a_policy({"jsonPatch": {"expression": "[]"}}),
        "spec.mutations[0].patchType: Required value",
    ),
    "another type of a patch": (
        a_policy({"patchType": "Merge"}),
        'spec.mutations[0].patchType: Unsupported value: "Merge": supported values: '
        '"ApplyConfiguration", "JSONPatch"',
    ),
    "no patch": (
        a_policy({"patchType": "JSONPatch"}),
        "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is "
        "JSONPatch",
    ),
    "a patch of the other type too": (
        a_policy({**LABELLED, "jsonPatch": {"expression": "[JSONPatch{}]"}}),
        'spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when '
        "patchType is ApplyConfiguration",
    ),
    "an empty expression": (
        a_policy(applying(" ")),
        "spec.mutations[0].applyConfiguration.expression: Required value",
    ),
    "an object that is none": (
        a_policy(applying("object")),
        'spec.mutations[0].applyConfiguration.expression: Invalid value: "object": must evaluate '
        "to Object but got dyn",
    ),
    "operations that are none": (
        a_policy(patching("['add']")),
        "spec.mutations[0].jsonPatch.expression: Invalid value: \"['add']\": must evaluate to "
        "list(JSONPatch) but got list(string)",
    ),
    "a member that operations have not": (
        a_policy(patching("[JSONPatch{what: 'add'}]")),
        "compilation failed: ERROR: <input>:1:16: undefined field 'what'",
    ),
    "a member of another type": (
        a_policy(patching("[JSONPatch{op: 1}]")),
        "expected type of field 'op' is 'string' but provided type is 'int'",
    ),
    "parameters without their kind": (
        a_policy(applying("Object{data: params.data}")),
        "undeclared reference to 'params' (in container '')",
    ),
    "constructors in variables": (
        a_policy(LABELLED, variables=[{"name": "v", "expression": "Object{}"}]),
        "undeclared reference to 'Object' (in container '')",
    ),
}


@pytest.mark.parametrize(("policy", "text"), REFUSED.values(), ids=REFUSED)
async def test_what_cannot_be_a_policy(api: ApiUnderTest, policy: Doc, text: str) -> None:
    answer = await api.post(POLICIES, policy)
    assert answer.code == 422
    assert text in told(answer), told(answer)


async def test_what_cannot_be_a_binding(api: ApiUnderTest) -> None:
    rules = [{**RULE, "operations": ["DELETE"]}]
    answer = await api.post(
        BINDINGS, a_binding(policyName="No", matchResources={"resourceRules": rules})
    )
    assert answer.code == 422
    assert 'spec.policyName: Invalid value: "No": a lowercase RFC 1123 subdomain' in told(answer)
    assert 'spec.matchResources.resourceRules.operations: Unsupported value: "DELETE"' in told(
        answer
    )


async def test_1_35_has_none(pki: Pki, tmp_path: Path) -> None:
    async with running_api(pki, tmp_path, release=V1_35) as api:
        assert (await api.post(POLICIES, a_policy(LABELLED))).code == 404
        listed = (await api.get(GROUP)).doc["resources"]
        assert not [each for each in listed if each["name"].startswith("mutatingadmission")]
        swagger = (await api.get("/openapi/v2")).doc["definitions"]
        assert "io.k8s.api.admissionregistration.v1.MutatingAdmissionPolicy" not in swagger


async def test_a_policy_with_many_parameters_leaves_the_loop_to_others(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, where = threading.current_thread(), list[bool]()
    mutated = mutations.mutated

    def watched(*args: Any) -> mutations.Mutated:
        where.append(threading.current_thread() is own)
        return mutated(*args)

    monkeypatch.setattr(mutations, "mutated", watched)
    for number in range(10):
        parameter = a_map(f"p{number}")
        parameter["metadata"]["labels"] = {"is": "parameter"}
        await api.post(MAPS, parameter)
    costly = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]"
    loops = f"{costly}.all(a, {costly}.all(b, {costly}.all(c, a + b + c > 0)))"
    chosen = {"selector": {"matchLabels": {"is": "parameter"}}, "parameterNotFoundAction": "Deny"}
    await in_force(
        api,
        a_policy(
            patching(f"[JSONPatch{{op: {loops} ? 'test' : '', path: '/kind', value: 'Pod'}}]"),
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
            rule={"resources": ["pods"]},
        ),
        a_binding(paramRef=chosen),
    )
    answer = await api.post(PODS, a_pod())
    assert answer.code == 201, answer.doc
    assert not all(where)
