"""Admission webhooks: whom they are asked about, what they may do, and what their failures cost."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from mooring.apiserver.webhooks.calling import MOST_PER_HOST
from mooring.apiserver.webhooks.webhooks import MOST_ANNOTATIONS
from mooring.model.document import Doc
from tests.api.definitions import define
from tests.fakes.api import ApiUnderTest
from tests.fakes.clock import settle
from tests.fakes.definitions import DEFINITIONS, WIDGETS, a_widget
from tests.fakes.real_server import RealServer
from tests.fakes.webhook_server import SERVICE, WebhookServer, patched, webhook_server

HOOKS = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{HOOKS}/mutatingwebhookconfigurations"
VALIDATING = f"{HOOKS}/validatingwebhookconfigurations"
MAPS = "/api/v1/namespaces/default/configmaps"
ALL_MAPS = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"]}


@pytest.fixture
async def hook(tmp_path: Path, api: ApiUnderTest) -> AsyncIterator[WebhookServer]:
    async with webhook_server(tmp_path) as server:
        yield server
    await api.parts.backend.webhooks.close()


def configuration(client: Doc, name: str = "one", **fields: Any) -> Doc:
    kind = fields.pop("kind", "ValidatingWebhookConfiguration")
    rule = {**ALL_MAPS, "resources": ["configmaps"], **fields.pop("rule", {})}
    return {
        "kind": kind,
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"{name}.example.com",
                "clientConfig": client,
                "rules": [rule],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                **fields,
            }
        ],
    }


def a_map(name: str = "m", **labels: str) -> Doc:
    metadata: Doc = {"name": name, "labels": labels} if labels else {"name": name}
    return {"metadata": metadata, "data": {"a": "1"}}


async def register(api: ApiUnderTest, doc: Doc) -> None:
    mutates = doc["kind"].startswith("Mutating")
    answer = await api.post(MUTATING if mutates else VALIDATING, doc)
    assert answer.code == 201, answer.doc


async def validating(api: ApiUnderTest, hook: WebhookServer, **fields: Any) -> None:
    await register(api, configuration(hook.by_url, **fields))


async def mutating(
    api: ApiUnderTest, hook: WebhookServer, name: str = "one", **fields: Any
) -> None:
    kind = "MutatingWebhookConfiguration"
    await register(api, configuration(hook.by_url, name, kind=kind, **fields))


def labelling(key: str) -> Any:
    """Adds a label to whatever it is asked about."""

    def respond(request: Doc) -> Doc:
        labels = request["object"]["metadata"].get("labels", {})
        value: Doc = {**labels, key: "yes"}
        return patched({"op": "add", "path": "/metadata/labels", "value": value})

    return respond


async def test_it_is_asked_about_creations_changes_and_deletions(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await validating(api, hook)
    await api.post(MAPS, a_map())
    await api.patch(f"{MAPS}/m", {"data": {"a": "2"}})
    await api.delete(f"{MAPS}/m")
    created, changed, deleted = hook.asked
    assert created["operation"] == "CREATE"
    assert created["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert created["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (created["namespace"], created["name"]) == ("default", "m")
    assert created["object"]["data"] == {"a": "1"}
    assert created["oldObject"] is None
    assert created["userInfo"]["username"] == "admin"
    assert created["dryRun"] is False
    assert changed["operation"] == "UPDATE"
    assert (changed["oldObject"]["data"], changed["object"]["data"]) == ({"a": "1"}, {"a": "2"})
    assert deleted["operation"] == "DELETE"
    assert (deleted["object"], deleted["oldObject"]["data"]) == (None, {"a": "2"})


DENIALS: dict[str, tuple[Doc, int, str, str]] = {
    "with a message": (
        {"status": {"message": "not on Fridays", "code": 409, "reason": "Conflict"}},
        409,
        "Conflict",
        'admission webhook "one.example.com" denied the request: not on Fridays',
    ),
    "with a reason alone": (
        {"status": {"reason": "Forbidden", "code": 403}},
        403,
        "Forbidden",
        'admission webhook "one.example.com" denied the request: Forbidden',
    ),
    "without a word": (
        {},
        400,
        "",
        'admission webhook "one.example.com" denied the request without explanation',
    ),
    "with a code that means success": (
        {"status": {"message": "no", "code": 200}},
        400,
        "",
        'admission webhook "one.example.com" denied the request: no',
    ),
}


@pytest.mark.parametrize(("said", "code", "reason", "text"), DENIALS.values(), ids=DENIALS)
async def test_what_it_denies_is_refused(
    api: ApiUnderTest, hook: WebhookServer, said: Doc, code: int, reason: str, text: str
) -> None:
    await validating(api, hook)
    hook.respond = lambda _: {"allowed": False, **said}
    answer = await api.post(MAPS, a_map())
    assert (answer.code, answer.doc.get("reason", "")) == (code, reason)
    assert answer.doc["message"] == text
    assert (await api.get(f"{MAPS}/m")).code == 404


async def test_its_warnings_reach_the_client(api: ApiUnderTest, hook: WebhookServer) -> None:
    await validating(api, hook)
    hook.respond = lambda _: {"allowed": True, "warnings": ["a little late"]}
    answer = await api.post(MAPS, a_map())
    assert ("Warning", '299 - "a little late"') in answer.headers
    answer = await api.patch(f"{MAPS}/m", {"data": {"a": "2"}})
    assert ("Warning", '299 - "a little late"') in answer.headers


async def test_its_annotations_are_written_to_the_log(
    api: ApiUnderTest, hook: WebhookServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await validating(api, hook)
    hook.respond = lambda _: {"allowed": True, "auditAnnotations": {"seen": "it was late"}}
    await api.post(MAPS, a_map())
    (line,) = (each.getMessage() for each in caplog.records if each.name == "mooring.webhooks")
    assert line.startswith('msg="annotated by a webhook" webhook=')
    assert line.endswith(
        "operation=CREATE resource=configmaps namespace=default name=m user=admin key=seen "
        'value="it was late"'
    )


async def test_annotations_without_number_do_not_fill_the_log(
    api: ApiUnderTest, hook: WebhookServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await validating(api, hook)
    many = {f"a{number}": "" for number in range(MOST_ANNOTATIONS + 3)}
    hook.respond = lambda _: {"allowed": True, "auditAnnotations": many}
    await api.post(MAPS, a_map())
    *lines, last = (each.getMessage() for each in caplog.records if each.name == "mooring.webhooks")
    assert len(lines) == MOST_ANNOTATIONS
    assert 'msg="annotations of a webhook are left out"' in last
    assert last.endswith("count=3")


async def test_those_that_mutate_see_one_anothers_changes_in_the_order_of_their_names(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    def respond(request: Doc) -> Doc:
        seen = "first" in request["object"]["metadata"].get("labels", {})
        return labelling("second" if seen else "first")(request)  # type: ignore[no-any-return]

    hook.respond = respond
    await mutating(api, hook, "b")
    await mutating(api, hook, "a")
    answer = await api.post(MAPS, a_map())
    assert answer.doc["metadata"]["labels"] == {"first": "yes", "second": "yes"}
    assert len(hook.asked) == 2


async def test_one_is_asked_again_if_a_later_one_changed_something(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    names: list[str] = []

    def respond(request: Doc) -> Doc:
        names.append(",".join(request["object"]["metadata"].get("labels", {})))
        return labelling(f"l{len(names)}")(request)  # type: ignore[no-any-return]

    hook.respond = respond
    await mutating(api, hook, "a", reinvocationPolicy="IfNeeded")
    await mutating(api, hook, "b")
    await api.post(MAPS, a_map())
    assert names == ["", "l1", "l1,l2"]


async def test_policies_come_first_and_once_more_what_asks_for_it(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    """Both append to one text."""
    before = "object.?data.order.orValue('')"
    expression = f"Object{{data: {{'order': {before} + 'p'}}}}"
    change = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"]}
    match = {"resourceRules": [{**rule, "resources": ["configmaps"]}]}
    spec = {"matchConstraints": match, "mutations": [change], "reinvocationPolicy": "IfNeeded"}
    policies = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
    made = await api.post(policies, {"metadata": {"name": "p"}, "spec": spec})
    assert made.code == 201, made.text
    binding = {"metadata": {"name": "b"}, "spec": {"policyName": "p"}}
    await api.post(policies.replace("policies", "policybindings"), binding)

    def respond(request: Doc) -> Doc:
        order = request["object"]["data"]["order"] + "h"
        return patched({"op": "replace", "path": "/data/order", "value": order})

    hook.respond = respond
    await mutating(api, hook, reinvocationPolicy="IfNeeded")
    assert (await api.post(MAPS, a_map())).doc["data"]["order"] == "phph"


async def test_a_change_that_spoils_the_object_is_refused(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await mutating(api, hook)
    hook.respond = lambda _: patched({"op": "add", "path": "/data", "value": "no map"})
    answer = await api.post(MAPS, a_map())
    assert answer.code == 500
    assert "returned a patch that cannot be used" in answer.doc["message"]
    hook.respond = lambda _: patched({"op": "add", "path": "/data", "value": {"/": "x"}})
    answer = await api.post(MAPS, a_map())
    assert answer.code == 422  # validated like what a client says


async def test_what_identifies_an_object_is_not_for_it_to_change(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await mutating(api, hook)
    hook.respond = lambda _: patched(
        {"op": "replace", "path": "/metadata/namespace", "value": "kube-system"},
        {"op": "replace", "path": "/metadata/uid", "value": "mine"},
    )
    answer = await api.post(MAPS, a_map())
    assert answer.code == 201
    assert answer.doc["metadata"]["namespace"] == "default"
    assert answer.doc["metadata"]["uid"] != "mine"


SELECTED: dict[str, tuple[Doc, bool]] = {
    "another resource": ({"rule": {"resources": ["secrets"]}}, False),
    "a subresource alone": ({"rule": {"resources": ["configmaps/status"]}}, False),
    "all resources": ({"rule": {"resources": ["*"]}}, True),
    "another group": ({"rule": {"apiGroups": ["apps"]}}, False),
    "another operation": ({"rule": {"operations": ["UPDATE", "DELETE"]}}, False),
    "cluster scope": ({"rule": {"scope": "Cluster"}}, False),
    "namespaced scope": ({"rule": {"scope": "Namespaced"}}, True),
    "labels of the object": ({"objectSelector": {"matchLabels": {"a": "b"}}}, True),
    "other labels": ({"objectSelector": {"matchLabels": {"a": "c"}}}, False),
    "labels of its namespace": (
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}},
        True,
    ),
    "other namespaces": (
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}},
        False,
    ),
}


@pytest.mark.parametrize(("fields", "is_asked"), SELECTED.values(), ids=SELECTED)
async def test_rules_and_selectors_choose(
    api: ApiUnderTest, hook: WebhookServer, fields: Doc, *, is_asked: bool
) -> None:
    await validating(api, hook, **fields)
    assert (await api.post(MAPS, a_map(a="b"))).code == 201
    assert len(hook.asked) == is_asked


async def test_its_own_configuration_is_never_asked_about(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    await validating(api, hook, rule=rule)
    hook.respond = lambda _: {"allowed": False}
    assert (await api.post(MAPS, a_map())).code == 400
    assert (await api.delete(f"{VALIDATING}/one")).code == 200
    assert (await api.post(MAPS, a_map())).code == 201


async def test_a_dry_run_says_so(api: ApiUnderTest, hook: WebhookServer) -> None:
    await mutating(api, hook)
    hook.respond = labelling("added")
    answer = await api.post(f"{MAPS}?dryRun=All", a_map())
    assert hook.asked[0]["dryRun"] is True
    assert answer.doc["metadata"]["labels"] == {"added": "yes"}
    assert (await api.get(f"{MAPS}/m")).code == 404


FAILURES: dict[str, tuple[web.Response | None, str]] = {
    "another uid": (
        web.json_response(
            {
                "kind": "AdmissionReview",
                "apiVersion": "admission.k8s.io/v1",
                "response": {"uid": "other", "allowed": True},
            }
        ),
        'received invalid webhook response: expected response.uid="',
    ),
    "no response": (
        web.json_response({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}),
        "received invalid webhook response: webhook response was absent",
    ),
    "another kind": (
        web.json_response({"kind": "Pod", "apiVersion": "v1"}),
        "received invalid webhook response: expected webhook response of "
        "admission.k8s.io/v1, Kind=AdmissionReview, got v1, Kind=Pod",
    ),
    "no JSON": (web.Response(text="hello"), "received invalid webhook response: "),
    "an error": (
        web.Response(status=500, text="ouch"),
        'failed to call webhook: an error on the server ("ouch") has prevented the request from '
        "succeeding",
    ),
    "not found": (
        web.Response(status=404),
        "failed to call webhook: the server could not find the requested resource",
    ),
    "somewhere else": (
        web.Response(status=302, headers={"Location": "https://127.0.0.1:1/"}),
        "failed to call webhook: the server rejected our request for an unknown reason "
        "(status 302)",
    ),
}


@pytest.mark.parametrize(("raw", "text"), FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_a_wrong_answer_fails_the_write_or_is_ignored(
    api: ApiUnderTest, hook: WebhookServer, policy: str, raw: web.Response, text: str
) -> None:
    await validating(api, hook, failurePolicy=policy)
    hook.raw = web.Response(status=raw.status, body=raw.body, headers=raw.headers)
    answer = await api.post(MAPS, a_map())
    if policy == "Ignore":
        assert answer.code == 201, answer.doc
        return
    assert (answer.code, answer.doc["reason"]) == (500, "InternalError")
    begin = 'Internal error occurred: failed calling webhook "one.example.com": '
    assert answer.doc["message"].startswith(begin + text), answer.doc["message"]


async def test_nobody_listens(api: ApiUnderTest, hook: WebhookServer) -> None:
    client = {**hook.by_url, "url": "https://127.0.0.1:1/check"}
    await register(api, configuration(client))
    answer = await api.post(MAPS, a_map())
    assert answer.doc["message"] == (
        'Internal error occurred: failed calling webhook "one.example.com": failed to call '
        'webhook: Post "https://127.0.0.1:1/check?timeout=10s": dial tcp 127.0.0.1:1: connect: '
        "connection refused"
    )


async def test_a_certificate_of_somebody_else(api: ApiUnderTest, hook: WebhookServer) -> None:
    await register(api, configuration({"url": hook.by_url["url"]}))
    answer = await api.post(MAPS, a_map())
    assert answer.code == 500
    assert answer.doc["message"].endswith(
        "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    )


async def test_one_that_hangs_is_given_its_time_and_holds_nobody_else(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    never = asyncio.Event()

    async def respond(_: Doc) -> Doc:
        await never.wait()
        return {"allowed": True}

    hook.respond = respond
    await validating(api, hook, timeoutSeconds=1)
    waiting = asyncio.ensure_future(api.post(MAPS, a_map()))
    while not hook.asked:
        await asyncio.wait([waiting], timeout=0.01)
    secret = {"metadata": {"name": "other"}}
    assert (await api.post("/api/v1/namespaces/default/secrets", secret)).code == 201
    assert not waiting.done()
    answer = await waiting
    assert answer.doc["message"].endswith("context deadline exceeded")
    never.set()


async def test_one_that_writes_what_it_is_asked_about_spends_its_own_time_only(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    """Each question leads to the next, until the first one's time is over."""

    async def respond(request: Doc) -> Doc:
        await api.post(MAPS, a_map(f"{request['name']}x"))
        return {"allowed": True}

    hook.respond = respond
    await validating(api, hook, timeoutSeconds=1)
    waiting = asyncio.ensure_future(api.post(MAPS, a_map()))
    while len(hook.asked) < MOST_PER_HOST and not waiting.done():
        await asyncio.wait([waiting], timeout=0.01)
    secret = {"metadata": {"name": "other"}}
    assert (await api.post("/api/v1/namespaces/default/secrets", secret)).code == 201
    answer = await waiting
    assert answer.code == 500
    assert answer.doc["message"].endswith("context deadline exceeded")
    hook.respond = lambda _: {"allowed": True}
    assert (await api.post(MAPS, a_map("after"))).code == 201


