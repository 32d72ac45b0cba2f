"""The log of CSI calls: what is kept of a call, for how long, and what never is."""

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest

from mooring.csi.call_log import LONGEST_FIELD, VOLUME_FIELDS, CallLog
from mooring.csi.call_query import CallWatch, Question, calls_page
from mooring.csi.cause import Cause, Ref, asked_by, because_of, cause
from mooring.csi.channel import Connection
from mooring.csi.controller import Controller
from mooring.csi.identity import Identity
from mooring.csi.node import Node
from mooring.csi.outcome import TABLES, Code
from mooring.csi.proto import csi_pb2
from mooring.csi.requests import CreateVolume
from mooring.csi.secrets import Secrets
from mooring.csi.volume import CapacityRange
from mooring.model.reference import ObjectReference
from tests.fakes.clock import VirtualClock
from tests.fakes.csi_driver import Fails, FakeCsiDriver, Hangs

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PROBE = "/csi.v1.Identity/Probe"
SECRET = "hunter2-hunter2"


def finished(log: CallLog, count: int, volume: str = "") -> None:
    for _ in range(count):
        call = log.begin("d.example.com", PROBE, NOON, 0.0)
        log.named(call, volume)
        log.end(call, "OK", 0.5)


def test_no_more_calls_are_kept_than_the_budget_has() -> None:
    log = CallLog(most_calls=3)
    finished(log, 5)
    assert [call.number for call in log.done()] == [3, 4, 5]
    assert (log.dropped, log.finished) == (2, 5)


def test_long_names_are_cut_and_count_against_the_budget_of_bytes() -> None:
    log = CallLog(most_bytes=2000)
    finished(log, 10, "v" * 10_000)
    assert len(log.done()[-1].volume) == LONGEST_FIELD
    assert len(log.done()) < 3
    assert log.finished == 10


def test_every_method_about_a_volume_names_a_field_of_its_request() -> None:
    requests = {
        method.name: method.input_type
        for service in csi_pb2.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    for method, field in VOLUME_FIELDS.items():
        assert field in requests[method].fields_by_name, method
    about = {name for name, kind in requests.items() if "volume_id" in kind.fields_by_name}
    assert about <= VOLUME_FIELDS.keys()
    assert requests.keys() <= TABLES.keys()


async def test_a_call_is_kept_with_its_cause_and_without_its_secrets(
    driver: FakeCsiDriver,
) -> None:
    log = CallLog()
    claim = ObjectReference(kind="PersistentVolumeClaim", namespace="web", name="data", uid="u1")
    volume = CreateVolume(
        name="pvc-1",
        capabilities=(),
        capacity=CapacityRange(1),
        parameters={"password": SECRET},
        secrets=Secrets.of_text({"password": SECRET}),
    )
    driver.next("CreateVolume", Fails(Code.OUT_OF_RANGE, f"not with {SECRET}"))
    async with Connection(str(driver.socket), driver="d.example.com", calls=log) as connection:
        with asked_by("provisioner"), because_of(claim):
            await Controller(connection).create(volume, within=5)
    page = calls_page(log, Question(), VirtualClock())
    (call,) = msgspec.json.decode(page)["calls"]
    assert SECRET.encode() not in page
    assert {**call, "started": "", "seconds": 0} == {
        "id": 1,
        "service": "csi.v1.Controller",
        "method": "CreateVolume",
        "started": "",
        "seconds": 0,
        "driver": "d.example.com",
        "volume": "pvc-1",
        "code": "OutOfRange",
        "askedBy": "provisioner",
        "because": {
            "kind": "PersistentVolumeClaim",
            "namespace": "web",
            "name": "data",
            "uid": "u1",
        },
    }


async def test_a_call_is_seen_while_it_hangs_and_its_end_when_it_is_cancelled(
    driver: FakeCsiDriver,
) -> None:
    log = CallLog()
    driver.next("NodeUnpublishVolume", Hangs())
    async with Connection(str(driver.socket), calls=log) as connection:
        calling = asyncio.create_task(Node(connection).unpublish("vol-1", "/t", within=60))
        seen = asyncio.Event()
        log.subscribe(seen.set)
        await asyncio.wait_for(seen.wait(), 20)
        (under_way,) = log.in_flight()
        assert (under_way.volume, under_way.code) == ("vol-1", "")
        calling.cancel()
        await asyncio.wait([calling])
    assert log.in_flight() == []
    assert [call.code for call in log.done()] == ["Canceled"]


async def test_registration_and_identity_calls_are_kept_too(driver: FakeCsiDriver) -> None:
    log = CallLog()
    async with Connection(str(driver.socket), calls=log) as connection:
        await Identity(connection).probe(within=5)
    assert [(call.method, call.volume, call.code) for call in log.done()] == [(PROBE, "", "OK")]


async def test_a_task_inherits_the_cause_and_a_cause_ends_with_its_block() -> None:
    async def inner() -> Cause:
        return cause()

    claim = ObjectReference(kind="PersistentVolumeClaim", name="data")
    with asked_by("node"):
        with because_of(claim):
            task = asyncio.create_task(inner())
        assert cause() == Cause("node")
    assert await task == Cause("node", Ref("PersistentVolumeClaim", "data"))
    assert cause() == Cause()


def test_a_watcher_that_is_slow_hears_how_many_it_missed() -> None:
    log = CallLog(most_calls=2)
    watch = CallWatch(log, Question(), VirtualClock())
    finished(log, 1)
    assert [msgspec.json.decode(line)["type"] for line in watch.poll()] == ["FINISHED"]
    finished(log, 5)
    events = [msgspec.json.decode(line) for line in watch.poll()]
    assert [event["type"] for event in events] == ["LOST", "FINISHED", "FINISHED"]
    assert events[0]["lost"] == 3
    assert watch.poll() == []


def test_a_watcher_hears_of_the_start_and_of_the_end_once() -> None:
    log = CallLog()
    watch = CallWatch(log, Question(), VirtualClock())
    call = log.begin("d.example.com", PROBE, NOON, 0.0)
    assert [msgspec.json.decode(line)["type"] for line in watch.poll()] == ["STARTED"]
    assert watch.poll() == []
    log.end(call, "OK", 1.0)
    (line,) = watch.poll()
    assert msgspec.json.decode(line)["call"]["code"] == "OK"
    assert watch.poll() == []


@pytest.mark.parametrize(
    ("question", "picked"),
    [
        (Question(), True),
        (Question(driver="d.example.com"), True),
        (Question(driver="e.example.com"), False),
        (Question(method="Probe"), True),
        (Question(method="csi.v1.Identity.Probe"), True),
        (Question(method="GetPluginInfo"), False),
        (Question(volume="v"), True),
        (Question(volume="w"), False),
        (Question(slow_seconds=0.5), True),
        (Question(slow_seconds=0.6), False),
        (Question(since=NOON), True),
        (Question(since=NOON.replace(hour=13)), False),
    ],
)
def test_a_question_picks_its_calls(question: Question, *, picked: bool) -> None:
    log = CallLog()
    finished(log, 1, "v")
    page = msgspec.json.decode(calls_page(log, question, VirtualClock()))
    assert bool(page["calls"]) is picked
