"""What is read for a subject, and what becomes of refusals."""

import asyncio
from typing import cast

import pytest

from mooring.client.contract import EVERYTHING, Listing, Scope, T
from mooring.errors import Forbidden, NotFound, UsageError
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.pod import Pod
from mooring.model.snapshot import Snapshot
from mooring.model.volume import Volume
from mooring.why.answer import Answer, Ref
from mooring.why.explain import explain
from mooring.why.kinds import parse_subject
from mooring.why.read import Reading, read_world
from mooring.why.stuck import find_stuck, read_everything
from tests.fakes.clock import settle
from tests.unit.why.test_explain import WEB, pod, ready_node
from tests.unit.why.worlds import NOW, bound_claim, bound_volume, claim, doc, typed, volume

DATA = Ref("PersistentVolumeClaim", "data", "shop")


class FakeSource:
    """Objects, and kinds that may not be read or do not exist."""

    def __init__(
        self,
        *objects: ApiObject,
        forbidden: tuple[type[ApiObject], ...] = (),
        unknown: tuple[type[ApiObject], ...] = (),
    ) -> None:
        self.asked: list[str] = []
        self._objects = {(type(it), it.key): it for it in objects}
        self._forbidden, self._unknown = forbidden, unknown

    async def get(self, kind: type[T], key: Key) -> T:
        self._check(kind, f"get {kind.resource.plural} {key}")
        found = self._objects.get((kind, key))
        if found is None:
            raise NotFound("not found")
        return cast("T", found)

    async def list(self, kind: type[T], scope: Scope = EVERYTHING) -> Listing[T]:
        self._check(kind, f"list {kind.resource.plural}")
        await settle(1)
        items = [
            cast("T", it)
            for (of, key), it in self._objects.items()
            if of is kind and scope.namespace in {"", key.namespace}
        ]
        return Listing(items, "1")

    def _check(self, kind: type[ApiObject], words: str) -> None:
        assert words not in self.asked or "events" in words, f"asked twice: {words}"
        self.asked.append(words)
        if kind in self._forbidden:
            raise Forbidden(f"you may not read {kind.resource.plural}")
        if kind in self._unknown:
            raise NotFound("no such kind")


async def test_of_a_bound_claim_only_its_own_volume_is_read() -> None:
    source = FakeSource(typed(bound_claim()), typed(bound_volume()), typed(volume("other")))
    world = await read_world(source, DATA)
    assert [it.name for it in world.all(Volume)] == ["disk"]
    assert "list persistentvolumes" not in source.asked
    assert "list persistentvolumeclaims" not in source.asked


@pytest.mark.parametrize("required", [True, False])
async def test_who_registers_a_driver_is_read_where_no_pod_goes_without_it(
    required: bool,  # noqa: FBT001  a column
) -> None:
    driver = doc("CSIDriver", "disk.example", spec={"preventPodSchedulingIfMissing": required})
    disk = bound_volume(csi={"driver": "disk.example", "volumeHandle": "h"})
    bare = doc("CSINode", "n1", spec={"drivers": []})
    source = FakeSource(*map(typed, (bound_claim(), disk, pod(), ready_node(), bare, driver)))
    await read_world(source, WEB)
    assert ("list daemonsets" in source.asked) is required


async def test_of_a_claim_that_looks_for_a_volume_all_volumes_are_read() -> None:
    source = FakeSource(typed(claim()), typed(volume("other", storageClassName="slow")))
    world = await read_world(source, DATA)
    assert Volume in world.whole


async def test_who_asks_for_a_list_that_is_on_its_way_waits_for_it() -> None:
    source = FakeSource(typed(volume()))
    reading = Reading(source)
    found = await asyncio.gather(reading.list(Volume), reading.list(Volume))
    assert [[it.name for it in each] for each in found] == [["disk"], ["disk"]]


async def test_a_refusal_is_part_of_the_answer() -> None:
    source = FakeSource(typed(claim()), forbidden=(Pod, Volume))
    answer = explain(await read_world(source, DATA), DATA, NOW)
    assert set(answer.unseen) == {
        "pods: you may not read pods",
        "persistentvolumes: you may not read persistentvolumes",
    }


async def test_a_subject_that_may_not_be_read_is_not_called_missing() -> None:
    source = FakeSource(forbidden=(Claim,))
    answer = explain(await read_world(source, DATA), DATA, NOW)
    assert answer.summary == "PersistentVolumeClaim shop/data could not be read"


async def test_all_that_waits_is_found_and_each_cause_told_once() -> None:
    source = FakeSource(
        typed(claim()), typed(bound_claim(name="well")), typed(bound_volume()), unknown=(Snapshot,)
    )
    world = await read_everything(source, "shop")
    answers = [one for one in find_stuck(world, "shop", NOW) if isinstance(one, Answer)]
    assert [str(answer.subject) for answer in answers] == ["PersistentVolumeClaim shop/data"]


NAMES = {
    "pvc/data": ("PersistentVolumeClaim", "shop"),
    "PersistentVolumeClaims/data": ("PersistentVolumeClaim", "shop"),
    "claim/data": ("PersistentVolumeClaim", "shop"),
    "pv/data": ("PersistentVolume", ""),
    "po/data": ("Pod", "shop"),
    "volumeattachments.storage.k8s.io/data": ("VolumeAttachment", ""),
    "node/data": ("Node", ""),
    "snapshot/data": ("VolumeSnapshot", "shop"),
    "sc/data": ("StorageClass", ""),
    "csidriver/data": ("CSIDriver", ""),
}


@pytest.mark.parametrize(("text", "meant"), NAMES.items())
def test_kinds_have_the_names_that_kubectl_knows(text: str, meant: tuple[str, str]) -> None:
    assert parse_subject(text, "shop") == Ref(meant[0], "data", meant[1])


@pytest.mark.parametrize("text", ["data", "pvc/", "pvc/a/b", "secret/a", ""])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="mooring why pvc/data"):
        parse_subject(text, "shop")