async def test_the_path_of_a_service_may_be_empty(api: ApiUnderTest, hook: WebhookServer) -> None:
    client = hook.by_service
    client["service"]["path"] = ""
    await register(api, configuration(client))
    said = (await api.post(MAPS, a_map())).doc["message"]
    assert said.endswith(
        'Post "https://hook.default.svc:443?timeout=10s": service "hook" not found'
    )


async def test_a_service_is_resolved_to_a_ready_pod(api: ApiUnderTest, hook: WebhookServer) -> None:
    await register(api, configuration(hook.by_service))
    said = (await api.post(MAPS, a_map())).doc["message"]
    assert said.endswith(
        'Post "https://hook.default.svc:443/check?timeout=10s": service "hook" not found'
    )
    ports = [{"port": 443, "targetPort": "tls"}]
    spec = {"selector": {"app": "hook"}, "ports": ports}
    service = {"metadata": {"name": SERVICE}, "spec": spec}
    answer = await api.post("/api/v1/namespaces/default/services", service)
    assert answer.code == 201, answer.doc
    said = (await api.post(MAPS, a_map())).doc["message"]
    assert said.endswith('no endpoints available for service "hook"')
    await a_ready_pod(api, hook.port)
    assert (await api.post(MAPS, a_map())).code == 201
    assert len(hook.asked) == 1


