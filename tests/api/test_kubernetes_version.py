"""What a client sees of the release that is followed: versions, paths, fields."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.store.contract import Store
from mooring.model.kubernetes_version import VERSIONS
from tests.fakes.api import ApiUnderTest, on_memory, running_api
from tests.fakes.clock import VirtualClock
from tests.fakes.definitions import DEFINITIONS, a_definition
from tests.fakes.objects import CLASSES, CSI_NODES, PODS, STORAGE, a_class, a_csi_node, a_pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
STRICT = "?fieldValidation=Strict"


@pytest.fixture(params=VERSIONS)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def api(pki: Pki, tmp_path: Path, release: str) -> AsyncIterator[ApiUnderTest]:
    async with running_api(pki, tmp_path, release=VERSIONS[release]) as running:
        yield running


async def test_the_version_is_told(api: ApiUnderTest, release: str) -> None:
    told = (await api.get("/version")).doc
    assert f"{told['major']}.{told['minor']}" == release
    assert told["gitVersion"].startswith(f"v{release}.0+mooring-")


async def test_the_status_of_csi_nodes_is_a_path_since_1_37(
    api: ApiUnderTest, release: str
) -> None:
    listed = (await api.get("/apis/storage.k8s.io/v1")).doc["resources"]
    is_there = any(resource["name"] == "csinodes/status" for resource in listed)
    assert is_there == (release == "1.37")
    assert (await api.post(CSI_NODES, a_csi_node("n1", "d"))).code == 201
    answer = await api.get(f"{CSI_NODES}/n1/status")
    assert answer.code == (200 if release == "1.37" else 404)


FIELDS: dict[str, tuple[str, str, str, str]] = {
    "the opt-in of a driver": (
        *("storage.k8s.io/v1", "io.k8s.api.storage.v1.CSIDriverSpec"),
        *("preventPodSchedulingIfMissing", "1.37"),
    ),
    "the health of a claim": (
        *("v1", "io.k8s.api.core.v1.PersistentVolumeClaimStatus", "healthStatus", "1.37"),
    ),
    "the mode of an emptyDir, in a template": (
        *("apps/v1", "io.k8s.api.core.v1.EmptyDirVolumeSource", "mode", "1.37"),
    ),
    "a reference to a workload": (*("v1", "io.k8s.api.core.v1.PodSpec", "workloadRef", "1.35"),),
}


@pytest.mark.parametrize(
    ("group_version", "message", "field", "only_in"), FIELDS.values(), ids=FIELDS
)
async def test_openapi_has_the_fields_of_the_release(
    api: ApiUnderTest, release: str, group_version: str, message: str, field: str, only_in: str
) -> None:
    path = f"api/{group_version}" if group_version == "v1" else f"apis/{group_version}"
    schemas = (await api.get(f"/openapi/v3/{path}")).doc["components"]["schemas"]
    assert (field in schemas[message]["properties"]) == (release == only_in)
    swagger = (await api.get("/openapi/v2")).doc["definitions"]
    assert (field in swagger[message]["properties"]) == (release == only_in)


async def test_a_pod_is_bound_to_what_is_no_name_of_a_node_in_1_35_alone(
    api: ApiUnderTest, release: str
) -> None:
    await api.post(PODS, a_pod("web"))
    target = {"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "Not_A_Node"}}
    answer = await api.post(f"{PODS}/web/binding", target)
    assert answer.code == (422 if release == "1.37" else 201), answer.text
    if release == "1.37":
        told = 'target.name: Invalid value: "Not_A_Node": a lowercase RFC 1123 subdomain'
        assert told in answer.doc["message"]


async def test_a_field_of_a_later_release_is_unknown_before(
    api: ApiUnderTest, release: str
) -> None:
    driver = {"metadata": {"name": "d"}, "spec": {"preventPodSchedulingIfMissing": True}}
    answer = await api.post(f"{STORAGE}/csidrivers{STRICT}", driver)
    if release == "1.35":
        assert answer.code == 400
        assert 'unknown field "spec.preventPodSchedulingIfMissing"' in answer.doc["message"]
    else:
        assert answer.code == 201
        assert answer.doc["spec"]["preventPodSchedulingIfMissing"] is True


async def test_a_field_whose_gate_is_off_is_left_out_without_a_word(
    api: ApiUnderTest, release: str
) -> None:
    pod = a_pod("web")
    pod["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {"mode": 0o700}}]
    answer = await api.post(f"{PODS}{STRICT}", pod)
    if release == "1.35":
        assert 'unknown field "spec.volumes[0].emptyDir.mode"' in answer.doc["message"]
    else:
        assert answer.code == 201, answer.text
        assert answer.doc["spec"]["volumes"][0] == {"name": "scratch", "emptyDir": {}}
        assert answer.warnings == []


async def test_a_driver_is_told_that_it_need_not_be_there_since_1_37(
    api: ApiUnderTest, release: str
) -> None:
    answer = await api.post(f"{STORAGE}/csidrivers", {"metadata": {"name": "d"}, "spec": {}})
    told = answer.doc["spec"].get("preventPodSchedulingIfMissing")
    assert told is (None if release == "1.35" else False)


async def test_an_update_of_what_is_fixed_is_refused_in_the_words_of_the_release(
    api: ApiUnderTest, release: str
) -> None:
    await api.post(CLASSES, a_class())
    answer = await api.patch(f"{CLASSES}/fast", {"provisioner": "another.example.com"})
    assert answer.code == 422
    assert [cause["message"] for cause in answer.doc["details"]["causes"]] == [
        "Forbidden: updates to provisioner are forbidden."
        if release == "1.35"
        else "Invalid value: null: field is immutable"
    ]


async def test_of_several_default_classes_the_one_that_counts_is_marked_since_1_37(
    api: ApiUnderTest, release: str
) -> None:
    for name in ("c", "b"):
        await api.post(CLASSES, a_class(name, is_default=True))
    listed = (await api.get(CLASSES, accept=TABLE)).doc["rows"]
    marked = [row["cells"][0] for row in listed if "default" in row["cells"][0]]
    alone = (await api.get(f"{CLASSES}/b", accept=TABLE)).doc["rows"][0]["cells"][0]
    if release == "1.35":
        assert marked == ["b (default)", "c (default)"]
        assert alone == "b (default)"
    else:
        assert marked == ["b (default)"]  # all are of one second: the first name
        assert alone == "b"


async def test_the_newest_default_class_counts(api: ApiUnderTest, release: str) -> None:
    for name in ("a", "b"):
        await api.post(CLASSES, a_class(name, is_default=True))
        await api.clock.advance(5)
    listed = (await api.get(CLASSES, accept=TABLE)).doc["rows"]
    marked = [row["cells"][0] for row in listed if "default" in row["cells"][0]]
    assert marked == (["a (default)", "b (default)"] if release == "1.35" else ["b (default)"])


async def test_the_columns_of_definitions(api: ApiUnderTest, release: str) -> None:
    table = (await api.get(DEFINITIONS, accept=TABLE)).doc["columnDefinitions"]
    shown = [column["name"] for column in table if not column["priority"]]
    assert shown == (
        ["Name", "Created At"] if release == "1.35" else ["Name", "Scope", "Versions", "Created At"]
    )


@pytest.mark.usefixtures("release")
async def test_a_definition_is_served_in_either_release(api: ApiUnderTest) -> None:
    assert (await api.post(DEFINITIONS, a_definition())).code == 201
    await api.settle()
    assert (await api.get(f"{DEFINITIONS}/{a_definition()['metadata']['name']}")).code == 200
    group = a_definition()["spec"]["group"]
    assert (await api.get(f"/apis/{group}")).code == 200


LABEL: dict[str, Any] = {
    "merge-patch+json": {"metadata": {"labels": {"a": "b"}}},
    "strategic-merge-patch+json": {"metadata": {"labels": {"a": "b"}}},
    "json-patch+json": [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}],
    "apply-patch+yaml": {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": "d", "labels": {"a": "b"}},
    },
}


@pytest.mark.parametrize("media", LABEL)
async def test_a_patch_is_not_blamed_for_fields_that_another_release_has_stored(
    pki: Pki, tmp_path: Path, media: str
) -> None:
    store = await on_memory(VirtualClock())

    async def same(_: VirtualClock) -> Store:
        return store

    driver = f"{STORAGE}/csidrivers/d{STRICT}"
    async with (
        running_api(pki, tmp_path, release=VERSIONS["1.37"], open_store=same) as newer,
        running_api(pki, tmp_path, release=VERSIONS["1.35"], open_store=same) as older,
    ):
        await newer.post(f"{STORAGE}/csidrivers", {"metadata": {"name": "d"}, "spec": {}})
        answer = await older.patch(f"{driver}&fieldManager=m", LABEL[media], media)
        assert (answer.code, answer.warnings) == (200, []), answer.text
        assert answer.doc["metadata"]["labels"] == {"a": "b"}
        assert answer.doc["spec"]["preventPodSchedulingIfMissing"] is False, "it is not erased"
        refused = await older.patch(driver, {"spec": {"preventPodSchedulingIfMissing": True}})
        assert refused.code == 422
        assert 'unknown field "spec.preventPodSchedulingIfMissing"' in refused.doc["message"]
