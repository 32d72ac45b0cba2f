"""Attachments as a node sees them: it waits for them."""

from typing import Any

import pytest

from mooring.plugins.contract import NotStarted, VolumeError
from mooring.plugins.csi.attachment_name import attachment_name
from tests.unit.plugins.csi.world import (
    DRIVER,
    HANDLE,
    NODE,
    POD,
    CsiWorld,
    a_persistent_use,
)

USE = a_persistent_use()
ATTACHMENT = attachment_name(HANDLE, DRIVER, NODE)


async def waits(world: CsiWorld) -> str:
    return await world.plugin.attacher().wait_for_attach(USE, "", POD)


async def test_the_device_is_called_like_the_attachment(world: CsiWorld) -> None:
    world.attach()
    assert await waits(world) == ATTACHMENT


ATTACHMENTS: dict[str, tuple[dict[str, Any] | None, str]] = {
    "none": (None, f"volume {HANDLE} has GET error for volume attachment {ATTACHMENT}: "),
    "one that is not done": (
        {"attached": False},
        f"volume {HANDLE} is not attached for volume attachment {ATTACHMENT}",
    ),
    "one that failed": ({"attached": False, "attachError": {"message": "no room"}}, "no room"),
}


@pytest.mark.parametrize(("status", "text"), ATTACHMENTS.values(), ids=ATTACHMENTS)
async def test_an_attachment_to_wait_for(
    world: CsiWorld, status: dict[str, Any] | None, text: str
) -> None:
    if status is not None:
        world.attach(**status)
    with pytest.raises(NotStarted, match=text):
        await waits(world)


async def test_what_is_attached(world: CsiWorld) -> None:
    attacher = world.plugin.attacher()
    assert await attacher.are_attached([USE], NODE) == {"pv1": False}
    world.attach()
    assert await attacher.are_attached([USE], NODE) == {"pv1": True}
    assert await attacher.are_attached([USE], "n2") == {"pv1": False}
    world.objects.define(attachRequired=False)
    assert await attacher.are_attached([USE], "n2") == {"pv1": True}


async def test_a_node_neither_attaches_nor_detaches(world: CsiWorld) -> None:
    with pytest.raises(VolumeError, match="attaching volumes from the kubelet is not supported"):
        await world.plugin.attacher().attach(USE, NODE)
    with pytest.raises(VolumeError, match="detaching volumes from the kubelet is not supported"):
        await world.plugin.detacher().detach(f"{DRIVER}^{HANDLE}", NODE)
