"""Owner references: dependents go with their owners, before them, or stay."""

from typing import Any

import pytest

from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    CLAIMS,
    CLASSES,
    CONFIG_MAPS,
    JOBS,
    NAMESPACES,
    PODS,
    SNAPSHOTS,
    VOLUMES,
    a_claim,
    a_class,
    a_config_map,
    a_job,
    a_namespace,
    a_pod,
    a_snapshot,
    a_volume,
)

Doc = dict[str, Any]

HOLD = "example.com/hold"
ELSEWHERE = "/api/v1/namespaces/elsewhere/configmaps"
FOREGROUND = {"propagationPolicy": "Foreground"}
BACKGROUND = {"propagationPolicy": "Background"}
ORPHAN = {"propagationPolicy": "Orphan"}


async def make(
    api: ApiUnderTest, name: str, *references: Doc, held: bool = False, url: str = CONFIG_MAPS
) -> Doc:
    """A config map with these owners; returns what is stored."""
    doc = a_config_map(name)
    doc["metadata"]["ownerReferences"] = list(references)
    if held:
        doc["metadata"]["finalizers"] = [HOLD]
    answer = await api.post(url, doc)
    assert answer.code == 201, answer.text
    await api.settle()
    return answer.doc


def owned_by(owner: Doc, *, blocks: bool = False) -> Doc:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    return reference | ({"blockOwnerDeletion": True} if blocks else {})


async def delete(api: ApiUnderTest, name: str, body: Doc | None = None) -> None:
    answer = await api.delete(f"{CONFIG_MAPS}/{name}", body)
    assert answer.code == 200, answer.text
    await collected(api)


async def release(api: ApiUnderTest, name: str) -> None:
    await api.patch(f"{CONFIG_MAPS}/{name}", {"metadata": {"finalizers": None}})
    await collected(api)


async def collected(api: ApiUnderTest) -> None:
    """Let owners and dependents of some generations go."""
    for _ in range(5):
        await api.settle()


async def left(api: ApiUnderTest, url: str = CONFIG_MAPS) -> list[str]:
    items = (await api.get(url)).doc["items"]
    names = [item["metadata"]["name"] for item in items]
    return [name for name in names if name != "kube-root-ca.crt"]


async def metadata_of(api: ApiUnderTest, name: str) -> Doc:
    metadata: Doc = (await api.get(f"{CONFIG_MAPS}/{name}")).doc["metadata"]
    return metadata


@pytest.mark.parametrize("body", [None, BACKGROUND], ids=["no policy", "background"])
async def test_dependents_go_after_their_owner(api: ApiUnderTest, body: Doc | None) -> None:
    owner = await make(api, "owner")
    child = await make(api, "child", owned_by(owner))
    await make(api, "grandchild", owned_by(child))
    await make(api, "stranger")
    assert await left(api) == ["child", "grandchild", "owner", "stranger"]
    watching = await api.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={_version(owner)}")
    await delete(api, "owner", body)
    assert await left(api) == ["stranger"]
    gone = [name for event, name in watching.names if event == "DELETED"]
    assert gone == ["owner", "child", "grandchild"]


async def test_dependents_of_other_kinds_go_too(api: ApiUnderTest) -> None:
    pod = (await api.post(PODS, a_pod("web"))).doc
    claim = a_claim("web-data", storageClassName="")
    claim["metadata"]["ownerReferences"] = [owned_by(pod) | {"controller": True}]
    stored = (await api.post(CLAIMS, claim)).doc
    snapshot = a_snapshot("snap", "web-data")
    snapshot["metadata"]["ownerReferences"] = [owned_by(stored)]
    await api.post(SNAPSHOTS, snapshot)
    await api.delete(f"{PODS}/web")
    await collected(api)
    held = (await api.get(f"{CLAIMS}/web-data")).doc["metadata"]
    assert "deletionTimestamp" in held  # the protection finalizer keeps it, and so its dependents
    assert (await api.get(f"{SNAPSHOTS}/snap")).code == 200
    await api.patch(f"{CLAIMS}/web-data", {"metadata": {"finalizers": None}})
    await collected(api)
    assert (await api.get(f"{SNAPSHOTS}/snap")).code == 404


async def test_a_held_dependent_is_marked_and_its_owner_is_gone(api: ApiUnderTest) -> None:
    owner = await make(api, "owner")
    await make(api, "child", owned_by(owner, blocks=True), held=True)
    await delete(api, "owner")
    assert await left(api) == ["child"]
    metadata = await metadata_of(api, "child")
    assert "deletionTimestamp" in metadata
    assert metadata["finalizers"] == [HOLD]


async def test_in_the_foreground_dependents_go_first(api: ApiUnderTest) -> None:
    owner = await make(api, "owner")
    child = await make(api, "child", owned_by(owner, blocks=True))
    await make(api, "grandchild", owned_by(child, blocks=True))
    watching = await api.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={_version(owner)}")
    await delete(api, "owner", FOREGROUND)
    assert await left(api) == []
    gone = [name for event, name in watching.names if event == "DELETED"]
    assert gone == ["grandchild", "child", "owner"]


