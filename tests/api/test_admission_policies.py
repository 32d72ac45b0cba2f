"""Validating admission policies: what they see, what follows, and what cannot be a policy."""

import logging
from typing import Any

import pytest

from mooring.apiserver.policies import policies
from mooring.model.document import Doc
from tests.fakes.api import Answered, ApiUnderTest

GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{GROUP}/validatingadmissionpolicies"
BINDINGS = f"{GROUP}/validatingadmissionpolicybindings"
MAPS = "/api/v1/namespaces/default/configmaps"
RULE = {
    "operations": ["CREATE", "UPDATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
}


def a_policy(*expressions: str | Doc, **spec: Any) -> Doc:
    validations = [{"expression": each} if isinstance(each, str) else each for each in expressions]
    match = {"resourceRules": [{**RULE, **spec.pop("rule", {})}], **spec.pop("match", {})}
    return {
        "kind": "ValidatingAdmissionPolicy",
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": match, "validations": validations, **spec},
    }


def a_binding(*actions: str, **spec: Any) -> Doc:
    return {
        "kind": "ValidatingAdmissionPolicyBinding",
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": "b"},
        "spec": {"policyName": "p", "validationActions": list(actions or ("Deny",)), **spec},
    }


def a_map(name: str = "m", labels: Doc | None = None, **data: str) -> Doc:
    return {"metadata": {"name": name, "labels": labels or {}}, "data": data}


async def in_force(api: ApiUnderTest, policy: Doc, binding: Doc | None = None) -> None:
    answer = await api.post(POLICIES, policy)
    assert answer.code == 201, answer.doc
    answer = await api.post(BINDINGS, binding or a_binding())
    assert answer.code == 201, answer.doc


def told(answer: Answered) -> str:
    return str(answer.doc["message"])


async def test_what_does_not_hold_is_refused(api: ApiUnderTest) -> None:
    await in_force(api, a_policy("object.data.size() <= 1"))
    assert (await api.post(MAPS, a_map(a="1"))).code == 201
    answer = await api.patch(f"{MAPS}/m", {"data": {"b": "2"}})
    assert (answer.code, answer.doc["reason"]) == (422, "Invalid")
    assert told(answer) == (
        "configmaps \"m\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
        "request: failed expression: object.data.size() <= 1"
    )


async def test_without_a_binding_nothing_follows(api: ApiUnderTest) -> None:
    assert (await api.post(POLICIES, a_policy("false"))).code == 201
    assert (await api.post(MAPS, a_map())).code == 201


async def test_it_goes_with_its_binding(api: ApiUnderTest) -> None:
    await in_force(api, a_policy("false"))
    assert (await api.post(MAPS, a_map())).code == 422
    await api.delete(f"{BINDINGS}/b")
    assert (await api.post(MAPS, a_map())).code == 201


async def test_a_warning_lets_it_pass(api: ApiUnderTest) -> None:
    await in_force(api, a_policy({"expression": "false", "message": "mind"}), a_binding("Warn"))
    answer = await api.post(MAPS, a_map())
    assert answer.code == 201
    text = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': mind"
    assert ("Warning", f'299 - "{text}"') in answer.headers


@pytest.mark.parametrize("is_new", [True, False], ids=["created", "changed"])
async def test_what_another_refuses_is_warned_of_too(api: ApiUnderTest, *, is_new: bool) -> None:
    if not is_new:
        assert (await api.post(MAPS, a_map())).code == 201
    for name, action in (("a", "Warn"), ("b", "Deny")):
        policy, binding = a_policy("false"), a_binding(action, policyName=name)
        policy["metadata"]["name"] = binding["metadata"]["name"] = name
        await in_force(api, policy, binding)
    change = {"data": {"a": "2"}}
    answer = await (api.post(MAPS, a_map()) if is_new else api.patch(f"{MAPS}/m", change))
    assert answer.code == 422
    assert answer.warnings == [
        "Validation failed for ValidatingAdmissionPolicy 'a' with binding 'a': "
        "failed expression: false"
    ]


VALIDATIONS: dict[str, tuple[Doc, int, str]] = {
    "a message": ({"expression": "false", "message": "too many"}, 422, "too many"),
    "a message that is computed": (
        {"expression": "false", "messageExpression": "'not ' + object.metadata.name"},
        422,
        "not m",
    ),
    "a computed message that fails": (
        {
            "expression": "false",
            "message": "plain",
            "messageExpression": "'not ' + object.metadata.labels['none']",
        },
        422,
        "plain",
    ),
    "a reason": (
        {"expression": "false", "reason": "Unauthorized"},
        401,
        "failed expression: false",
    ),
    "an error": (
        {"expression": "object.data.none == 'x'"},
        422,
        "expression 'object.data.none == 'x'' resulted in error: no such key: none",
    ),
}


@pytest.mark.parametrize(("validation", "code", "text"), VALIDATIONS.values(), ids=VALIDATIONS)
async def test_what_is_said(api: ApiUnderTest, validation: Doc, code: int, text: str) -> None:
    await in_force(api, a_policy(validation))
    answer = await api.post(MAPS, a_map(a="1"))
    assert answer.code == code
    assert told(answer).endswith(f"denied request: {text}"), told(answer)


async def test_errors_may_be_ignored(api: ApiUnderTest) -> None:
    await in_force(api, a_policy("object.data.none == 'x'", failurePolicy="Ignore"))
    assert (await api.post(MAPS, a_map(a="1"))).code == 201


SEEN: dict[str, str] = {
    "the object": "object.metadata.name == 'm'",
    "no old one": "oldObject == null",
    "the operation": "request.operation == 'CREATE'",
    "the user": "request.userInfo.username == 'admin'",
    "the namespace": "namespaceObject.metadata.name == 'default'",
    "the resource": "request.resource.resource == 'configmaps'",
    "a field that may be absent": "!has(object.data.none)",
    "variables": "variables.twice == 'm/m' && variables.name == 'm'",
    "no parameters": "params == null",
    "what the user may do": "authorizer.group('').resource('pods').check('get').allowed()",
    "what somebody else may not": (
        "!authorizer.serviceAccount('default', 'default').group('').resource('secrets')"
        ".namespace('default').check('get').allowed()"
    ),
    "the rights on what is written": "authorizer.requestResource.check('delete').allowed()",
}


@pytest.mark.parametrize("expression", SEEN.values(), ids=SEEN)
async def test_what_expressions_see(api: ApiUnderTest, expression: str) -> None:
    variables = [
        {"name": "name", "expression": "object.metadata.name"},
        {"name": "twice", "expression": "variables.name + '/' + variables.name"},
    ]
    await in_force(api, a_policy(expression, f"!({expression})", variables=variables))
    answer = await api.post(MAPS, a_map(a="1"))
    assert told(answer).endswith(f"failed expression: !({expression})"), told(answer)


SCOPES: dict[str, tuple[Doc, Doc, bool]] = {
    "another resource": ({"rule": {"resources": ["secrets"]}}, {}, False),
    "names of objects": ({"rule": {"resourceNames": ["m"]}}, {}, True),
    "other names": ({"rule": {"resourceNames": ["n"]}}, {}, False),
    "what is left out": ({"match": {"excludeResourceRules": [RULE]}}, {}, False),
    "a condition": (
        {"matchConditions": [{"name": "c", "expression": "object.metadata.name == 'n'"}]},
        {},
        False,
    ),
    "labels, by the binding": (
        {},
        {"matchResources": {"objectSelector": {"matchLabels": {"a": "b"}}}},
        False,
    ),
    "the same labels, by the binding": (
        {},
        {"matchResources": {"objectSelector": {"matchLabels": {"c": "d"}}}},
        True,
    ),
    "the namespace alone, by the binding": (
        {},
        {
            "matchResources": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
            }
        },
        True,
    ),
    "what is left out, by the binding": (
        {},
        {"matchResources": {"excludeResourceRules": [RULE]}},
        False,
    ),
    "the namespace, by the binding": (
        {},
        {
            "matchResources": {
                "resourceRules": [RULE],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
            }
        },
        True,
    ),
}


