"""Discovery, version and health, as clients ask for them."""

from typing import Any

import pytest

from mooring.apiserver.kinds.registry import builtin
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import STORED

Doc = dict[str, Any]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
KUBECTL_130 = (
    f"{AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)
KUBECTL_126 = (
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)

STORED_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]

# group-version: plural, short names, scope, subresources
RESOURCES: dict[str, dict[str, tuple[str, str, list[str]]]] = {
    "api/v1": {
        "namespaces": ("ns", "cluster", ["finalize", "status"]),
        "pods": ("po", "namespace", ["attach", "binding", "exec", "log", "status"]),
        "podtemplates": ("", "namespace", []),
        "replicationcontrollers": ("rc", "namespace", ["scale", "status"]),
        "services": ("svc", "namespace", ["status"]),
        "endpoints": ("ep", "namespace", []),
        "resourcequotas": ("quota", "namespace", ["status"]),
        "limitranges": ("limits", "namespace", []),
        "nodes": ("no", "cluster", ["status"]),
        "persistentvolumes": ("pv", "cluster", ["status"]),
        "persistentvolumeclaims": ("pvc", "namespace", ["status"]),
        "secrets": ("", "namespace", []),
        "configmaps": ("cm", "namespace", []),
        "events": ("ev", "namespace", []),
        "serviceaccounts": ("sa", "namespace", ["token"]),
    },
    "apis/apps/v1": {
        "deployments": ("deploy", "namespace", ["scale", "status"]),
        "replicasets": ("rs", "namespace", ["scale", "status"]),
        "statefulsets": ("sts", "namespace", ["scale", "status"]),
        "daemonsets": ("ds", "namespace", ["status"]),
        "controllerrevisions": ("", "namespace", []),
    },
    "apis/storage.k8s.io/v1": {
        "storageclasses": ("sc", "cluster", []),
        "csidrivers": ("", "cluster", []),
        "csinodes": ("", "cluster", ["status"]),
        "volumeattributesclasses": ("vac", "cluster", []),
        "volumeattachments": ("", "cluster", ["status"]),
        "csistoragecapacities": ("", "namespace", []),
    },
    "apis/snapshot.storage.k8s.io/v1": {
        "volumesnapshots": ("vs", "namespace", ["status"]),
        "volumesnapshotcontents": ("vsc,vscs", "cluster", ["status"]),
        "volumesnapshotclasses": ("vsclass,vsclasses", "cluster", []),
    },
    "apis/populator.storage.k8s.io/v1beta1": {"volumepopulators": ("", "cluster", [])},
    "apis/gateway.networking.k8s.io/v1": {"referencegrants": ("refgrant", "namespace", [])},
    "apis/gateway.networking.k8s.io/v1beta1": {"referencegrants": ("refgrant", "namespace", [])},
    "apis/cbt.storage.k8s.io/v1beta1": {"snapshotmetadataservices": ("sms", "cluster", [])},
    "apis/rbac.authorization.k8s.io/v1": {
        "roles": ("", "namespace", []),
        "rolebindings": ("", "namespace", []),
        "clusterroles": ("", "cluster", []),
        "clusterrolebindings": ("", "cluster", []),
    },
    "apis/coordination.k8s.io/v1": {"leases": ("", "namespace", [])},
    "apis/apiextensions.k8s.io/v1": {
        "customresourcedefinitions": ("crd,crds", "cluster", ["status"]),
    },
    "apis/certificates.k8s.io/v1beta1": {"clustertrustbundles": ("", "cluster", [])},
    "apis/admissionregistration.k8s.io/v1": {
        "mutatingwebhookconfigurations": ("", "cluster", []),
        "validatingwebhookconfigurations": ("", "cluster", []),
        "validatingadmissionpolicies": ("", "cluster", ["status"]),
        "validatingadmissionpolicybindings": ("", "cluster", []),
        "mutatingadmissionpolicies": ("", "cluster", []),
        "mutatingadmissionpolicybindings": ("", "cluster", []),
    },
    "apis/storagemigration.k8s.io/v1": {
        "storageversionmigrations": ("", "cluster", ["status"]),
    },
    "apis/scheduling.k8s.io/v1": {"priorityclasses": ("pc", "cluster", [])},
    "apis/batch/v1": {
        "jobs": ("", "namespace", ["status"]),
        "cronjobs": ("cj", "namespace", ["status"]),
    },
    "apis/networking.k8s.io/v1": {"networkpolicies": ("netpol", "namespace", [])},
    "apis/discovery.k8s.io/v1": {"endpointslices": ("", "namespace", [])},
    "apis/policy/v1": {"poddisruptionbudgets": ("pdb", "namespace", ["status"])},
    "apis/events.k8s.io/v1": {"events": ("ev", "namespace", [])},
    "apis/authentication.k8s.io/v1": {
        "tokenreviews": ("", "cluster", []),
        "selfsubjectreviews": ("", "cluster", []),
    },
    "apis/authorization.k8s.io/v1": {
        "selfsubjectaccessreviews": ("", "cluster", []),
        "selfsubjectrulesreviews": ("", "cluster", []),
        "subjectaccessreviews": ("", "cluster", []),
        "localsubjectaccessreviews": ("", "namespace", []),
    },
}