async def test_in_the_foreground_an_owner_waits_for_what_blocks_it(api: ApiUnderTest) -> None:
    owner = await make(api, "owner")
    await make(api, "child", owned_by(owner, blocks=True), held=True)
    await make(api, "other", owned_by(owner), held=True)
    await delete(api, "owner", FOREGROUND)
    metadata = await metadata_of(api, "owner")
    assert metadata["finalizers"] == ["foregroundDeletion"]
    assert "deletionTimestamp" in await metadata_of(api, "child")
    assert "deletionTimestamp" in await metadata_of(api, "other")
    await release(api, "child")
    assert await left(api) == ["other"]  # which does not block


RELEASES: dict[str, Doc] = {
    "it lets go of its owner": {"metadata": {"ownerReferences": None}},
    "it no longer blocks": {"metadata": {"ownerReferences": [{"blockOwnerDeletion": False}]}},
}


@pytest.mark.parametrize("patch", RELEASES.values(), ids=RELEASES)
async def test_in_the_foreground_an_owner_goes_when_a_held_dependent(
    api: ApiUnderTest, patch: Doc
) -> None:
    owner = await make(api, "owner")
    await make(api, "child", owned_by(owner, blocks=True), held=True)
    await delete(api, "owner", FOREGROUND)
    assert await left(api) == ["child", "owner"]
    references = patch["metadata"]["ownerReferences"]
    if references:
        patch = {"metadata": {"ownerReferences": [owned_by(owner) | references[0]]}}
    assert (await api.patch(f"{CONFIG_MAPS}/child", patch)).code == 200
    await collected(api)
    assert await left(api) == ["child"]


async def test_in_the_foreground_a_dependent_with_another_owner_stays(api: ApiUnderTest) -> None:
    owner = await make(api, "owner")
    other = await make(api, "other")
    await make(api, "child", owned_by(owner, blocks=True), owned_by(other))
    await delete(api, "owner", FOREGROUND)
    assert await left(api) == ["child", "other"]
    assert (await metadata_of(api, "child"))["ownerReferences"] == [owned_by(other)]


async def test_in_the_foreground_late_dependents_go_too(api: ApiUnderTest) -> None:
    owner = await make(api, "owner")
    await make(api, "child", owned_by(owner, blocks=True), held=True)
    await delete(api, "owner", FOREGROUND)
    await make(api, "late", owned_by(owner, blocks=True))
    await collected(api)
    assert await left(api) == ["child", "owner"]


async def test_in_the_foreground_an_owner_without_dependents_goes(api: ApiUnderTest) -> None:
    await make(api, "owner")
    await delete(api, "owner", FOREGROUND)
    assert await left(api) == []


async def test_in_the_foreground_a_circle_comes_to_an_end(api: ApiUnderTest) -> None:
    first = await make(api, "first")
    second = await make(api, "second", owned_by(first, blocks=True))
    references = {"metadata": {"ownerReferences": [owned_by(second, blocks=True)]}}
    await api.patch(f"{CONFIG_MAPS}/first", references)
    await delete(api, "first", FOREGROUND)
    assert await left(api) == []


async def test_orphaned_dependents_stay_without_their_owner(api: ApiUnderTest) -> None:
    owner = await make(api, "owner")
    other = await make(api, "other")
    child = await make(api, "child", owned_by(owner, blocks=True), owned_by(other))
    await make(api, "lone", owned_by(owner))
    await make(api, "grandchild", owned_by(child))
    await delete(api, "owner", ORPHAN)
    assert await left(api) == ["child", "grandchild", "lone", "other"]
    assert (await metadata_of(api, "child"))["ownerReferences"] == [owned_by(other)]
    assert "ownerReferences" not in await metadata_of(api, "lone")
    assert (await metadata_of(api, "grandchild"))["ownerReferences"] == [owned_by(child)]


async def test_an_owner_may_say_beforehand_that_it_orphans(api: ApiUnderTest) -> None:
    doc = a_config_map("owner")
    doc["metadata"]["finalizers"] = ["orphan"]
    owner = (await api.post(CONFIG_MAPS, doc)).doc
    await make(api, "child", owned_by(owner))
    await delete(api, "owner")
    assert await left(api) == ["child"]


@pytest.mark.parametrize(("finalizers", "stay"), [([], []), (["orphan"], ["child"])])
async def test_a_collected_job_takes_its_pods_along_unless_it_orphans(
    api: ApiUnderTest, finalizers: list[str], stay: list[str]
) -> None:
    owner = await make(api, "cron")
    job = a_job("tick")
    job["metadata"] |= {"ownerReferences": [owned_by(owner)], "finalizers": finalizers}
    answer = await api.post(JOBS, job)
    assert answer.code == 201, answer.text
    await make(api, "child", owned_by(answer.doc))
    await delete(api, "cron")
    assert (await api.get(f"{JOBS}/tick")).code == 404
    assert await left(api) == stay


