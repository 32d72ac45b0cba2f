"""In which words a failed volume operation is told, and how often."""

from contextlib import AbstractContextManager
from errno import EIO, EPERM

import pytest

from mooring.errors import HostError, KernelRefused
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.reference import ClaimRef
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import CsiSource
from mooring.model.volume_use import VolumeUse
from mooring.node.effects.events import (
    FAILED_MOUNT,
    MAY_NOT_MOUNT,
    claim_and_driver,
    failures_recorded,
)
from mooring.plugins.contract import NotStarted, NotUpYet, Tell

SETUP = "MountVolume.SetUp failed"

TOLD = {
    "what failed, of which volume": (
        HostError("no such device"),
        'MountVolume.SetUp failed for volume "a" : no such device',
    ),
    "a refusal of the disk": (
        KernelRefused("input/output error", EIO),
        'MountVolume.SetUp failed for volume "a" : input/output error',
    ),
    "a node that may not mount, without a word of the mount": (
        KernelRefused("mount failed: operation not permitted\nMounting command: mount", EPERM),
        MAY_NOT_MOUNT,
    ),
}


def recorded_by(record: Tell) -> AbstractContextManager[None]:
    return failures_recorded(record, FAILED_MOUNT, SETUP, "a", pod=Key("ns", "web"))


@pytest.mark.parametrize(("error", "told"), TOLD.values(), ids=TOLD)
def test_events(error: HostError, told: str, caplog: pytest.LogCaptureFixture) -> None:
    recorded: list[tuple[EventType, str, str]] = []

    def record(kind: EventType, reason: str, message: str) -> None:
        recorded.append((kind, reason, message))

    with pytest.raises(type(error)), recorded_by(record):
        raise error
    assert recorded == [(EventType.WARNING, FAILED_MOUNT, told)]
    assert ("Mounting command" in caplog.text) is False
    assert "volume=a pod=ns/web error=" in caplog.text


def test_a_driver_that_comes_up_with_the_node_is_an_event_and_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorded: list[str] = []
    for error in (NotUpYet("no driver"), NotStarted("no driver")):
        with (
            caplog.at_level("INFO"),
            pytest.raises(NotStarted),
            recorded_by(lambda kind, reason, message: recorded.append(message)),
        ):
            raise error
    assert recorded == ['MountVolume.SetUp failed for volume "a" : no driver'] * 2
    assert [one.levelname for one in caplog.records] == ["WARNING"]


def test_a_log_line_names_claim_and_driver_where_there_are_some() -> None:
    spec = VolumeSpec(
        claim_ref=ClaimRef(namespace="ns", name="data"),
        csi=CsiSource(driver="a.csi", volume_handle="1"),
    )
    volume = Volume(metadata=ObjectMeta(name="v"), spec=spec)
    assert claim_and_driver(VolumeUse(volume=volume)) == {
        "claim": Key("ns", "data"),
        "driver": "a.csi",
    }
    assert claim_and_driver(VolumeUse()) == {}
