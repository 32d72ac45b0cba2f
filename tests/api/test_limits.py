"""Limits of one request: what is refused, in which words, and what just fits."""

import json
from typing import Any

import pytest

from mooring.apiserver.limits.budgets import (
    MOST_ERRORS,
    MOST_OBJECT_BYTES,
    MOST_STREAMS,
    MOST_TERMS,
)
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import a_config_map

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"

Doc = dict[str, Any]


def a_map(size: int, name: str = "m") -> Doc:
    """A config map that takes about so many bytes; no single value of it is too long."""
    doc = a_config_map(name)
    doc["data"] = {"v": "x" * size}
    return doc


async def test_an_object_of_one_and_a_half_megabytes_is_the_largest(api: ApiUnderTest) -> None:
    node = {"metadata": {"name": "n", "annotations": {}}, "status": {}}
    assert (await api.post(NODES, node)).code == 201
    conditions = [{"type": "T", "status": "True", "message": "x" * 100_000}]
    for count in range(1, 16):
        grown = [{**conditions[0], "type": f"T{number}"} for number in range(count)]
        answer = await api.patch(f"{NODES}/n/status", {"status": {"conditions": grown}})
        assert answer.code == 200
    grown = [{**conditions[0], "type": f"T{number}"} for number in range(16)]
    answer = await api.patch(f"{NODES}/n/status", {"status": {"conditions": grown}})
    assert (answer.code, answer.doc["message"]) == (500, "etcdserver: request is too large")
    assert "reason" not in answer.doc
    stored = (await api.get(f"{NODES}/n")).body
    assert len(stored) <= MOST_OBJECT_BYTES + 100
    smaller = await api.patch(f"{NODES}/n/status", {"status": {"conditions": conditions}})
    assert smaller.code == 200


async def test_what_is_too_large_is_not_created_either(api: ApiUnderTest) -> None:
    pod = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i", "args": ["x" * 1_600_000]}]},
    }
    answer = await api.post(PODS, pod)
    assert (answer.code, answer.doc["message"]) == (500, "etcdserver: request is too large")


async def test_the_largest_object_can_still_be_deleted(api: ApiUnderTest) -> None:
    doc = a_map(1_000_000)
    doc["metadata"]["finalizers"] = ["a/b"]
    doc["metadata"]["annotations"] = {"a": "x" * 200_000}
    doc["data"]["w"] = "y" * 40_000
    doc["binaryData"] = {"b": ""}
    assert (await api.post(MAPS, doc)).code == 201
    assert (await api.delete(f"{MAPS}/m")).code == 200


async def test_errors_are_told_up_to_a_number(api: ApiUnderTest) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{}] * 4_000}}
    answer = await api.post(PODS, pod)
    assert answer.code == 422
    assert len(answer.doc["details"]["causes"]) == MOST_ERRORS
    assert answer.doc["message"].endswith(", and more]")
    assert len(answer.body) < 100_000


async def test_a_few_errors_are_all_told(api: ApiUnderTest) -> None:
    answer = await api.post(PODS, {"metadata": {"name": "p"}, "spec": {"containers": [{}] * 3}})
    fields = {cause["field"] for cause in answer.doc["details"]["causes"]}
    assert "spec.containers[2].image" in fields
    assert "and more" not in answer.doc["message"]


async def test_long_values_are_shown_by_their_beginning(api: ApiUnderTest) -> None:
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n" * 10_000, "controller": True}
    owners = [{**owner, "uid": str(number)} for number in range(50)]
    answer = await api.post(MAPS, {"metadata": {"name": "m", "ownerReferences": owners}})
    assert answer.code == 422
    assert "Only one reference can have Controller set to true" in answer.text
    assert len(answer.body) < 2_000_000


async def test_warnings_are_shortened_as_upstream_does(api: ApiUnderTest) -> None:
    body = {"metadata": {"name": "m"}} | {f"{number:03}" + "x" * 500: 1 for number in range(100)}
    answer = await api.post(f"{MAPS}?dryRun=All", body)
    assert answer.code == 201
    assert all(len(text) <= 256 for text in answer.warnings)
    assert len(answer.warnings) == 16


def terms(count: int) -> str:
    return ",".join(f"l{number}!=x" for number in range(count))


@pytest.mark.parametrize("verb", ["", "watch=1&"])
async def test_a_selector_has_so_many_terms(api: ApiUnderTest, verb: str) -> None:
    for selector in ("labelSelector", "fieldSelector"):
        names = terms(MOST_TERMS + 1)
        if selector == "fieldSelector":
            names = ",".join(f"metadata.name!={number}" for number in range(MOST_TERMS + 1))
        answer = await api.send("GET", f"{MAPS}?{verb}{selector}={names.replace('=', '%3D')}")
        assert answer.status == 400
    fits = await api.get(f"{MAPS}?labelSelector={terms(MOST_TERMS).replace('=', '%3D')}")
    assert fits.code == 200


