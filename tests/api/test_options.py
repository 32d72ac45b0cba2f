"""Query parameters and DeleteOptions: what a write can be asked to do."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.api.answers import causes, message, refusal
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import CONFIG_MAPS, a_config_map

Doc = dict[str, Any]

LONG = "m" * 129

BAD: dict[str, tuple[str, str, str]] = {
    "an unknown way to validate fields": (
        "fieldValidation=bogus",
        "FieldValueNotSupported",
        'fieldValidation: Unsupported value: "bogus": '
        'supported values: "", "Ignore", "Strict", "Warn"',
    ),
    "half a dry run": (
        "dryRun=Some",
        "FieldValueNotSupported",
        'dryRun: Unsupported value: ["Some"]: supported values: "All"',
    ),
    "one dry run of two": (
        "dryRun=All&dryRun=Some",
        "FieldValueNotSupported",
        'dryRun: Unsupported value: ["All","Some"]: supported values: "All"',
    ),
    "an empty dry run": (
        "dryRun=",
        "FieldValueNotSupported",
        'dryRun: Unsupported value: [""]: supported values: "All"',
    ),
    "a field manager of 129 bytes": (
        f"fieldManager={LONG}",
        "FieldValueTooLong",
        "fieldManager: Too long: may not be more than 128 bytes",
    ),
    "a field manager of 65 characters in 130 bytes": (
        f"fieldManager={quote('ä' * 65)}",
        "FieldValueTooLong",
        "fieldManager: Too long: may not be more than 128 bytes",
    ),
    "a field manager with a newline": (
        "fieldManager=%C3%A4%0Ab",
        "FieldValueInvalid",
        'fieldManager: Invalid value: "ä\\nb": invalid character U+000A (at position 2)',
    ),
}

WRITES: dict[str, tuple[str, str, Doc | None, str]] = {
    "create": ("POST", CONFIG_MAPS, a_config_map("new"), "CreateOptions"),
    "update": ("PUT", f"{CONFIG_MAPS}/x", a_config_map("x"), "UpdateOptions"),
    "patch": ("PATCH", f"{CONFIG_MAPS}/x", {"data": {"a": "b"}}, "PatchOptions"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize(("query", "reason", "said"), BAD.values(), ids=BAD)
async def test_a_write_cannot_be_asked_that(
    api: ApiUnderTest, query: str, reason: str, said: str, write: tuple[str, str, Doc | None, str]
) -> None:
    method, url, body, options = write
    await api.post(CONFIG_MAPS, a_config_map("x"))
    headers = {"content-type": "application/merge-patch+json"} if method == "PATCH" else {}
    answer = await api.ask(method, f"{url}?{query}", body, headers)
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer) == [(reason, said.partition(":")[0])]
    assert message(answer) == f'{options}.meta.k8s.io "" is invalid: {said}'
    assert answer.doc["details"]["kind"] == options


GOOD = {
    "all of it, dry": "dryRun=All&dryRun=All",
    "a field manager of 128 bytes": f"fieldManager={'m' * 128}",
    "ignoring fields": "fieldValidation=Ignore",
    "an empty way to validate fields": "fieldValidation=",
    "a timeout": "timeout=32s",
    "a timeout in parts": "timeout=1m30.5s",
    "pretty": "pretty=true",
    "what nobody knows": "colour=blue",
}


@pytest.mark.parametrize("query", GOOD.values(), ids=GOOD)
async def test_a_write_can_be_asked_that(api: ApiUnderTest, query: str) -> None:
    assert (await api.post(f"{CONFIG_MAPS}?{query}", a_config_map("x"))).code == 201


@pytest.mark.parametrize("text", ["soon", "5", "5x", "-"])
async def test_a_timeout_is_a_duration(api: ApiUnderTest, text: str) -> None:
    answer = await api.post(f"{CONFIG_MAPS}?timeout={text}", a_config_map("x"))
    assert refusal(answer) == (400, "BadRequest")
    assert message(answer).startswith("invalid timeout specified in the request URL - ")


@pytest.mark.parametrize(
    "media", ["merge-patch+json", "json-patch+json", "strategic-merge-patch+json"]
)
async def test_only_an_apply_can_be_forced(api: ApiUnderTest, media: str) -> None:
    await api.post(CONFIG_MAPS, a_config_map("x"))
    body: Any = [] if media == "json-patch+json" else {}
    answer = await api.patch(f"{CONFIG_MAPS}/x?force=true", body, media)
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer) == [("FieldValueForbidden", "force")]
    assert "force: Forbidden: may not be specified for non-apply patch" in message(answer)


BAD_DELETIONS: dict[str, tuple[str, Any, tuple[int, str], str]] = {
    "an unknown propagation policy": (
        "",
        {"propagationPolicy": "Weird"},
        (422, "Invalid"),
        'propagationPolicy: Unsupported value: "Weird": '
        'supported values: "Foreground", "Background", "Orphan", "nil"',
    ),
    "an unknown propagation policy in the query": (
        "?propagationPolicy=Weird",
        None,
        (422, "Invalid"),
        'propagationPolicy: Unsupported value: "Weird"',
    ),
    "two words about dependents": (
        "",
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        (422, "Invalid"),
        "orphanDependents and deletionPropagation cannot be both set",
    ),
    "half a dry run": (
        "",
        {"dryRun": ["Some"]},
        (422, "Invalid"),
        'dryRun: Unsupported value: ["Some"]: supported values: "All"',
    ),
    "half a dry run in the query": (
        "?dryRun=Some",
        None,
        (422, "Invalid"),
        'dryRun: Unsupported value: ["Some"]: supported values: "All"',
    ),
    "a grace that is no number": (
        "?gracePeriodSeconds=soon",
        None,
        (400, "BadRequest"),
        'strconv.ParseInt: parsing "soon": invalid syntax',
    ),
    "broken JSON": ("", b"{", (400, "BadRequest"), "json parse error"),
    "a grace in words": (
        "",
        {"gracePeriodSeconds": "ten"},
        (400, "BadRequest"),
        "cannot unmarshal string",
    ),
    "another kind": (
        "",
        {"kind": "Pod", "apiVersion": "v1"},
        (400, "BadRequest"),
        'no kind "Pod" is registered for version "v1" in scheme',
    ),
}


@pytest.mark.parametrize(
    ("query", "body", "expected", "said"), BAD_DELETIONS.values(), ids=BAD_DELETIONS
)
async def test_a_deletion_cannot_be_asked_that(
    api: ApiUnderTest, query: str, body: Any, expected: tuple[int, str], said: str
) -> None:
    await api.post(CONFIG_MAPS, a_config_map("x"))
    answer = await api.delete(f"{CONFIG_MAPS}/x{query}", body)
    assert refusal(answer) == expected
    assert said in message(answer)
    assert (await api.get(f"{CONFIG_MAPS}/x")).code == 200


GOOD_DELETIONS: dict[str, tuple[str, Any, str]] = {
    "no body": ("", None, ""),
    "an empty object": ("", {}, ""),
    "options that say what they are": ("", {"kind": "DeleteOptions", "apiVersion": "v1"}, ""),
    "options of the group": (
        "",
        {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"},
        "",
    ),
    "a negative grace": ("", {"gracePeriodSeconds": -1}, ""),
    "options in protobuf": (
        "",
        b"k8s\x00\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions\x12\x02\x08\x00",
        "application/vnd.kubernetes.protobuf",
    ),
    "options in YAML": ("", b"propagationPolicy: Background\n", "application/yaml"),
    "a body beside a query that would be refused": ("?propagationPolicy=Weird", {}, ""),
}


@pytest.mark.parametrize(("query", "body", "media"), GOOD_DELETIONS.values(), ids=GOOD_DELETIONS)
async def test_a_deletion_can_be_asked_that(
    api: ApiUnderTest, query: str, body: Any, media: str
) -> None:
    await api.post(CONFIG_MAPS, a_config_map("x"))
    headers = {"content-type": media} if media else {}
    answer = await api.ask("DELETE", f"{CONFIG_MAPS}/x{query}", body, headers)
    assert answer.code == 200, answer.text
    assert (await api.get(f"{CONFIG_MAPS}/x")).code == 404