async def test_of_several_owners_one_is_enough(api: ApiUnderTest) -> None:
    first, second = await make(api, "first"), await make(api, "second")
    await make(api, "child", owned_by(first), owned_by(second))
    await delete(api, "first")
    assert await left(api) == ["child", "second"]
    assert (await metadata_of(api, "child"))["ownerReferences"] == [owned_by(second)]
    await delete(api, "second")
    assert await left(api) == []


async def test_an_owner_is_known_by_its_uid(api: ApiUnderTest) -> None:
    owner = await make(api, "owner")
    await make(api, "child", owned_by(owner))
    await make(api, "stray", owned_by(owner) | {"uid": "another"})
    await collected(api)
    assert await left(api) == ["child", "owner"]


async def test_an_owner_that_never_was_is_absent(api: ApiUnderTest) -> None:
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": "boo"}
    await make(api, "child", ghost)
    await collected(api)
    assert await left(api) == []


async def test_an_owner_in_another_namespace_is_absent(api: ApiUnderTest) -> None:
    await api.post(NAMESPACES, a_namespace("elsewhere"))
    owner = await make(api, "owner")
    await make(api, "child", owned_by(owner), url=ELSEWHERE)
    await collected(api)
    assert await left(api, ELSEWHERE) == []
    assert await left(api) == ["owner"]


async def test_a_cluster_wide_owner_is_fine(api: ApiUnderTest) -> None:
    owner = (await api.post(CLASSES, a_class("owner"))).doc
    await make(api, "child", owned_by(owner))
    await collected(api)
    assert await left(api) == ["child"]
    await api.delete(f"{CLASSES}/owner")
    await collected(api)
    assert await left(api) == []


async def test_a_cluster_wide_object_with_a_namespaced_owner_is_left_alone(
    api: ApiUnderTest,
) -> None:
    """That owner cannot be looked up, so nobody knows that it is absent."""
    owner = await make(api, "owner")
    volume = a_volume("disk")
    volume["metadata"]["ownerReferences"] = [owned_by(owner)]
    await api.post(VOLUMES, volume)
    await delete(api, "owner")
    assert "deletionTimestamp" not in (await api.get(f"{VOLUMES}/disk")).doc["metadata"]


UNKNOWN: dict[str, Doc] = {
    "a kind": {"apiVersion": "v1", "kind": "Gadget"},
    "a group": {"apiVersion": "example.com/v1", "kind": "ConfigMap"},
    "a version": {"apiVersion": "storage.k8s.io/v1alpha7", "kind": "StorageClass"},
}


@pytest.mark.parametrize("kind", UNKNOWN.values(), ids=UNKNOWN)
async def test_an_owner_of_a_kind_that_is_not_served_is_never_taken_for_gone(
    api: ApiUnderTest, kind: Doc
) -> None:
    await make(api, "child", kind | {"name": "x", "uid": "u"})
    await collected(api)
    assert await left(api) == ["child"]


async def test_an_unknown_owner_keeps_what_a_known_one_leaves(api: ApiUnderTest) -> None:
    owner = await make(api, "owner")
    unknown = {"apiVersion": "example.com/v1", "kind": "Gadget", "name": "x", "uid": "u"}
    await make(api, "child", owned_by(owner), unknown)
    await delete(api, "owner")
    assert (await metadata_of(api, "child"))["ownerReferences"] == [unknown]


async def test_an_owner_given_later_counts(api: ApiUnderTest) -> None:
    owner = await make(api, "owner")
    await make(api, "child")
    references = {"metadata": {"ownerReferences": [owned_by(owner)]}}
    await api.patch(f"{CONFIG_MAPS}/child", references)
    await delete(api, "owner")
    assert await left(api) == []


async def test_an_owner_taken_away_does_not_count(api: ApiUnderTest) -> None:
    owner = await make(api, "owner")
    await make(api, "child", owned_by(owner))
    await api.patch(f"{CONFIG_MAPS}/child", {"metadata": {"ownerReferences": None}})
    await delete(api, "owner")
    assert await left(api) == ["child"]


async def test_many_dependents_go(api: ApiUnderTest) -> None:
    owner = await make(api, "owner")
    for n in range(50):
        doc = a_config_map(f"child-{n}")
        doc["metadata"]["ownerReferences"] = [owned_by(owner, blocks=True)]
        await api.post(CONFIG_MAPS, doc)
    await delete(api, "owner", FOREGROUND)
    for _ in range(20):
        await collected(api)
    assert await left(api) == []


def _version(doc: Doc) -> str:
    return str(doc["metadata"]["resourceVersion"])
