"""Claims that ask for more grow, by their drivers and on their nodes."""

import asyncio

import msgspec
import pytest

from mooring.csi.capability import (
    ControllerCapability,
    Expansion,
    Mount,
    VolumeCapability,
    WireMode,
)
from mooring.csi.outcome import Code
from mooring.csi.requests import ExpandVolume
from mooring.csi.volume import CapacityRange
from mooring.errors import Conflict
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.volume import Volume
from mooring.sidecars.resizer.options import ResizerOptions
from mooring.sidecars.writing import OUTRUN
from tests.fakes.objects import PODS, VOLUMES, a_pod, a_volume
from tests.scenarios.sidecars.claims import (
    BEFORE,
    CLAIM,
    NOT_REQUIRED,
    VOLUME,
    as_node,
    ask,
    bound,
    conditions,
    node_finishes,
    resize_status,
    size_of,
    status_of,
)
from tests.scenarios.sidecars.cluster import Cluster
from tests.scenarios.sidecars.driver import After, Fails, Makes, Waits

INFEASIBLE = [Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.OUT_OF_RANGE]
UNCERTAIN = [
    *(Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED),
    *(Code.ABORTED, Code.UNAVAILABLE),
]
FINAL = [code for code in Code if code not in (Code.OK, *INFEASIBLE, *UNCERTAIN)]


@pytest.fixture
async def place(cluster: Cluster) -> Cluster:
    """A claim of 1Gi that is bound, and may grow."""
    await cluster.storage_class(allowVolumeExpansion=True)
    await bound(cluster)
    return cluster


async def test_a_claim_grows_without_a_node(place: Cluster) -> None:
    async with place.resizer() as client:
        await ask(place, "2Gi")
    status = await status_of(place)
    assert status["capacity"] == {"storage": "2Gi"}
    assert status["allocatedResources"] == {"storage": "2Gi"}
    assert "allocatedResourceStatuses" not in status
    assert await conditions(place) == {}
    assert await size_of(place) == "2Gi"
    claim = await place.get(CLAIM)
    assert claim["metadata"]["annotations"][NOT_REQUIRED] == "true"
    assert BEFORE not in (await place.get(VOLUME))["metadata"].get("annotations", {})
    capability = VolumeCapability(Mount(), WireMode.SINGLE_NODE_WRITER)
    assert place.driver.grown == [
        ExpandVolume("h-pv1", CapacityRange(required_bytes=2 << 30), capability)
    ]
    assert await place.told("Resizing") == ["External resizer is resizing volume pv1"]
    assert await place.told("VolumeResizeSuccessful") == ["Resize volume succeeded"]
    assert client.calls == [
        "patch PersistentVolumeClaim",
        "patch PersistentVolume",
        "patch PersistentVolumeClaim",
    ]


async def test_the_node_is_handed_what_is_left_and_the_volume_forgets_when_it_is_done(
    place: Cluster,
) -> None:
    place.driver.needs_node = True
    async with place.resizer():
        await ask(place, "2Gi")
        assert await resize_status(place) == "NodeResizePending"
        assert (await status_of(place))["capacity"] == {"storage": "1Gi"}
        assert await size_of(place) == "2Gi"
        assert (await place.get(VOLUME))["metadata"]["annotations"][BEFORE] == "1Gi"
        told = await conditions(place)
        assert sorted(told) == ["FileSystemResizePending", "Resizing"]
        assert told["FileSystemResizePending"]["message"] == (
            "Waiting for user to (re-)start a pod to finish file system resize of volume on node."
        )
        words = "Require file system resize of volume on node"
        assert await place.told("FileSystemResizeRequired") == [words]
        await node_finishes(place, "2Gi")
        assert BEFORE not in (await place.get(VOLUME))["metadata"].get("annotations", {})
    assert place.driver.calls == ["expand h-pv1 2Gi"]