@pytest.mark.parametrize(("policy", "binding", "applies"), SCOPES.values(), ids=SCOPES)
async def test_which_writes_it_is_about(
    api: ApiUnderTest, policy: Doc, binding: Doc, *, applies: bool
) -> None:
    await in_force(api, a_policy("false", **policy), a_binding(**binding))
    answer = await api.post(MAPS, a_map(labels={"c": "d"}))
    assert answer.code == (422 if applies else 201), answer.doc


async def with_parameters(api: ApiUnderTest, **reference: Any) -> Answered:
    await in_force(
        api,
        a_policy(
            "object.data.size() <= int(params.data.most)",
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
            rule={"resourceNames": ["m"]},
        ),
        a_binding(paramRef={"parameterNotFoundAction": "Deny", **reference}),
    )
    return await api.post(MAPS, a_map(a="1", b="2"))


async def test_parameters_by_name(api: ApiUnderTest) -> None:
    await api.post(MAPS, a_map("limits", most="1"))
    assert (await with_parameters(api, name="limits")).code == 422
    await api.patch(f"{MAPS}/limits", {"data": {"most": "2"}})
    assert (await api.post(MAPS, a_map(a="1", b="2"))).code == 201


async def test_parameters_by_labels_each_of_which_must_agree(api: ApiUnderTest) -> None:
    await api.post(MAPS, a_map("one", {"limits": "yes"}, most="5"))
    await api.post(MAPS, a_map("two", {"limits": "yes"}, most="1"))
    answer = await with_parameters(api, selector={"matchLabels": {"limits": "yes"}})
    assert answer.code == 422


