"""Names, in bodies and in paths: who may be called what, and that no name leads elsewhere."""

import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.api.answers import causes, message, refusal
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    CLASSES,
    CONFIG_MAPS,
    EVENTS,
    NAMESPACES,
    PODS,
    SECRETS,
    a_class,
    a_config_map,
    a_namespace,
    a_pod,
    a_secret,
    an_event,
)

Doc = dict[str, Any]

SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"

BAD_NAMES = {
    "letters that are no DNS letters": (CONFIG_MAPS, a_config_map("Bad_Name"), "RFC 1123"),
    "254 characters": (
        CONFIG_MAPS,
        a_config_map("a" * 254),
        "must be no more than 253 characters",
    ),
    "a way out of the folder": (CONFIG_MAPS, a_config_map("../etc"), "RFC 1123"),
    "a slash": (CONFIG_MAPS, a_config_map("a/b"), "RFC 1123"),
    "a namespace with a dot": (NAMESPACES, a_namespace("a.b"), "must not contain dots"),
    "a namespace of 64 characters": (
        NAMESPACES,
        a_namespace("a" * 64),
        "must be no more than 63 characters",
    ),
    "a dot at the end": (CLASSES, a_class("fast."), "RFC 1123 subdomain"),
    "an event with a slash": (EVENTS, an_event("a/b"), "may not contain '/'"),
    "an event with a percent sign": (EVENTS, an_event("a%b"), "may not contain '%'"),
}


@pytest.mark.parametrize(("url", "doc", "said"), BAD_NAMES.values(), ids=BAD_NAMES)
async def test_a_bad_name_is_refused(api: ApiUnderTest, url: str, doc: Doc, said: str) -> None:
    answer = await api.post(url, doc)
    assert refusal(answer) == (422, "Invalid")
    assert causes(answer)[0] == ("FieldValueInvalid", "metadata.name")
    assert said in message(answer)


GOOD_NAMES = {
    "253 characters": (CONFIG_MAPS, a_config_map("a" * 253)),
    "dots and dashes": (CONFIG_MAPS, a_config_map("kube-root-ca.crt.2")),
    "a namespace of 63 characters": (NAMESPACES, a_namespace("a" * 63)),
    "an event with capitals, dots, underscores": (EVENTS, an_event("Node_1.17a6B")),
    "a storage class with a number in front": (CLASSES, a_class("2nd")),
}


@pytest.mark.parametrize(("url", "doc"), GOOD_NAMES.values(), ids=GOOD_NAMES)
async def test_a_good_name_is_kept(api: ApiUnderTest, url: str, doc: Doc) -> None:
    answer = await api.post(url, doc)
    assert answer.code == 201, answer.text
    name = doc["metadata"]["name"]
    assert (await api.get(f"{url}/{name}")).doc["metadata"]["name"] == name


ASTRAY = {
    "up one level": (f"{CONFIG_MAPS}/%2e%2e", 400),
    "out of the collection, into the secrets": (f"{CONFIG_MAPS}/..%2f..%2fsecrets", 404),
    "a slash within a name": (f"{CONFIG_MAPS}/..%2f..%2fsecrets%2fpassword", 404),
    "a dot": (f"{CONFIG_MAPS}/%2e", 400),
    "plain dots": (f"{CONFIG_MAPS}/..", 400),
    "another namespace by an encoded slash": (
        "/api/v1/namespaces/x%2f..%2fdefault/secrets/password",
        404,
    ),
    "two slashes": ("/api/v1/namespaces/default//secrets/password", 404),
    "a NUL": (f"{SECRETS}/password%00", 404),
    "capitals": (f"{SECRETS}/PASSWORD", 404),
}


@pytest.mark.parametrize(("url", "code"), ASTRAY.values(), ids=ASTRAY)
async def test_no_path_leads_to_another_object(api: ApiUnderTest, url: str, code: int) -> None:
    await api.post(SECRETS, a_secret("password"))
    answer = await api.get(url)
    assert answer.code == code
    assert "dmFsdWU=" not in answer.text