async def test_it_is_on_record_before_the_driver_is_asked(place: Cluster) -> None:
    gate = asyncio.Event()
    place.driver.next("expand", Waits(gate))
    async with place.resizer():
        await ask(place, "2Gi")
        assert await resize_status(place) == "ControllerResizeInProgress"
        assert (await status_of(place))["allocatedResources"] == {"storage": "2Gi"}
        assert list(await conditions(place)) == ["Resizing"]
        gate.set()
        await place.settle()
        assert await resize_status(place) == ""


async def test_a_node_only_driver_is_asked_nothing(place: Cluster) -> None:
    _node_only(place)
    async with place.resizer():
        await ask(place, "2Gi")
    assert place.driver.calls == []
    assert await resize_status(place) == "NodeResizePending"
    assert await size_of(place) == "2Gi"


def _node_only(cluster: Cluster) -> None:
    cluster.driver.without(ControllerCapability.EXPAND_VOLUME)
    abilities = msgspec.structs.replace(cluster.driver.abilities, node_expands=True)
    cluster.driver.abilities = abilities


async def test_a_node_only_driver_takes_a_lower_request_after_the_node_gave_up(
    place: Cluster,
) -> None:
    _node_only(place)
    async with place.resizer():
        await ask(place, "8Gi")
        await ask(place, "2Gi")
        assert await size_of(place) == "8Gi", "the node may be at it"
        await as_node(place, {"allocatedResourceStatuses": {"storage": "NodeResizeInfeasible"}})
    assert await size_of(place) == "2Gi"
    assert (await status_of(place))["allocatedResources"] == {"storage": "2Gi"}
    assert await resize_status(place) == "NodeResizePending"


async def test_after_a_node_gave_up_the_driver_is_asked_again_for_the_same_size(
    place: Cluster,
) -> None:
    place.driver.needs_node = True
    async with place.resizer():
        await ask(place, "4Gi")
        await ask(place, "3Gi")
        await as_node(place, {"allocatedResourceStatuses": {"storage": "NodeResizeInfeasible"}})
    assert place.driver.calls == ["expand h-pv1 4Gi", "expand h-pv1 4Gi"]
    assert await resize_status(place) == "NodeResizePending"


# failures


@pytest.mark.parametrize("code", INFEASIBLE, ids=lambda code: code.name)
async def test_an_impossible_size_is_tried_again_slowly_and_another_at_once(
    place: Cluster, code: Code
) -> None:
    place.driver.next("expand", Fails(code, "too big"), Fails(code, "too big"))
    async with place.resizer():
        await ask(place, "8Gi")
        assert await resize_status(place) == "ControllerResizeInfeasible"
        error = f"rpc error: code = {code.label} desc = too big"
        told = (await conditions(place))["ControllerResizeError"]
        assert told["message"] == f"failed to expand pvc with {error}"
        words = f'resize volume "pv1" by resizer "d.example.com" failed: {error}'
        assert await place.told("VolumeResizeFailed") == [words]
        await place.passes(290)
        assert place.driver.calls == ["expand h-pv1 8Gi"]
        await place.passes(20)
        assert place.driver.calls == ["expand h-pv1 8Gi"] * 2
        assert await resize_status(place) == "ControllerResizeInfeasible"
        await ask(place, "3Gi")
        assert place.driver.calls[2:] == ["expand h-pv1 3Gi"]
    assert (await status_of(place))["capacity"] == {"storage": "3Gi"}


@pytest.mark.parametrize("code", FINAL, ids=lambda code: code.name)
async def test_after_a_final_answer_a_lower_request_counts(place: Cluster, code: Code) -> None:
    place.driver.next("expand", Fails(code))
    async with place.resizer():
        await ask(place, "8Gi")
        assert await resize_status(place) == "ControllerResizeInProgress"
        assert "ControllerResizeError" in await conditions(place)
        await ask(place, "3Gi")
    assert place.driver.calls == ["expand h-pv1 8Gi", "expand h-pv1 3Gi"]
    assert await conditions(place) == {}