async def test_what_it_costs_is_counted_over_all_parameters(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policies, "MOST_COST", 30)  # one look costs less
    await api.post(MAPS, a_map("one", {"limits": "yes"}, most="5"))
    chosen = {"matchLabels": {"limits": "yes"}}
    assert (await with_parameters(api, selector=chosen)).code == 201
    for number in range(9):
        await api.post(MAPS, a_map(f"more-{number}", {"limits": "yes"}, most="5"))
    await api.delete(f"{MAPS}/m")
    refused = await api.post(MAPS, a_map(a="1", b="2"))
    assert refused.code == 422, refused.text
    assert "cost limit exceeded" in told(refused)


async def test_parameters_that_are_not_there(api: ApiUnderTest) -> None:
    answer = await with_parameters(api, name="limits")
    assert told(answer).endswith(
        "no params found for policy binding with `Deny` parameterNotFoundAction"
    )


async def test_an_expression_that_costs_too_much_is_ended(api: ApiUnderTest) -> None:
    many = "[1,2,3,4,5,6,7,8,9,10]"
    expression = "true"
    for letter in "abcdefgh":
        expression = f"{many}.all({letter}, {expression})"
    await in_force(api, a_policy(expression))
    answer = await api.post(MAPS, a_map())
    assert answer.code == 422
    assert "cost limit exceeded" in told(answer)


def annotating(value: str, **spec: Any) -> Doc:
    return a_policy(auditAnnotations=[{"key": "size", "valueExpression": value}], **spec)


def recorded(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "mooring.policies"]


