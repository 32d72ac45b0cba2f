"""Claims that ask for another VolumeAttributesClass get it, by their drivers."""

import asyncio

import pytest

from mooring.csi.capability import ControllerCapability
from mooring.csi.outcome import Code
from mooring.model.document import Doc
from mooring.sidecars.resizer.options import ResizerOptions
from tests.fakes.objects import ATTRIBUTES_CLASSES
from tests.scenarios.sidecars.claims import (
    VOLUME,
    ask,
    ask_class,
    attributes_class,
    bound,
    conditions,
    size_of,
    status_of,
)
from tests.scenarios.sidecars.cluster import Cluster
from tests.scenarios.sidecars.driver import After, Fails, Waits

UNCERTAIN = [
    *(Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED),
    *(Code.ABORTED, Code.UNAVAILABLE),
]
FINAL = [code for code in Code if code not in (Code.OK, Code.INVALID_ARGUMENT, *UNCERTAIN)]
TO_A, TO_B, TO_C = (f"modify h-pv1 tier={name}" for name in "abc")


@pytest.fixture
async def place(cluster: Cluster) -> Cluster:
    """A bound claim with the class `a`; `b` and `c` are there too."""
    await cluster.storage_class(allowVolumeExpansion=True)
    for name in "abc":
        await attributes_class(cluster, name)
    await bound(cluster, volumeAttributesClassName="a")
    return cluster


async def applied(cluster: Cluster) -> Doc:
    """The classes of volume and claim, and what is under way."""
    status = await status_of(cluster)
    volume = await cluster.get(VOLUME)
    return {
        "volume": volume["spec"].get("volumeAttributesClassName"),
        "claim": status.get("currentVolumeAttributesClassName"),
        "modify": status.get("modifyVolumeStatus"),
    }


def at(state: str, target: str) -> Doc:
    return {"status": state, "targetVolumeAttributesClassName": target}


HAS_B: Doc = {"volume": "b", "claim": "b", "modify": None}


async def test_a_claim_changes_its_class(place: Cluster) -> None:
    async with place.resizer() as client:
        await ask_class(place, "b")
    assert place.driver.calls == [TO_B]
    assert await applied(place) == HAS_B
    assert await conditions(place) == {}
    words = "external resizer is modifying volume data with vac b"
    assert await place.told("VolumeModify") == [words]
    words = "external resizer modified volume data with vac b successfully"
    assert await place.told("VolumeModifySuccessful") == [words]
    assert client.calls == [
        "patch PersistentVolumeClaim",
        "patch PersistentVolume",
        "patch PersistentVolumeClaim",
    ]


async def test_it_is_on_record_before_the_driver_is_asked(place: Cluster) -> None:
    gate = asyncio.Event()
    place.driver.next("modify", Waits(gate))
    async with place.resizer():
        await ask_class(place, "b")
        assert await applied(place) == {
            "volume": "a",
            "claim": "a",
            "modify": at("InProgress", "b"),
        }
        told = await conditions(place)
        assert told["ModifyingVolume"]["message"] == 'Modifying volume to "b" is in progress.'
        gate.set()
        await place.settle()
        assert await applied(place) == HAS_B


async def test_the_names_of_claim_and_volume_are_sent_if_wanted(place: Cluster) -> None:
    place.resizing = ResizerOptions(extra_modify_metadata=True)
    async with place.resizer():
        await ask_class(place, "b")
    assert place.driver.parameters["h-pv1"] == {
        "tier": "b",
        "csi.storage.k8s.io/pvc/name": "data",
        "csi.storage.k8s.io/pvc/namespace": "default",
        "csi.storage.k8s.io/pv/name": "pv1",
    }


# failures