@pytest.mark.parametrize("code", UNCERTAIN, ids=lambda code: code.name)
async def test_without_an_answer_the_size_stays_until_there_is_one(
    place: Cluster, code: Code
) -> None:
    place.driver.next("expand", After(Fails(code)), Fails(code))
    async with place.resizer():
        await ask(place, "8Gi")
        assert list(await conditions(place)) == ["Resizing"]
        await ask(place, "3Gi")
        await place.passes(10)
    assert set(place.driver.calls) == {"expand h-pv1 8Gi"}
    assert (await status_of(place))["capacity"] == {"storage": "8Gi"}
    assert await size_of(place) == "8Gi"


async def test_a_final_answer_outlives_the_process_that_heard_it(place: Cluster) -> None:
    place.driver.next("expand", Fails(Code.INTERNAL))
    async with place.resizer():
        await ask(place, "8Gi")
    await ask(place, "3Gi")
    async with place.resizer():
        await place.settle()
    assert place.driver.calls == ["expand h-pv1 8Gi", "expand h-pv1 3Gi"]


async def test_an_unanswered_call_outlives_the_process_that_made_it(place: Cluster) -> None:
    place.driver.next("expand", Fails(Code.INTERNAL), Fails(Code.DEADLINE_EXCEEDED))
    async with place.resizer():
        await ask(place, "8Gi")
        await place.passes(1.5)
        assert place.driver.count("expand") == 2
    await ask(place, "3Gi")
    async with place.resizer():
        await place.settle()
    assert set(place.driver.calls) == {"expand h-pv1 8Gi"}


@pytest.mark.parametrize("size", [0, 1, (2 << 30) - 1])
async def test_an_answer_with_less_than_asked_for_is_the_drivers_mistake(
    place: Cluster, size: int
) -> None:
    place.driver.next("expand", Makes({"capacity_bytes": size}))
    async with place.resizer():
        await ask(place, "2Gi")
        assert await size_of(place) == "1Gi"
        assert (await status_of(place))["capacity"] == {"storage": "1Gi"}
        (words,) = await place.told("VolumeResizeFailed")
        assert f"the driver answered with a size of {size} bytes" in words
        await place.passes(2)
    assert await size_of(place) == "2Gi", "it was asked again"


async def test_a_driver_that_gives_more_is_believed(place: Cluster) -> None:
    place.driver.next("expand", Makes({"capacity_bytes": 4 << 30}))
    async with place.resizer():
        await ask(place, "2Gi")
        assert (await status_of(place))["capacity"] == {"storage": "4Gi"}
        await ask(place, "3Gi")
    assert place.driver.count("expand") == 1


# secrets


async def test_a_missing_secret_leaves_no_trace_but_an_event(cluster: Cluster) -> None:
    await cluster.storage_class(allowVolumeExpansion=True)
    reference = {"name": "key", "namespace": "default"}
    await bound(cluster, csi={"controllerExpandSecretRef": reference})
    async with cluster.resizer():
        await ask(cluster, "8Gi")
        assert await resize_status(cluster) == ""
        assert await conditions(cluster) == {}
        (words,) = await cluster.told("VolumeResizeFailed")
        assert words == 'failed to load secret "default/key": secrets "key" not found'
        await ask(cluster, "3Gi")
        await cluster.secret()
        await cluster.passes(10)
    assert cluster.driver.calls == ["expand h-pv1 3Gi"]
    assert cluster.driver.secrets[-1].reveal() == {"password": "hush"}


# volumes in use


async def _pod(cluster: Cluster, name: str = "web", node: str = "n1") -> None:
    await cluster.create(PODS, a_pod(name, node, "data"))


async def _ends(cluster: Cluster, name: str = "web") -> None:
    answer = await cluster.api.patch(f"{PODS}/{name}/status", {"status": {"phase": "Succeeded"}})
    assert answer.code == 200, answer.text
    await cluster.settle()


