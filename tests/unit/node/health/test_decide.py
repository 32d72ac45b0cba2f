"""Which health a node tells of volumes and storage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.model.csi_node import CsiNode, CsiNodeStatus
from mooring.model.health import (
    HealthCondition,
    PodVolumeHealth,
    StorageCondition,
    StorageHealth,
    keys,
)
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodSpec
from mooring.model.pod_volume import PodVolume
from mooring.model.steps import Emit
from mooring.node.health.decide import decide_pod, decide_storage
from mooring.node.health.plan import Plan, WritePodHealth, WriteStorageHealth
from mooring.node.health.view import PodView, StorageView

NOW, BEFORE = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"
LOSS = HealthCondition("DataLoss", "ImageMissing", "its image is missing")
SLOW = HealthCondition("Degraded", "Slow")
POD = Pod(
    metadata=ObjectMeta(name="web", namespace="default", uid="u"),
    spec=PodSpec(volumes=(PodVolume(name="data"), PodVolume(name="logs"))),
)


def health(name: str, *conditions: HealthCondition, since: str = BEFORE) -> PodVolumeHealth:
    return PodVolumeHealth(name, conditions, since)


def told(plan: Plan) -> tuple[PodVolumeHealth, ...] | None:
    written = [step.entries for step in plan.steps if isinstance(step, WritePodHealth)]
    return written[0] if written else None


def events(plan: Plan) -> list[tuple[str, str]]:
    return [(step.reason, step.message) for step in plan.steps if isinstance(step, Emit)]


Entries = tuple[PodVolumeHealth, ...]
Said = dict[str, tuple[HealthCondition, ...]]
OF_PODS: dict[str, tuple[Entries, Said, Entries | None, list[tuple[str, str]]]] = {
    "a healthy volume is not written": ((), {"data": ()}, None, []),
    "a trouble is written and told": (
        (),
        {"data": (LOSS,)},
        (health("data", LOSS, since=NOW),),
        [("VolumeConditionAbnormal", "Volume data: its image is missing")],
    ),
    "one without a message is told by its reason": (
        (),
        {"data": (SLOW,)},
        (health("data", SLOW, since=NOW),),
        [("VolumeConditionAbnormal", "Volume data: Slow")],
    ),
    "another wording is not news": (
        (health("data", LOSS),),
        {"data": (replace(LOSS, message="gone"),)},
        None,
        [],
    ),
    "only what is new is told": (
        (health("data", SLOW),),
        {"data": (SLOW, LOSS)},
        (health("data", LOSS, SLOW, since=NOW),),
        [("VolumeConditionAbnormal", "Volume data: its image is missing")],
    ),
    "a volume that has recovered keeps an empty entry": (
        (health("data", LOSS),),
        {"data": ()},
        (health("data", since=NOW),),
        [("VolumeConditionNormal", "Volume data: The Volume returns to the healthy state")],
    ),
    "a driver that did not answer changes nothing": ((health("data", LOSS),), {}, None, []),
    "other volumes stay as they are": (
        (health("logs", SLOW),),
        {"data": (LOSS,)},
        (health("data", LOSS, since=NOW), health("logs", SLOW)),
        [("VolumeConditionAbnormal", "Volume data: its image is missing")],
    ),
    "what the pod does not have is passed over": ((), {"other": (LOSS,)}, None, []),
}


@pytest.mark.parametrize(("known", "said", "written", "heard"), OF_PODS.values(), ids=OF_PODS)
def test_of_a_pod(
    known: Entries, said: Said, written: Entries | None, heard: list[tuple[str, str]]
) -> None:
    plan = decide_pod(PodView(POD, known, said, NOW))
    assert (told(plan), events(plan)) == (written, heard)


CONDITIONS = st.lists(st.sampled_from((LOSS, SLOW)), max_size=3).map(tuple)


@given(CONDITIONS, CONDITIONS)
def test_what_is_written_settles_it(
    first: tuple[HealthCondition, ...], second: tuple[HealthCondition, ...]
) -> None:
    known: Entries = ()
    for said in (first, second):
        known = told(decide_pod(PodView(POD, known, {"data": said}, NOW))) or known
        assert keys(known[0].health_conditions if known else ()) == keys(said)
        assert decide_pod(PodView(POD, known, {"data": said}, NOW)).steps == ()


FULL = StorageCondition("StorageDegraded", "Full")
AWAY = StorageCondition("StorageUnreachable", "Away")
OTHER = StorageHealth("other", (AWAY,))
Stored = tuple[StorageHealth, ...]


def since(condition: StorageCondition, when: str) -> StorageCondition:
    return replace(condition, last_transition_time=when)


OF_STORAGE: dict[str, tuple[Stored, tuple[StorageCondition, ...], Stored | None]] = {
    "all is well": ((), (), None),
    "it is full": ((OTHER,), (FULL,), (StorageHealth("d", (since(FULL, NOW),)), OTHER)),
    "it is still full": ((StorageHealth("d", (since(FULL, BEFORE),)),), (FULL,), None),
    "and now it is away too": (
        (StorageHealth("d", (since(FULL, BEFORE),)),),
        (FULL, AWAY),
        (StorageHealth("d", (since(FULL, BEFORE), since(AWAY, NOW))),),
    ),
    "of one mode only is something else": (
        (StorageHealth("d", (since(FULL, BEFORE),)),),
        (replace(FULL, volume_mode="Block"),),
        (StorageHealth("d", (replace(since(FULL, NOW), volume_mode="Block"),)),),
    ),
    "it is well again": ((StorageHealth("d", (FULL,)), OTHER), (), (OTHER,)),
}


@pytest.mark.parametrize(("stored", "said", "written"), OF_STORAGE.values(), ids=OF_STORAGE)
def test_of_storage(
    stored: Stored, said: tuple[StorageCondition, ...], written: Stored | None
) -> None:
    node = CsiNode(metadata=ObjectMeta(name="n1"), status=CsiNodeStatus(stored))
    plan = decide_storage(StorageView(node, "d", said, NOW))
    found = [step.entries for step in plan.steps if isinstance(step, WriteStorageHealth)]
    assert (found[0] if found else None) == written
