"""A sidecar that lost its lease asks nothing of a driver that changes anything."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from mooring.csi.requests import (
    AttachVolume,
    CreateGroupSnapshot,
    CreateSnapshot,
    CreateVolume,
    ExpandVolume,
    GroupMembers,
    ListSnapshots,
)
from mooring.model.keys import Key
from mooring.reconcile.leadership import Leadership, NotLeading
from mooring.sidecars.driver import Calls
from mooring.sidecars.fenced import FencedCalls, FencedGroupCalls, FencedSnapshotCalls
from mooring.sidecars.snapshot_calls import GroupCalls, SnapshotCalls
from tests.fakes.clock import VirtualClock


class Noted:
    """A driver that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        async def call(*_: object, **__: object) -> str:
            self.asked.append(name)
            return name

        return call


@pytest.mark.parametrize("leads", [True, False])
async def test_only_a_leader_changes_anything(*, leads: bool) -> None:
    clock, driver = VirtualClock(), Noted()
    leadership = Leadership(clock, Key("default", "driver"))
    calls = FencedCalls(cast(Calls, driver), leadership)
    if leads:
        leadership.lasts_until(clock.monotonic() + 1)
    volume, attachment = cast(CreateVolume, None), cast(AttachVolume, None)
    changes: dict[str, Callable[[], Awaitable[object]]] = {
        "create": lambda: calls.create(volume, within=1),
        "delete": lambda: calls.delete("id", within=1),
        "attach": lambda: calls.attach(attachment, within=1),
        "detach": lambda: calls.detach("id", "n1", within=1),
        "expand": lambda: calls.expand(cast(ExpandVolume, None), within=1),
        "modify": lambda: calls.modify("id", {}, within=1),
    }
    for change in changes.values():
        if leads:
            await change()
        else:
            with pytest.raises(NotLeading):
                await change()
    await calls.list_all(within=1)
    await calls.get_capacity(within=1)
    assert driver.asked == [*(changes if leads else ()), "list_all", "get_capacity"]


@pytest.mark.parametrize("leads", [True, False])
async def test_only_a_leader_takes_and_deletes_snapshots(*, leads: bool) -> None:
    clock, driver = VirtualClock(), Noted()
    leadership = Leadership(clock, Key("default", "driver"))
    single = FencedSnapshotCalls(cast(SnapshotCalls, driver), leadership)
    groups = FencedGroupCalls(cast(GroupCalls, driver), leadership)
    if leads:
        leadership.lasts_until(clock.monotonic() + 1)
    changes: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: single.create(cast(CreateSnapshot, None), within=1),
        lambda: single.delete("id", within=1),
        lambda: groups.create(cast(CreateGroupSnapshot, None), within=1),
        lambda: groups.delete(GroupMembers("id", ()), within=1),
    )
    for change in changes:
        if leads:
            await change()
        else:
            with pytest.raises(NotLeading):
                await change()
    await single.get("id", within=1)
    await single.list_all(ListSnapshots(), within=1)
    await groups.get(GroupMembers("id", ()), within=1)
    changed = ["create", "delete", "create", "delete"] if leads else []
    assert driver.asked == [*changed, "get", "list_all", "get"]