IN_USE = (
    "Unable to expand default/data because CSI driver d.example.com only supports"
    " offline expansion and volume is currently in-use"
)


async def test_a_volume_in_use_waits_for_its_last_pod_and_grows_at_once_then(
    place: Cluster,
) -> None:
    await place.node("n1")
    await _pod(place)
    await _pod(place, "other")
    place.driver.next("expand", Fails(Code.FAILED_PRECONDITION, "in use"))
    async with place.resizer():
        await ask(place, "2Gi")
        await place.passes(600)
        assert place.driver.count("expand") == 1
        assert IN_USE in await place.told("VolumeResizeFailed")
        await _ends(place)
        assert place.driver.count("expand") == 1, "the other one runs"
        await _ends(place, "other")
        await place.passes(OUTRUN.first)
        assert place.driver.count("expand") == 2
    assert await size_of(place) == "2Gi"


async def test_a_driver_that_says_offline_is_not_asked_while_a_pod_runs(place: Cluster) -> None:
    _offline(place)
    await place.node("n1")
    await _pod(place)
    async with place.resizer():
        await ask(place, "2Gi")
        await place.passes(5)
        assert place.driver.calls == []
        assert await resize_status(place) == ""
        await _ends(place)
        await place.passes(OUTRUN.first)
    assert place.driver.calls == ["expand h-pv1 2Gi"]


def _offline(cluster: Cluster) -> None:
    offline = frozenset({Expansion.OFFLINE})
    cluster.driver.abilities = msgspec.structs.replace(cluster.driver.abilities, expansion=offline)


async def test_a_pod_on_no_node_is_not_in_the_way(place: Cluster) -> None:
    _offline(place)
    await _pod(place, node="")
    async with place.resizer():
        await ask(place, "2Gi")
        await place.passes(5)
    assert place.driver.calls == ["expand h-pv1 2Gi"]


async def test_without_the_flag_pods_are_not_looked_at(place: Cluster) -> None:
    place.resizing = ResizerOptions(handle_in_use=False)
    await place.node("n1")
    await _pod(place)
    place.driver.next("expand", Fails(Code.FAILED_PRECONDITION))
    async with place.resizer():
        await ask(place, "2Gi")
        await place.passes(2)
    assert place.driver.count("expand") == 2


# identities and caches


async def test_a_claim_made_anew_under_the_same_name_inherits_nothing(place: Cluster) -> None:
    place.driver.next("expand", Fails(Code.OUT_OF_RANGE))
    async with place.resizer():
        await ask(place, "8Gi")
        await place.delete(CLAIM)
        await place.passes(1)
        await bound(place, 2)
        await ask(place, "8Gi")
    assert place.driver.calls == ["expand h-pv1 8Gi", "expand h-pv2 8Gi"]


async def test_a_claim_of_another_driver_or_of_a_volume_that_points_elsewhere_is_left_alone(
    place: Cluster,
) -> None:
    await bound(place, 2, "theirs", csi={"driver": "other.example.com"})
    async with place.resizer():
        await ask(place, "2Gi", "theirs")
    assert place.driver.calls == []
    assert await place.told("Resizing") == []


async def test_a_volume_that_comes_late_is_waited_for(place: Cluster) -> None:
    async with place.resizer() as client:
        client.hold(Volume)
        await place.create(VOLUMES, a_volume("probe", csi={"driver": "o", "volumeHandle": "h"}))
        await bound(place, 2, "late")
        await ask(place, "2Gi", "late")
        assert place.driver.calls == []
        client.let_through()
        await place.settle()
    assert place.driver.calls == ["expand h-pv2 2Gi"]


async def test_a_conflict_is_no_failure(place: Cluster) -> None:
    async with place.resizer() as client:
        client.refusals["patch PersistentVolumeClaim"] = [Conflict("changed")]
        await ask(place, "2Gi")
        await place.passes(0.1)
    assert await size_of(place) == "2Gi"
    assert await place.told("VolumeResizeFailed") == []