async def test_annotations_are_written_to_the_log(
    api: ApiUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await in_force(api, annotating("' ' + string(object.data.size()) + ' keys'"))
    assert (await api.post(MAPS, a_map(a="1"))).code == 201
    assert recorded(caplog) == [
        'msg="annotated by a policy" policy=p binding=b operation=CREATE resource=configmaps '
        'namespace=default name=m user=admin key=size value="1 keys"'
    ]


@pytest.mark.parametrize("value", ["null", "' '"], ids=["null", "an empty text"])
async def test_annotations_that_are_left_out(
    api: ApiUnderTest, caplog: pytest.LogCaptureFixture, value: str
) -> None:
    caplog.set_level(logging.INFO)
    await in_force(api, annotating(value))
    assert (await api.post(MAPS, a_map())).code == 201
    assert recorded(caplog) == []


@pytest.mark.parametrize(("failure_policy", "code"), [("Fail", 422), ("Ignore", 201)])
async def test_an_annotation_that_cannot_be_computed(
    api: ApiUnderTest, failure_policy: str, code: int
) -> None:
    await in_force(api, annotating("object.data.none", failurePolicy=failure_policy))
    answer = await api.post(MAPS, a_map())
    assert answer.code == code
    if code == 422:
        assert told(answer).endswith(
            "expression 'object.data.none' resulted in error: no such key: data"
        )


async def test_what_an_audit_finds_is_written_to_the_log(
    api: ApiUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await in_force(api, a_policy("false"), a_binding("Audit"))
    assert (await api.post(MAPS, a_map())).code == 201
    (line,) = recorded(caplog)
    assert line.endswith('name=m user=admin because="failed expression: false"')


REFUSED: dict[str, tuple[Doc, str]] = {
    "nothing demanded": (
        a_policy(),
        "spec.validations: Required value: validations or auditAnnotations must contain at least "
        "one item",
    ),
    "no writes": (
        {**a_policy("true"), "spec": {"validations": [{"expression": "true"}]}},
        "spec.matchConstraints: Required value",
    ),
    "no expression of a bool": (
        a_policy("'text'"),
        "spec.validations[0].expression: Invalid value: \"'text'\": must evaluate to bool but got "
        "string",
    ),
    "no expression at all": (
        a_policy("object."),
        'spec.validations[0].expression: Invalid value: "object.": compilation failed: ERROR: ',
    ),
    "a field that a request has not": (
        a_policy("request.fridays == 'x'"),
        "undefined field 'fridays'",
    ),
    "a key of an annotation twice": (
        a_policy(auditAnnotations=[{"key": "k", "valueExpression": "''"}] * 2),
        'spec.auditAnnotations[1].key: Duplicate value: "k"',
    ),
    "a key that cannot be one": (
        a_policy(auditAnnotations=[{"key": "a/b", "valueExpression": "''"}]),
        'spec.auditAnnotations[0].key: Invalid value: "p/a/b": a valid label key must consist of',
    ),
    "an annotation of a number": (
        a_policy(auditAnnotations=[{"key": "k", "valueExpression": "1"}]),
        "spec.auditAnnotations[0].valueExpression: Invalid value: ",
    ),
    "too many annotations": (
        a_policy(auditAnnotations=[{"key": f"k{n}", "valueExpression": "''"} for n in range(21)]),
        ": must not have more than 20 auditAnnotations",
    ),
    "a long annotation": (
        a_policy(auditAnnotations=[{"key": "k", "valueExpression": f"'{'a' * 5120}'"}]),
        "valueExpression: Required value: must not exceed 5120 bytes in length",
    ),
    "an unknown reason": (
        a_policy({"expression": "true", "reason": "Fridays"}),
        'spec.validations[0].reason: Unsupported value: "Fridays"',
    ),
}


@pytest.mark.parametrize(("policy", "text"), REFUSED.values(), ids=REFUSED)
async def test_what_cannot_be_a_policy(api: ApiUnderTest, policy: Doc, text: str) -> None:
    answer = await api.post(POLICIES, policy)
    assert answer.code == 422
    assert text in told(answer), told(answer)


async def test_what_cannot_be_a_binding(api: ApiUnderTest) -> None:
    answer = await api.post(BINDINGS, a_binding("Deny", "Warn"))
    assert answer.code == 422
    assert "must not contain both Deny and Warn" in told(answer)