async def resources(api: ApiUnderTest, group_version: str) -> dict[str, Doc]:
    listed = (await api.get(f"/{group_version}")).doc
    assert listed["kind"] == "APIResourceList"
    assert listed["groupVersion"] == group_version.removeprefix("api/").removeprefix("apis/")
    return {resource["name"]: resource for resource in listed["resources"]}


@pytest.mark.parametrize("group_version", RESOURCES)
async def test_resources_of_a_group_version(api: ApiUnderTest, group_version: str) -> None:
    found = await resources(api, group_version)
    wanted = RESOURCES[group_version]
    assert {name for name in found if "/" not in name} == wanted.keys()
    for plural, (short, scope, parts) in wanted.items():
        resource = found[plural]
        assert ",".join(resource.get("shortNames", [])) == short
        assert resource["namespaced"] is (scope == "namespace")
        assert resource["singularName"] == resource["kind"].lower()
        for part in parts:
            assert found[f"{plural}/{part}"]["singularName"] == ""
            assert found[f"{plural}/{part}"]["verbs"]
        if plural.endswith("reviews"):
            assert resource["verbs"] == ["create"]
        elif plural == "namespaces":
            assert sorted(resource["verbs"]) == [v for v in STORED_VERBS if "collection" not in v]
        else:
            assert sorted(resource["verbs"]) == STORED_VERBS


async def test_what_is_served_from_elsewhere_says_from_where(api: ApiUnderTest) -> None:
    found = await resources(api, "api/v1")
    token = found["serviceaccounts/token"]
    assert (token["group"], token["version"], token["kind"]) == (
        "authentication.k8s.io",
        "v1",
        "TokenRequest",
    )
    assert not {"group", "version"} & found["pods/status"].keys()


async def test_what_kubectl_get_all_asks_for(api: ApiUnderTest) -> None:
    found = await resources(api, "api/v1")
    shown = [name for name, r in found.items() if "all" in r.get("categories", [])]
    assert shown == ["pods", "replicationcontrollers", "services"]


async def test_every_served_path_is_discovered(api: ApiUnderTest) -> None:
    """What is listed can be listed."""
    for group_version in RESOURCES:
        for name, resource in (await resources(api, group_version)).items():
            if "list" in resource["verbs"]:
                answer = await api.get(f"/{group_version}/{name}")
                assert answer.code == 200, name
                assert answer.doc["kind"] == f"{resource['kind']}List"


@pytest.mark.parametrize("path", ["/api", "/api/"])
async def test_versions_of_the_core_group(api: ApiUnderTest, path: str) -> None:
    answer = await api.get(path)
    assert answer.doc == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}
        ],
    }
    assert answer.content_type == "application/json"


@pytest.mark.parametrize("path", ["/apis", "/apis/"])
async def test_groups(api: ApiUnderTest, path: str) -> None:
    listed = (await api.get(path)).doc
    assert (listed["kind"], listed["apiVersion"]) == ("APIGroupList", "v1")
    groups = {group["name"]: group for group in listed["groups"]}
    versions: dict[str, list[str]] = {}  # of each group, the preferred one first
    for group_version in RESOURCES:
        if group_version != "api/v1":
            _, name, version = group_version.split("/")
            versions.setdefault(name, []).append(version)
    for name, served in versions.items():
        entries = [{"groupVersion": f"{name}/{each}", "version": each} for each in served]
        assert groups[name]["versions"] == entries
        assert groups[name]["preferredVersion"] == entries[0]
        single = (await api.get(f"/apis/{name}")).doc
        assert single == {"kind": "APIGroup", "apiVersion": "v1", **groups[name]}