async def test_a_claim_deleted_while_it_grows_leaves_the_size_on_the_volume(
    place: Cluster,
) -> None:
    gate = asyncio.Event()
    place.driver.needs_node = True
    place.driver.next("expand", Waits(gate))
    async with place.resizer():
        await ask(place, "2Gi")
        await place.delete(CLAIM)
        gate.set()
        await place.settle()
    volume = await place.get(VOLUME)
    assert volume["spec"]["capacity"] == {"storage": "2Gi"}
    assert volume["metadata"]["annotations"][BEFORE] == "1Gi"


async def test_the_node_step_is_remembered_by_the_volume_of_a_later_claim(place: Cluster) -> None:
    place.driver.needs_node = True
    async with place.resizer():
        await ask(place, "2Gi")
        await place.delete(CLAIM)
        await place.patch(VOLUME, {"spec": {"claimRef": None}})
        place.driver.needs_node = False
        await place.claim("heir", volumeName="pv1", resources={"requests": {"storage": "2Gi"}})
        assert await place.phase("heir") == "Bound"
        await place.passes(OUTRUN.first)
    assert (await status_of(place, "heir"))["capacity"] == {"storage": "1Gi"}
    assert await resize_status(place, "heir") == "NodeResizePending"


async def test_many_claims_grow_ten_at_a_time(place: Cluster) -> None:
    names = [f"c{number}" for number in range(2, 32)]
    for number, name in enumerate(names, 2):
        await bound(place, number, name)
    async with place.resizer():
        for name in names:
            await ask(place, "2Gi", name)
    assert place.driver.count("expand") == len(names)
    assert place.driver.busiest <= 10
    assert {await size_of(place, f"pv{number}") for number in range(2, 32)} == {"2Gi"}


async def test_pods_are_not_watched_without_need(place: Cluster) -> None:
    async with place.resizer() as client:
        await ask(place, "2Gi")
    assert "Pod" not in client.watched


async def test_a_modify_only_driver_says_that_it_cannot_grow(place: Cluster) -> None:
    place.driver.without(ControllerCapability.EXPAND_VOLUME)
    async with place.resizer():
        await ask(place, "2Gi")
    words = "CSI driver d.example.com does not support volume expansion"
    assert await place.told("VolumeResizeFailed") == [words]


# kills


@pytest.mark.parametrize("needs_node", [False, True], ids=["no node", "node"])
@pytest.mark.parametrize("writes", range(5))
async def test_killed_between_any_two_writes_the_next_process_ends_the_same(
    place: Cluster, writes: int, *, needs_node: bool
) -> None:
    place.driver.needs_node = needs_node
    async with place.resizer(writes):
        await ask(place, "2Gi")
    place.driver.needs_node = False  # a driver may say so only once
    async with place.resizer():
        await place.passes(1)
    grew_before = writes >= 2
    after: Doc = {"capacity": await size_of(place), "resize": await resize_status(place)}
    if needs_node and grew_before:
        assert after == {"capacity": "2Gi", "resize": "NodeResizePending"}
    else:
        assert after == {"capacity": "2Gi", "resize": ""}
        assert (await status_of(place))["capacity"] == {"storage": "2Gi"}
    assert set(place.driver.calls) == {"expand h-pv1 2Gi"}
    assert place.driver.overlaps == []


async def test_what_a_stalled_watch_held_back_is_done_when_it_goes_on(place: Cluster) -> None:
    async with place.resizer() as client:
        client.hold(Claim)
        await ask(place, "2Gi")
        await ask(place, "3Gi")
        await place.passes(30)
        assert place.driver.calls == []
        client.let_through()
        await place.passes(1)
    assert place.driver.calls[-1] == "expand h-pv1 3Gi"
    assert (await status_of(place))["capacity"] == {"storage": "3Gi"}
    assert await place.told("VolumeResizeFailed") == []
