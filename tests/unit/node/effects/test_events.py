"""In which words a failed volume operation is told, and how often."""

from errno import EIO, EPERM

import pytest

from mooring.errors import HostError, KernelRefused
from mooring.model.event import EventType
from mooring.node.effects.events import FAILED_MOUNT, MAY_NOT_MOUNT, failures_recorded

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


@pytest.mark.parametrize(("error", "told"), TOLD.values(), ids=TOLD)
def test_events(error: HostError, told: str, caplog: pytest.LogCaptureFixture) -> None:
    recorded: list[tuple[EventType, str, str]] = []

    def record(kind: EventType, reason: str, message: str) -> None:
        recorded.append((kind, reason, message))

    with pytest.raises(type(error)), failures_recorded(record, FAILED_MOUNT, SETUP, "a"):
        raise error
    assert recorded == [(EventType.WARNING, FAILED_MOUNT, told)]
    assert ("Mounting command" in caplog.text) is False
    assert "volume=a" in caplog.text