async def a_ready_pod(api: ApiUnderTest, port: int) -> None:
    where = "/api/v1/namespaces/default/pods"
    container = {
        "name": "c",
        "image": "i",
        "ports": [{"name": "tls", "containerPort": port}],
    }
    pod = {
        "metadata": {"name": "p", "labels": {"app": "hook"}},
        "spec": {"containers": [container], "nodeName": "n"},
    }
    answer = await api.post(where, pod)
    assert answer.code == 201, answer.doc
    ready = {"type": "Ready", "status": "True"}
    status = {"phase": "Running", "podIP": "127.0.0.1", "conditions": [ready]}
    answer = await api.patch(f"{where}/p/status", {"status": status})
    assert answer.code == 200, answer.doc


async def test_what_was_written_meanwhile_is_decided_anew(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await api.post(MAPS, a_map())
    seen: list[str] = []

    async def respond(request: Doc) -> Doc:
        seen.append(json.dumps(request["oldObject"]["data"]))
        if len(seen) == 1:
            answer = await api.patch(f"{MAPS}/m", {"data": {"other": "x"}})
            assert answer.code == 200
        return {"allowed": True}

    hook.respond = respond
    only = {"matchLabels": {"asked": "yes"}}
    await validating(api, hook, objectSelector=only)
    answer = await api.patch(
        f"{MAPS}/m", {"metadata": {"labels": {"asked": "yes"}}, "data": {"mine": "1"}}
    )
    assert answer.code == 200
    assert answer.doc["data"] == {"a": "1", "mine": "1", "other": "x"}
    assert seen == ['{"a": "1"}', '{"a": "1", "other": "x"}']


async def test_many_at_once(api: ApiUnderTest, hook: WebhookServer) -> None:
    await mutating(api, hook)
    hook.respond = labelling("added")
    answers = await asyncio.gather(*(api.post(MAPS, a_map(f"m{n}")) for n in range(100)))
    assert {answer.code for answer in answers} == {201}
    assert all(answer.doc["metadata"]["labels"] == {"added": "yes"} for answer in answers)


INVALID: dict[str, tuple[Doc, str]] = {
    "no side effects told": (
        {"sideEffects": None},
        "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
    ),
    "no version of reviews": (
        {"admissionReviewVersions": []},
        "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
    ),
    "no known version": (
        {"admissionReviewVersions": ["v2"]},
        'webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: must include at least one of '
        "v1, v1beta1",
    ),
    "too much time": (
        {"timeoutSeconds": 31},
        "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and "
        "30 seconds",
    ),
    "a short name": (
        {"name": "a.b"},
        'webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments '
        "separated by dots",
    ),
    "nowhere": (
        {"clientConfig": {}},
        "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
    ),
    "plain HTTP": (
        {"clientConfig": {"url": "http://x/y"}},
        "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL "
        "scheme; desired format: https://host[/path]",
    ),
    "all groups and one": (
        {"rules": [{**ALL_MAPS, "apiGroups": ["*", "apps"], "resources": ["pods"]}]},
        'webhooks[0].rules[0].apiGroups: Invalid value: ["*","apps"]: if \'*\' is present, must '
        "not specify other API groups",
    ),
}


@pytest.mark.parametrize(("fields", "text"), INVALID.values(), ids=INVALID)
async def test_configurations_that_cannot_be(api: ApiUnderTest, fields: Doc, text: str) -> None:
    doc = configuration({"url": "https://127.0.0.1/x"})
    doc["webhooks"][0].update(fields)
    answer = await api.post(VALIDATING, doc)
    assert answer.code == 422
    assert text in answer.doc["message"], answer.doc["message"]


CONDITIONS: dict[str, tuple[str, int, int]] = {
    "holds": ("object.metadata.name == 'm'", 201, 1),
    "does not hold": ("object.metadata.name != 'm'", 201, 0),
    "fails": ("object.none == 'x'", 403, 0),
}


@pytest.mark.parametrize(("expression", "code", "asked"), CONDITIONS.values(), ids=CONDITIONS)
async def test_it_is_asked_only_if_its_conditions_hold(
    api: ApiUnderTest, hook: WebhookServer, expression: str, code: int, asked: int
) -> None:
    conditions = [{"name": "c", "expression": expression}]
    await validating(api, hook, matchConditions=conditions)
    assert (await api.post(MAPS, a_map())).code == code
    assert len(hook.asked) == asked


# what may go, and who may write what, while a webhook is asked


class Gate:
    """A webhook that answers about creations when it is opened; all else is allowed at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.opened = asyncio.Event()

    async def respond(self, request: Doc) -> Doc:
        if request["name"] == "late" and request["operation"] == "CREATE":
            self.asked.set()
            await self.opened.wait()
        return {"allowed": True}


async def test_nothing_is_created_in_a_namespace_that_went_meanwhile(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await validating(api, hook, objectSelector={"matchLabels": {"asked": "yes"}})
    await api.post("/api/v1/namespaces", {"metadata": {"name": "going"}})
    gate = Gate()
    hook.respond = gate.respond
    maps = "/api/v1/namespaces/going/configmaps"
    creation = asyncio.create_task(api.post(maps, a_map("late", asked="yes")))
    async with asyncio.timeout(30):
        await gate.asked.wait()
    await api.delete("/api/v1/namespaces/going")
    await settle()
    assert (await api.get("/api/v1/namespaces/going")).code == 404
    gate.opened.set()
    refused = await creation
    assert refused.code == 404, refused.text
    names = [
        each["metadata"]["name"] for each in (await api.get("/api/v1/configmaps")).doc["items"]
    ]
    assert "late" not in names


async def test_nothing_is_created_of_a_kind_whose_definition_went_meanwhile(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await validating(api, hook, rule={"apiGroups": ["example.com"], "resources": ["widgets"]})
    await define(api)
    gate = Gate()
    hook.respond = gate.respond
    creation = asyncio.create_task(api.post(WIDGETS, a_widget("late")))
    async with asyncio.timeout(30):
        await gate.asked.wait()
    await api.delete(f"{DEFINITIONS}/widgets.example.com")
    await settle()
    gate.opened.set()
    refused = await creation
    assert refused.code == 404, refused.text
    await define(api)
    assert (await api.get(WIDGETS)).doc["items"] == []


async def test_a_webhook_writes_no_status_beside_the_object(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api)
    await mutating(api, hook, rule={"apiGroups": ["*"], "resources": ["*"]})
    said = (
        {"op": "add", "path": "/status", "value": {"phase": "Bound"}},
        {"op": "add", "path": "/metadata/generation", "value": 77},
    )
    hook.respond = lambda _: patched(*said)
    made = await api.post(WIDGETS, a_widget())
    assert made.code == 201, made.text
    assert "status" not in made.doc
    assert made.doc["metadata"]["generation"] == 1
    changed = await api.patch(f"{WIDGETS}/w", {"metadata": {"labels": {"a": "b"}}})
    assert "status" not in changed.doc, changed.text
    assert changed.doc["metadata"]["generation"] == 1
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = await api.post(claims, {"metadata": {"name": "c"}, "spec": spec})
    assert claim.doc["status"] == {"phase": "Pending"}, claim.text


async def test_a_webhook_writes_nothing_beside_the_status(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await define(api)
    await api.post(WIDGETS, a_widget())
    await mutating(api, hook, rule={"apiGroups": ["*"], "resources": ["widgets/status"]})
    hook.respond = lambda _: patched({"op": "add", "path": "/spec/size", "value": -5})
    changed = await api.patch(f"{WIDGETS}/w/status", {"status": {"a": "b"}})
    assert changed.code == 200, changed.text
    assert (changed.doc["spec"]["size"], changed.doc["status"]) == (3, {"a": "b"})


async def test_a_webhook_that_takes_the_metadata_away_changes_no_name(
    api: ApiUnderTest, hook: WebhookServer
) -> None:
    await mutating(api, hook)
    hook.respond = lambda _: patched({"op": "remove", "path": "/metadata"})
    made = await api.post(MAPS, a_map())
    assert (made.code, made.doc["metadata"]["name"]) == (201, "m"), made.text
    changed = await api.patch(f"{MAPS}/m", {"data": {"a": "2"}})
    assert changed.code == 422, changed.text


def test_a_server_starts_under_a_webhook_that_refuses_everything(
    own_api_server: RealServer,
) -> None:
    nobody = {"url": "https://127.0.0.1:1/check"}
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    made = own_api_server.ask("POST", VALIDATING, configuration(nobody, rule=everything))
    assert made.code == 201, made.body
    name = "system:public-info-viewer"  # which the next start misses
    path = f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{name}"
    assert own_api_server.ask("DELETE", path).code == 500
    assert own_api_server.ask("DELETE", f"{VALIDATING}/one").code == 200
    assert own_api_server.ask("DELETE", path).code == 200
    again = own_api_server.ask("POST", VALIDATING, configuration(nobody, rule=everything))
    assert again.code == 201, again.body
    own_api_server.kill()
    own_api_server.start()
    assert own_api_server.ask("GET", path).code == 404
    taken = own_api_server.ask("DELETE", f"{VALIDATING}/one")
    assert taken.code == 200, taken.body
