from dataclasses import replace
from typing import Any

import msgspec
import pytest

from mooring.apiserver.api.discovery import AGGREGATED_TYPE, Discovery, plain
from mooring.apiserver.kinds.contract import READ_WRITE
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.request.negotiation import DiscoveryForm
from tests.unit.apiserver.small_api import BROKEN, SNAPSHOT, small_kinds

ADDRESS = "127.0.0.1:6443"
ALL = list(READ_WRITE)


@pytest.fixture
def discovery() -> Discovery:
    return Discovery(small_kinds(), ADDRESS)


def read(discovery: Discovery, path: str, form: DiscoveryForm = DiscoveryForm.PLAIN) -> Any:
    published = discovery.find(path, form)
    assert published
    return msgspec.json.decode(published.body)


def test_the_core_versions(discovery: Discovery) -> None:
    assert read(discovery, "/api") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ADDRESS}],
    }


def test_the_groups_leave_out_the_core(discovery: Discovery) -> None:
    groups = read(discovery, "/apis")
    assert (groups["kind"], groups["apiVersion"]) == ("APIGroupList", "v1")
    assert [group["name"] for group in groups["groups"]] == [
        "storage.k8s.io",
        "snapshot.storage.k8s.io",
        "authentication.k8s.io",
    ]


def test_a_group_alone_is_its_entry_of_the_list(discovery: Discovery) -> None:
    version = {"groupVersion": "storage.k8s.io/v1", "version": "v1"}
    assert read(discovery, "/apis/storage.k8s.io") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "storage.k8s.io",
        "versions": [version],
        "preferredVersion": version,
    }


def test_the_stable_version_is_preferred() -> None:
    beta = replace(SNAPSHOT, version="v1beta1")
    group = plain(Kinds((beta, SNAPSHOT)), "/apis/snapshot.storage.k8s.io", ADDRESS)
    assert group
    assert group["preferredVersion"]["version"] == "v1"
    assert [version["version"] for version in group["versions"]] == ["v1", "v1beta1"]


def test_the_resources_of_the_core(discovery: Discovery) -> None:
    resources = read(discovery, "/api/v1")
    assert resources["kind"] == "APIResourceList"
    assert "apiVersion" not in resources  # the oldest list of all does without
    assert resources["groupVersion"] == "v1"
    assert resources["resources"] == [
        {
            "name": "pods",
            "singularName": "pod",
            "namespaced": True,
            "kind": "Pod",
            "verbs": ALL,
            "shortNames": ["po"],
            "categories": ["all"],
        },
        {
            "name": "pods/eviction",
            "singularName": "",
            "namespaced": True,
            "group": "policy",
            "version": "v1",
            "kind": "Eviction",
            "verbs": ["create"],
        },
        {
            "name": "pods/exec",
            "singularName": "",
            "namespaced": True,
            "kind": "PodExecOptions",
            "verbs": ["create", "get"],
        },
        {
            "name": "pods/log",
            "singularName": "",
            "namespaced": True,
            "kind": "Pod",
            "verbs": ["get"],
        },
        {
            "name": "pods/status",
            "singularName": "",
            "namespaced": True,
            "kind": "Pod",
            "verbs": ["get", "patch", "update"],
        },
        {
            "name": "secrets",
            "singularName": "secret",
            "namespaced": True,
            "kind": "Secret",
            "verbs": ALL,
        },
    ]


def test_the_resources_of_a_group(discovery: Discovery) -> None:
    resources = read(discovery, "/apis/storage.k8s.io/v1")
    assert resources["groupVersion"] == "storage.k8s.io/v1"
    assert [entry["name"] for entry in resources["resources"]] == ["storageclasses"]
    assert resources["resources"][0]["namespaced"] is False


MISSING = {
    "a group that is not there": "/apis/apps",
    "a version that is not there": "/apis/storage.k8s.io/v2",
    "a core version that is not there": "/api/v2",
    "the core as a group": "/apis//v1",
    "something deeper": "/apis/storage.k8s.io/v1/storageclasses",
}


@pytest.mark.parametrize("path", MISSING.values(), ids=MISSING)
def test_nothing_there(discovery: Discovery, path: str) -> None:
    assert discovery.find(path) is None


def test_the_core_aggregated(discovery: Discovery) -> None:
    document = read(discovery, "/api", DiscoveryForm.AGGREGATED)
    assert document["kind"] == "APIGroupDiscoveryList"
    assert document["apiVersion"] == "apidiscovery.k8s.io/v2"
    [core] = document["items"]
    assert core["metadata"] == {}
    [version] = core["versions"]
    assert (version["version"], version["freshness"]) == ("v1", "Current")
    pods = version["resources"][0]
    eviction = {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert pods.pop("subresources")[0] == {
        "subresource": "eviction",
        "responseKind": eviction,
        "verbs": ["create"],
    }
    assert pods == {
        "resource": "pods",
        "responseKind": {"group": "", "version": "", "kind": "Pod"},
        "scope": "Namespaced",
        "singularResource": "pod",
        "verbs": ALL,
        "shortNames": ["po"],
        "categories": ["all"],
    }
    assert "subresources" not in version["resources"][1]


def test_the_groups_aggregated(discovery: Discovery) -> None:
    document = read(discovery, "/apis", DiscoveryForm.AGGREGATED)
    assert [item["metadata"]["name"] for item in document["items"]] == [
        "storage.k8s.io",
        "snapshot.storage.k8s.io",
        "authentication.k8s.io",
    ]
    assert document["items"][0]["versions"][0]["resources"][0]["scope"] == "Cluster"


def test_the_two_forms_tell_caches_that_they_differ(discovery: Discovery) -> None:
    one = discovery.find("/apis")
    other = discovery.find("/apis", DiscoveryForm.AGGREGATED)
    assert one
    assert other
    assert one.content_type == "application/json"
    assert other.content_type == AGGREGATED_TYPE
    assert one.etag != other.etag


def test_only_the_roots_are_aggregated(discovery: Discovery) -> None:
    assert read(discovery, "/api/v1", DiscoveryForm.AGGREGATED)["kind"] == "APIResourceList"


def test_documents_are_kept_until_a_kind_joins() -> None:
    kinds = small_kinds()
    discovery = Discovery(kinds, ADDRESS)
    before = discovery.find("/apis")
    assert discovery.find("/apis") is before
    assert discovery.find("/apis/broken.example.com") is None
    kinds.add(BROKEN)
    after = discovery.find("/apis")
    assert after
    assert before
    assert after.etag != before.etag
    assert discovery.find("/apis/broken.example.com")