@pytest.mark.parametrize(
    ("path", "accept"), [(p, a) for p in ("/api", "/apis") for a in (AGGREGATED, KUBECTL_130)]
)
async def test_all_at_once(api: ApiUnderTest, path: str, accept: str) -> None:
    answer = await api.get(path, accept=accept)
    assert answer.doc["kind"] == "APIGroupDiscoveryList"
    assert answer.doc["apiVersion"] == "apidiscovery.k8s.io/v2"
    for part in ("g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"):
        assert part in answer.content_type
    assert answer.header("Vary") == "Accept"
    for group in answer.doc["items"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            group_version = f"apis/{name}/{version['version']}" if name else "api/v1"
            plain = await resources(api, group_version)
            assert {r["resource"] for r in version["resources"]} == {
                p for p in plain if "/" not in p
            }
            for resource in version["resources"]:
                one = plain[resource["resource"]]
                assert resource["verbs"] == one["verbs"]
                assert resource["responseKind"]["kind"] == one["kind"]
                assert (resource["scope"] == "Namespaced") is one["namespaced"]
                parts = {p["subresource"] for p in resource.get("subresources", [])}
                prefix = f"{resource['resource']}/"
                assert parts == {p.removeprefix(prefix) for p in plain if p.startswith(prefix)}


@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_the_older_aggregated_form_falls_back_to_plain(api: ApiUnderTest, path: str) -> None:
    answer = await api.get(path, accept=KUBECTL_126)
    assert answer.doc["kind"] in {"APIVersions", "APIGroupList"}
    assert answer.content_type == "application/json"


@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1", "/openapi/v2", "/openapi/v3"])
async def test_what_a_client_has_it_is_not_sent_again(api: ApiUnderTest, path: str) -> None:
    first = await api.get(path)
    etag = first.header("ETag")
    assert etag
    assert first.header("Cache-Control") == "no-cache, private"
    again = await api.get(path, **{"if-none-match": etag})
    assert (again.code, again.body) == (304, b"")
    assert (await api.get(path, **{"if-none-match": '"other"'})).code == 200


async def test_the_aggregated_form_may_be_kept(api: ApiUnderTest) -> None:
    answer = await api.get("/apis", accept=AGGREGATED)
    assert answer.header("Cache-Control") == "public"


async def test_the_two_forms_have_different_tags(api: ApiUnderTest) -> None:
    plain = (await api.get("/apis")).header("ETag")
    assert (await api.get("/apis", accept=AGGREGATED)).header("ETag") != plain


MISSING = {
    "an unknown resource": ("/api/v1/widgets", "the server could not find the requested resource"),
    "an unknown version": ("/api/v2/pods", "the server could not find the requested resource"),
    "an unknown version of a group": (
        "/apis/storage.k8s.io/v9/storageclasses",
        "the server could not find the requested resource",
    ),
    "an unknown subresource": (
        "/api/v1/namespaces/default/configmaps/x/status",
        "the server could not find the requested resource",
    ),
    "an unknown group": ("/apis/example.com/v1/widgets", "404 page not found\n"),
    "an unknown page": ("/dashboard", "404 page not found\n"),
    "the root": ("/", "404 page not found\n"),
    "an empty segment": ("/api/v1//pods", "the server could not find the requested resource"),
    "a cluster's kind in a namespace": (
        "/api/v1/namespaces/default/persistentvolumes",
        "the server could not find the requested resource",
    ),
    "a namespace's object without one": (
        "/api/v1/configmaps/x",
        "the server could not find the requested resource",
    ),
}


@pytest.mark.parametrize(("path", "message"), MISSING.values(), ids=MISSING)
async def test_paths_that_lead_nowhere(api: ApiUnderTest, path: str, message: str) -> None:
    answer = await api.get(path)
    assert answer.code == 404
    if message.startswith("404"):
        assert answer.content_type.startswith("text/plain")
        assert answer.text == message
    else:
        assert answer.doc["reason"] == "NotFound"
        assert answer.doc["message"] == message
        assert answer.doc["details"] == {}


METHODS = {
    "POST to all namespaces": ("POST", "/api/v1/configmaps"),
    "POST to an object": ("POST", "/api/v1/namespaces/default/configmaps/x"),
    "PUT to a collection": ("PUT", "/api/v1/namespaces/default/configmaps"),
    "PATCH to a collection": ("PATCH", "/api/v1/namespaces/default/configmaps"),
    "DELETE of all namespaces": ("DELETE", "/api/v1/namespaces"),
    "POST to a status": ("POST", "/api/v1/persistentvolumes/x/status"),
    "DELETE of a status": ("DELETE", "/api/v1/persistentvolumes/x/status"),
    "GET of a binding": ("GET", "/api/v1/namespaces/default/pods/x/binding"),
    "GET of reviews": ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
    "HEAD of an object": ("HEAD", "/api/v1/namespaces/default"),
    "HEAD of a collection": ("HEAD", "/api/v1/namespaces"),
    "OPTIONS of a collection": ("OPTIONS", "/api/v1/namespaces"),
    "POST to a page": ("POST", "/version"),
}


@pytest.mark.parametrize(("method", "path"), METHODS.values(), ids=METHODS)
async def test_methods_that_a_path_does_not_have(api: ApiUnderTest, method: str, path: str) -> None:
    answer = await api.ask(method, path)
    assert (answer.code, answer.doc["reason"]) == (405, "MethodNotAllowed"), answer.text
    assert answer.doc["details"] == {}


async def test_trailing_slashes_do_not_matter(api: ApiUnderTest) -> None:
    for path in ("/version", "/api/v1/namespaces", "/api/v1/namespaces/default"):
        assert (await api.get(f"{path}/")).body == (await api.get(path)).body


async def test_version(api: ApiUnderTest) -> None:
    version = (await api.get("/version?timeout=5s")).doc
    keys = "major minor gitVersion gitCommit gitTreeState buildDate goVersion compiler platform"
    assert version.keys() >= set(keys.split())
    assert (version["major"], version["minor"]) == ("1", "37")
    assert version["gitVersion"].startswith("v1.37.0")
    assert all(isinstance(value, str) for value in version.values())


HEALTH = {
    "/healthz": (200, "ok"),
    "/livez": (200, "ok"),
    "/readyz": (200, "ok"),
    "/readyz?verbose": (200, "[+]ping ok\n[+]store ok\nreadyz check passed\n"),
    "/readyz/store": (200, "ok"),
    "/readyz/nonsense": (404, "404 page not found\n"),
}


@pytest.mark.parametrize(("path", "answer"), HEALTH.items(), ids=HEALTH)
async def test_health(api: ApiUnderTest, path: str, answer: tuple[int, str]) -> None:
    got = await api.get(path)
    assert (got.code, got.text) == answer
    assert got.content_type.startswith("text/plain")


def test_every_stored_kind_is_in_this_table() -> None:
    listed = {plural for group in RESOURCES.values() for plural in group}
    assert {path.rpartition("/")[2] for path, _ in STORED.values()} <= listed
    elsewhere = "groupsnapshot.storage.k8s.io"
    assert {kind.plural for kind in builtin().all() if kind.group != elsewhere} == listed


def test_every_stored_kind_has_a_document_to_test_with() -> None:
    known = {path.rpartition("/")[2] for path, _ in STORED.values()}
    stored = [kind for kind in builtin().all() if "list" in kind.verbs]
    others = {kind.resource for kind in stored if kind.plural not in known}
    groups = ("volumegroupsnapshots", "volumegroupsnapshotcontents", "volumegroupsnapshotclasses")
    roles = ("roles", "rolebindings", "clusterroles", "clusterrolebindings")
    assert others == {
        *("replicationcontrollers", "services"),  # see test_workloads.py
        *(f"{plural}.groupsnapshot.storage.k8s.io" for plural in groups),
        *(f"{plural}.rbac.authorization.k8s.io" for plural in roles),  # likewise
        "customresourcedefinitions.apiextensions.k8s.io",  # see test_custom_resources.py
    }