async def test_an_impossible_class_is_tried_again_slowly(place: Cluster) -> None:
    place.driver.next("modify", *[Fails(Code.INVALID_ARGUMENT, "no such tier")] * 2)
    async with place.resizer():
        await ask_class(place, "b")
        assert (await applied(place))["modify"] == at("Infeasible", "b")
        told = await conditions(place)
        failed = 'Modifying volume to "b" failed. Waiting for retry.'
        assert told["ModifyingVolume"]["message"] == failed
        error = told["ModifyVolumeError"]
        assert (error["reason"], error["message"]) == ("InvalidArgument", "no such tier")
        words = "rpc error: code = InvalidArgument desc = no such tier"
        assert await place.told("VolumeModifyFailed") == [words]
        await place.passes(290)
        assert place.driver.calls == [TO_B]
        await place.passes(20)
        assert place.driver.calls == [TO_B, TO_B]
        await place.passes(310)
    assert await applied(place) == HAS_B


@pytest.mark.parametrize(("name", "call"), [("c", TO_C), ("a", TO_A)], ids=["another", "back"])
async def test_after_an_impossible_class_another_is_tried_at_once(
    place: Cluster, name: str, call: str
) -> None:
    place.driver.next("modify", Fails(Code.INVALID_ARGUMENT))
    async with place.resizer():
        await ask_class(place, "b")
        await ask_class(place, name)
    assert place.driver.calls == [TO_B, call]
    assert await applied(place) == {"volume": name, "claim": name, "modify": None}
    assert await conditions(place) == {}


@pytest.mark.parametrize("code", FINAL, ids=lambda code: code.name)
async def test_after_a_final_answer_another_class_counts(place: Cluster, code: Code) -> None:
    place.driver.next("modify", Fails(code))
    async with place.resizer():
        await ask_class(place, "b")
        assert (await applied(place))["modify"] == at("InProgress", "b")
        assert (await conditions(place))["ModifyVolumeError"]["reason"] == code.label
        await ask_class(place, "c")
    assert place.driver.calls == [TO_B, TO_C]


@pytest.mark.parametrize("code", UNCERTAIN, ids=lambda code: code.name)
@pytest.mark.parametrize("restarts", [False, True], ids=["same process", "another process"])
async def test_without_an_answer_the_class_stays_until_there_is_one(
    place: Cluster, code: Code, *, restarts: bool
) -> None:
    place.driver.next("modify", After(Fails(code, "late")), Fails(code))
    async with place.resizer():
        await ask_class(place, "b")
        told = await conditions(place)
        assert told["ModifyingVolume"]["message"] == 'Modifying volume to "b" is still in progress.'
        words = f"rpc error: code = {code.label} desc = late. Still modifying to VAC b"
        assert await place.told("VolumeModifyFailed") == [words]
        await ask_class(place, "c")
        if not restarts:
            await place.passes(20)
    async with place.resizer():
        await place.passes(20)
    *tries, last = place.driver.calls
    assert len(tries) >= 3
    assert (set(tries), last) == ({TO_B}, TO_C)
    assert (await applied(place))["claim"] == "c"


async def test_a_final_answer_outlives_the_process_that_heard_it(place: Cluster) -> None:
    place.driver.next("modify", Fails(Code.INTERNAL))
    async with place.resizer():
        await ask_class(place, "b")
    await ask_class(place, "c")
    async with place.resizer():
        await place.settle()
    assert place.driver.calls == [TO_B, TO_C]


# classes


async def test_a_class_that_comes_later_is_applied_then(place: Cluster) -> None:
    async with place.resizer():
        await ask_class(place, "gold")
        assert (await applied(place))["modify"] == {"status": "Pending"}
        assert await place.told("VolumeModifyFailed") == ['VAC "gold" does not exist.']
        await place.passes(600)
        assert place.driver.calls == []
        await attributes_class(place, "gold")
    assert place.driver.calls == ["modify h-pv1 tier=gold"]
    assert (await applied(place))["claim"] == "gold"


async def test_a_class_of_another_driver_is_refused(place: Cluster) -> None:
    await attributes_class(place, "theirs", driverName="other.example.com")
    async with place.resizer():
        await ask_class(place, "theirs")
        await place.passes(60)
        assert place.driver.calls == []
        refused = {"status": "Infeasible", "targetVolumeAttributesClassName": "theirs"}
        assert (await applied(place))["modify"] == refused
        assert "ModifyVolumeError" in await conditions(place)
        assert await place.told("VolumeModifyFailed") == [
            "VAC theirs referenced in PVC is for driver other.example.com"
            " which does not match driver name d.example.com"
        ]
        await place.delete(f"{ATTRIBUTES_CLASSES}/theirs")
        await ask_class(place, "b")
    assert place.driver.calls == [TO_B]
    assert await conditions(place) == {}