async def test_dots_are_named_in_the_refusal(api: ApiUnderTest) -> None:
    answer = await api.get(f"{CONFIG_MAPS}/%2e%2e")
    assert message(answer) == "Name parameter invalid: \"..\": may not be '..'"


def a_prefix(prefix: str) -> Doc:
    doc = a_config_map()
    doc["metadata"] = {"generateName": prefix}
    return doc


GENERATED = {
    "a prefix with a dash": ("gn-", f"gn-{SUFFIX}"),
    "a prefix without a dash": ("gn", f"gn{SUFFIX}"),
    "a long prefix is cut to 58 characters": ("a" * 70, f"{'a' * 58}{SUFFIX}"),
}


@pytest.mark.parametrize(("prefix", "pattern"), GENERATED.values(), ids=GENERATED)
async def test_the_server_completes_a_prefix(api: ApiUnderTest, prefix: str, pattern: str) -> None:
    metadata = (await api.post(CONFIG_MAPS, a_prefix(prefix))).doc["metadata"]
    assert re.fullmatch(pattern, metadata["name"])
    assert metadata["generateName"] == prefix
    assert (await api.get(f"{CONFIG_MAPS}/{metadata['name']}")).code == 200


async def test_a_name_wins_over_a_prefix(api: ApiUnderTest) -> None:
    doc = a_config_map("chosen")
    doc["metadata"]["generateName"] = "gn-"
    metadata = (await api.post(CONFIG_MAPS, doc)).doc["metadata"]
    assert (metadata["name"], metadata["generateName"]) == ("chosen", "gn-")


async def test_a_bad_prefix_is_refused(api: ApiUnderTest) -> None:
    answer = await api.post(CONFIG_MAPS, a_prefix("Bad_"))
    assert refusal(answer) == (422, "Invalid")
    assert ("FieldValueInvalid", "metadata.generateName") in causes(answer)


async def test_neither_name_nor_prefix_is_refused(api: ApiUnderTest) -> None:
    answer = await api.post(PODS, a_pod() | {"metadata": {}})
    assert refusal(answer) == (422, "Invalid")
    assert "metadata.name: Required value: name or generateName is required" in message(answer)


def draw(api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch, suffixes: Iterator[str]) -> None:
    """Let these be the suffixes of generated names."""

    def choices(_: random.Random, letters: Sequence[str], *, k: int) -> list[str]:
        return list(next(suffixes))

    monkeypatch.setattr(type(api.parts.backend.rng), "choices", choices)


async def test_a_generated_name_that_is_taken_is_drawn_again(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw(api, monkeypatch, iter(["bbbbb", "bbbbb", "bbbbb", "ccccc"]))
    first = await api.post(NAMESPACES, a_namespace() | {"metadata": {"generateName": "gn-"}})
    second = await api.post(NAMESPACES, a_namespace() | {"metadata": {"generateName": "gn-"}})
    assert first.doc["metadata"]["name"] == "gn-bbbbb"
    assert second.doc["metadata"]["name"] == "gn-ccccc"
    assert second.doc["metadata"]["labels"] == {"kubernetes.io/metadata.name": "gn-ccccc"}


async def test_after_eight_taken_names_the_client_is_told_to_try_again(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter(["bbbbb"] * 9 + ["ccccc"])
    draw(api, monkeypatch, drawn)
    await api.post(CONFIG_MAPS, a_prefix("gn-"))
    answer = await api.post(CONFIG_MAPS, a_prefix("gn-"))
    assert refusal(answer) == (409, "AlreadyExists")
    assert "the server was not able to generate a unique name" in message(answer)
    assert answer.doc["details"]["retryAfterSeconds"] == 1
    assert answer.header("Retry-After") == "1"
    assert next(drawn) == "ccccc"  # one draw for the first object, eight for the second
