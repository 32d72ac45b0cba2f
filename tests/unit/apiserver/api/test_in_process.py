"""The API for callers in this process: the same decisions as over HTTP, on shorter ways."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.auth.user import ADMIN, node_user
from mooring.client.contract import EVERYTHING
from mooring.errors import ApiError, Forbidden, Invalid
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.meta import ApiObject, Resource
from mooring.model.snapshot import Snapshot
from mooring.model.volume import Volume
from tests.fakes.api import ApiUnderTest, make_pki, running_api
from tests.fakes.clock import settle
from tests.fakes.objects import (
    CLAIMS,
    CONFIG_MAPS,
    EVENTS,
    NODES,
    SNAPSHOTS,
    VOLUMES,
    a_claim,
    a_config_map,
    a_node,
    a_snapshot,
    a_volume,
    an_event,
)

Doc = dict[str, Any]


NODE = Resource("", "v1", "Node", "nodes", namespaced=False)
NEW_EVENT = Resource("events.k8s.io", "v1", "Event", "events", namespaced=True)


class ConfigMap(ApiObject, frozen=True):
    resource = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)


KINDS: dict[str, tuple[type[ApiObject], str, Doc]] = {
    "claim": (Claim, CLAIMS, a_claim("x")),
    "volume": (Volume, VOLUMES, a_volume("x")),
    "config map": (ConfigMap, CONFIG_MAPS, a_config_map("x", colour="blue", size="big")),
    "snapshot": (Snapshot, SNAPSHOTS, a_snapshot("x")),
}

SCALARS = st.sampled_from([None, "", "x", "1Gi", "1024Mi", "Bound", "Filesystem", 0, 7, True])
TEXTS = st.dictionaries(st.sampled_from(["a", "colour", "size", "storage"]), SCALARS, max_size=3)
CONDITIONS = st.lists(
    st.dictionaries(st.sampled_from(["type", "status", "odd"]), SCALARS), max_size=2
)
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
OWNERS = st.lists(st.just(OWNER), max_size=2)


def fields(**known: st.SearchStrategy[Any]) -> st.SearchStrategy[Doc]:
    """Some of these fields, as they should be or as they should not."""
    odd = st.one_of(SCALARS, TEXTS, CONDITIONS)
    return st.fixed_dictionaries(
        {}, optional={name: st.one_of(v, odd) for name, v in known.items()}
    )


CHANGES = fields(
    metadata=fields(
        labels=TEXTS, annotations=TEXTS, finalizers=st.just(["x/y"]), ownerReferences=OWNERS,
        name=SCALARS, generation=SCALARS, nonsense=SCALARS,
    ),
    spec=fields(
        volumeName=SCALARS, volumeMode=SCALARS, capacity=TEXTS, storageClassName=SCALARS,
        resources=fields(requests=TEXTS), csi=fields(driver=SCALARS), nonsense=TEXTS,
    ),
    status=fields(phase=SCALARS, capacity=TEXTS, conditions=CONDITIONS, readyToUse=SCALARS),
    data=TEXTS,
    immutable=SCALARS,
    nonsense=TEXTS,
)  # fmt: skip


async def by_http(api: ApiUnderTest, path: str, change: Doc) -> Doc | str:
    """What a merge patch would come to."""
    headers = {"content-type": "application/merge-patch+json", "user-agent": "mooring"}
    answer = await api.ask("PATCH", f"{path}?dryRun=All", change, headers)
    if answer.code < 300:
        return answer.doc
    return refused(answer.doc)


def refused(status: Doc) -> str:
    """What a refusal is about; the words quote documents, whose fields have no order."""
    causes = status.get("details", {}).get("causes", [])
    return f"{status['code']} {status['reason']} {[cause.get('field') for cause in causes]}"


async def in_process(
    api: ApiUnderTest, kind: type[ApiObject], stored: Doc, part: str, change: Doc
) -> Doc | str:
    """What the same change comes to without HTTP."""
    metadata = stored["metadata"]
    key = Key(metadata.get("namespace", ""), metadata["name"])
    local = InProcessApi(api.parts.backend, ADMIN)
    try:
        written = await local.patch(
            kind.resource, key, metadata["resourceVersion"], [(part, change)]
        )
    except ApiError as error:
        return refused(error.status())
    doc = json.loads(written)
    doc["metadata"]["resourceVersion"] = metadata["resourceVersion"]
    return {"kind": stored["kind"], "apiVersion": stored["apiVersion"], **doc}


async def check_same(pki: Pki, kind: str, part: str, change: Doc) -> None:
    struct, collection, doc = KINDS[kind]
    with tempfile.TemporaryDirectory() as directory:
        async with running_api(pki, Path(directory)) as api:
            stored = (await api.post(collection, doc)).doc
            path = f"{collection}/x/{part}".rstrip("/")
            wanted = await by_http(api, path, change)
            assert await in_process(api, struct, stored, part, change) == wanted


@given(kind=st.sampled_from(sorted(KINDS)), part=st.sampled_from(["", "status"]), change=CHANGES)
@example(kind="config map", part="", change={"data": {"colour": None}})
@example(kind="config map", part="", change={"data": {"colour": None, "size": None}})
@example(kind="claim", part="", change={"metadata": {"ownerReferences": [OWNER, OWNER]}})
@example(kind="claim", part="status", change={"status": {"capacity": {"storage": "1024Mi"}}})
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_a_patch_comes_to_the_same_with_and_without_http(
    keys: Pki, kind: str, part: str, change: Doc
) -> None:
    if kind == "config map":
        part = ""
    asyncio.run(check_same(keys, kind, part, change))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture
async def api(keys: Pki, tmp_path: Path) -> AsyncIterator[ApiUnderTest]:
    async with running_api(keys, tmp_path) as running:
        yield running


async def test_changes_of_both_parts_are_one_write(api: ApiUnderTest) -> None:
    stored = (await api.post(CLAIMS, a_claim("x"))).doc["metadata"]
    store = api.parts.backend.store
    local = InProcessApi(api.parts.backend, ADMIN)
    written = await local.patch(
        Claim.resource,
        Key("default", "x"),
        stored["resourceVersion"],
        [("", {"spec": {"volumeName": "v"}}), ("status", {"status": {"phase": "Bound"}})],
    )
    doc = json.loads(written)
    assert (doc["spec"]["volumeName"], doc["status"]["phase"]) == ("v", "Bound")
    assert store.revision == int(stored["resourceVersion"]) + 1
    owners = doc["metadata"]["managedFields"]
    assert {owner.get("subresource", "") for owner in owners} == {"", "status"}


async def test_a_refusal_of_the_second_part_leaves_nothing_of_the_first(api: ApiUnderTest) -> None:
    stored = (await api.post(CLAIMS, a_claim("x"))).doc["metadata"]
    local = InProcessApi(api.parts.backend, ADMIN)
    changes: list[tuple[str, Doc]] = [
        ("", {"spec": {"volumeName": "v"}}),
        ("status", {"status": {"capacity": {"storage": "-1"}}}),
    ]
    with pytest.raises(Invalid):
        await local.patch(Claim.resource, Key("default", "x"), stored["resourceVersion"], changes)
    assert "volumeName" not in (await api.get(f"{CLAIMS}/x")).doc["spec"]


async def test_admission_minds_who_asks(api: ApiUnderTest) -> None:
    await api.post(NODES, a_node("n2"))
    stored = (await api.get(f"{NODES}/n2")).doc["metadata"]
    node = InProcessApi(api.parts.backend, node_user("n1"))
    with pytest.raises(Forbidden, match="not allowed to modify node"):
        await node.patch(
            NODE, Key("", "n2"), stored["resourceVersion"], [("", {"metadata": {"labels": {}}})]
        )


async def test_a_view_is_shown_in_its_own_words(api: ApiUnderTest) -> None:
    await api.post(EVENTS, an_event("told", message="no room"))
    local = InProcessApi(api.parts.backend, ADMIN)
    shown = json.loads(await local.get(NEW_EVENT, Key("default", "told")))
    assert shown["note"] == "no room"


async def test_long_lists_come_one_in_each_turn(
    api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mooring.apiserver.api.in_process.LONG", 2)
    local = InProcessApi(api.parts.backend, ADMIN)
    for number in range(3):
        await api.post(CLAIMS, a_claim(f"c{number}"))
    lists = [asyncio.ensure_future(local.list(Claim.resource, EVERYTHING)) for _ in range(3)]
    done = []
    for _ in range(20):
        done.append(sum(each.done() for each in lists))
        await settle(1)
    assert set(done) > {0, 3}, "they came in one turn"
    found, _ = lists[0].result()
    names = [json.loads(each)["metadata"]["name"] for each in found]
    assert names == ["c0", "c1", "c2"]
    assert found[1:] == [found[1], found[2]]