async def test_no_class_is_asked_for_any_more(cluster: Cluster) -> None:
    await cluster.storage_class()
    await attributes_class(cluster, "b")
    await bound(cluster)
    cluster.driver.next("modify", Fails(Code.INVALID_ARGUMENT))
    async with cluster.resizer():
        await ask_class(cluster, "b")
        await ask_class(cluster, "")
    assert cluster.driver.calls == [TO_B]
    assert await cluster.told("VolumeModifyCanceled") == ["Cancelled modify."]
    assert await conditions(cluster) == {}
    assert (await applied(cluster))["modify"] is None


async def test_a_driver_that_cannot_says_so(place: Cluster) -> None:
    place.driver.without(ControllerCapability.MODIFY_VOLUME)
    async with place.resizer():
        await ask_class(place, "b")
    words = "CSI driver d.example.com does not support VolumeAttributesClass"
    assert await place.told("VolumeModifyFailed") == [words]
    assert (await applied(place))["modify"] is None


# secrets


async def test_the_secret_for_changes_comes_before_that_for_growing(cluster: Cluster) -> None:
    await cluster.storage_class()
    await attributes_class(cluster, "b")
    reference = {"name": "grow", "namespace": "default"}
    await bound(cluster, csi={"controllerExpandSecretRef": reference})
    await cluster.secret("grow", "Z3Jvdw==")
    async with cluster.resizer():
        await ask_class(cluster, "b")
        assert cluster.driver.secrets[-1].reveal() == {"password": "grow"}
        notes = {
            "volume.kubernetes.io/controller-modify-secret-name": "key",
            "volume.kubernetes.io/controller-modify-secret-namespace": "default",
        }
        await cluster.patch(VOLUME, {"metadata": {"annotations": notes}})
        await attributes_class(cluster, "c")
        await ask_class(cluster, "c")
        assert (await applied(cluster))["modify"] is None, "nothing has begun"
        assert await cluster.told("VolumeModifyFailed") == [
            'failed to load secret "default/key": secrets "key" not found'
        ]
        await cluster.secret()
        await cluster.passes(10)
    assert cluster.driver.secrets[-1].reveal() == {"password": "hush"}
    assert (await applied(cluster))["claim"] == "c"


# beside growing


async def test_growing_and_changing_one_volume_take_turns(place: Cluster) -> None:
    gate = asyncio.Event()
    place.driver.next("expand", Waits(gate))
    async with place.resizer():
        await ask(place, "2Gi")
        await ask_class(place, "b")
        assert place.driver.calls == ["expand h-pv1 2Gi"]
        gate.set()
        await place.settle()
    assert place.driver.calls == ["expand h-pv1 2Gi", TO_B]
    assert place.driver.overlaps == []


async def test_a_size_that_is_impossible_does_not_hold_up_a_class(place: Cluster) -> None:
    place.driver.next("expand", Fails(Code.OUT_OF_RANGE))
    place.driver.next("modify", Fails(Code.INTERNAL))
    async with place.resizer():
        await ask(place, "8Gi")
        await ask_class(place, "b")
        await place.passes(5)
    assert place.driver.calls == ["expand h-pv1 8Gi", TO_B, TO_B]
    assert await applied(place) == HAS_B
    assert await size_of(place) == "1Gi"


@pytest.mark.parametrize("writes", range(4))
async def test_killed_between_any_two_writes_the_next_process_ends_the_same(
    place: Cluster, writes: int
) -> None:
    async with place.resizer(writes):
        await ask_class(place, "b")
    async with place.resizer():
        await place.passes(1)
    assert set(place.driver.calls) == {TO_B}
    assert await applied(place) == HAS_B
    assert await conditions(place) == {}