async def test_values_of_a_term_are_as_many_as_fit_a_url(api: ApiUnderTest) -> None:
    await api.post(MAPS, a_config_map("m") | {"metadata": {"name": "m", "labels": {"a": "v999"}}})
    values = ",".join(f"v{number}" for number in range(2_000))
    answer = await api.get(f"{MAPS}?labelSelector=a+in+({values})")
    assert [item["metadata"]["name"] for item in answer.doc["items"]] == ["m"]


async def test_a_page_of_a_version_is_of_that_very_version(api: ApiUnderTest) -> None:
    for name in ("a", "b"):
        await api.post(MAPS, a_config_map(name))
    version = (await api.get(MAPS)).doc["metadata"]["resourceVersion"]
    await api.post(MAPS, a_config_map("aa"))
    exact = (await api.get(f"{MAPS}?limit=2&resourceVersion={version}")).doc
    assert [item["metadata"]["name"] for item in exact["items"]] == ["a", "b"]
    assert exact["metadata"]["resourceVersion"] == version
    rest = (await api.get(f"{MAPS}?limit=2&continue={exact['metadata']['continue']}")).doc
    assert [item["metadata"]["name"] for item in rest["items"]] == ["kube-root-ca.crt"]
    newer = (await api.get(f"{MAPS}?resourceVersion={version}")).doc
    assert len(newer["items"]) == 4, "without a limit, not older than asked for"
    match = f"limit=9&resourceVersion={version}&resourceVersionMatch=NotOlderThan"
    assert len((await api.get(f"{MAPS}?{match}")).doc["items"]) == 4
    assert len((await api.get(f"{MAPS}?limit=9&resourceVersion=0")).doc["items"]) == 4


async def test_watches_of_one_user_are_counted(api: ApiUnderTest) -> None:
    open_ones = [await api.watch(f"{MAPS}?watch=1") for _ in range(MOST_STREAMS)]
    refused = await api.ask("GET", f"{MAPS}?watch=1")
    assert (refused.code, refused.doc["reason"]) == (429, "TooManyRequests")
    assert refused.header("Retry-After") == "1"
    other = await api.send("GET", f"{MAPS}?watch=1", token=api.token_of("read-only"))
    assert other.status == 200
    open_ones.pop().end()
    await api.watch(f"{MAPS}?watch=1")
    assert (await api.get(MAPS)).code == 200


THROUGH_NODES = {
    "exec": f"{PODS}/p/exec?command=sh&stdin=true",
    "attach": f"{PODS}/p/attach?stdin=true",
    "portforward": f"{PODS}/p/portforward",
    "a log that is followed": f"{PODS}/p/log?follow=true",
    "pods/proxy": f"{PODS}/p/proxy/",
    "nodes/proxy": f"{NODES}/n/proxy/healthz",
}


@pytest.mark.parametrize("path", THROUGH_NODES.values(), ids=THROUGH_NODES)
async def test_streams_through_nodes_count_as_watches_do(api: ApiUnderTest, path: str) -> None:
    open_ones = [await api.watch(f"{MAPS}?watch=1") for _ in range(MOST_STREAMS)]
    refused = await api.ask("GET", path)
    assert (refused.code, refused.doc["reason"]) == (429, "TooManyRequests")
    assert refused.doc["message"].endswith(f"has {MOST_STREAMS} streams open")
    open_ones.pop().end()
    assert (await api.ask("GET", path)).code == 404, "there is no such pod or node"
    assert (await api.ask("GET", path)).code == 404, "what was refused is not open"


async def test_a_long_table_is_whole(api: ApiUnderTest) -> None:
    for number in range(400):
        await api.post(MAPS, a_config_map(f"m{number:03}", v="x" * 1000))
    form = "application/json;as=Table;g=meta.k8s.io;v=v1"
    answer = await api.ask("GET", f"{MAPS}?includeObject=Object", headers={"accept": form})
    table = json.loads(answer.body)
    assert len(table["rows"]) == 401
    assert table["rows"][-1]["object"]["metadata"]["name"] == "m399"


async def test_a_long_collection_is_deleted_whole(api: ApiUnderTest) -> None:
    for number in range(100):
        await api.post(MAPS, a_config_map(f"m{number:03}"))
    answer = await api.delete(MAPS)
    assert len(answer.doc["items"]) == 101
    left = (await api.get(MAPS)).doc["items"]
    assert [item["metadata"]["name"] for item in left] in ([], ["kube-root-ca.crt"])
