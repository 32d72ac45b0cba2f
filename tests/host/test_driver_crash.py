"""A driver killed at every step of every call.

The next life finds a whole world: what was asked for is there or is not, nothing is half there,
nothing is left lying about, and not a byte that somebody wrote is lost. The call, made again, ends
as if nothing had happened; and in the end everything can be put away.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.csi.proto import csi_pb2 as csi
from mooring.host import block_device, loop_device
from mooring.host.mount import Mounts
from tests.conftest import IS_LONG
from tests.host.conftest import NeedsTool, clear
from tests.host.driver_life import Machine
from tests.host.killed_driver import Kind, Life, Order, Phase
from tests.host.killing import Killer, killing

EVERY_PHASE = [pytest.param(phase, id=phase.value) for phase in Phase]
TURNS = 2  # that the steps of a call are shared among: one test for all takes long
ODD, EVEN = range(TURNS)
USUAL = [(Kind.EXT4, ODD), (Kind.BLOCK, EVEN)]
LONG = [(Kind.EXT4, EVEN), (Kind.BLOCK, ODD)]  # these only in `make conformance`
TRIED = [
    pytest.param(kind, turn, id=f"{'even' if turn else 'odd'} steps, {kind.value}")
    for kind, turn in (USUAL + LONG if IS_LONG else USUAL)
]
WRITTEN = list(Phase)[list(Phase).index(Phase.SNAPSHOT) :]


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer[Order]]:
    with killing("tests.host.killed_driver") as server:
        yield Killer(server)


def cuts(killer: Killer[Order], place: Path, kind: Kind, phase: Phase, turn: int) -> Iterator[Path]:
    """What each life leaves that is killed some steps later than the one before."""
    root = place / "whole"
    root.mkdir()
    whole = killer.live(Order(str(root), kind, phase, 0))
    clear(root)
    assert whole.changes
    for cut in range(1 + turn, whole.changes + 1, TURNS):
        root = place / str(cut)
        root.mkdir()
        ended = killer.live(Order(str(root), kind, phase, cut))
        if ended.was_killed:
            yield root
        else:  # how often a copy looks for what was written meanwhile depends on the machine
            assert whole.changes // 2 < ended.changes < cut, f"{cut} of {whole.changes}"
        clear(root)


def check_whole(machine: Machine) -> None:
    """Nothing half there, nothing left over."""
    state = machine.driver.core.state
    assert [*(state.root / "making").iterdir(), *(state.root / "trash").iterdir()] == []
    volumes = {volume.id: volume for volume in state.volumes.all()}
    assert sorted(path.name for path in (state.root / "volumes").iterdir()) == sorted(volumes)
    for entry in machine.driver.ListVolumes(csi.ListVolumesRequest()).entries:
        assert not entry.status.volume_condition.abnormal, entry.status.volume_condition.message
    staged = [volume for volume in volumes.values() if volume.stage]
    assert len(machine.devices()) == len(staged)
    assert not any(volume.is_frozen for volume in volumes.values())


@pytest.mark.parametrize(("kind", "turn"), TRIED)
@pytest.mark.parametrize("phase", EVERY_PHASE)
def test_killed_anywhere(
    killer: Killer[Order],
    place: Path,
    mounts: Mounts,
    needs_tool: NeedsTool,
    kind: Kind,
    phase: Phase,
    turn: int,
) -> None:
    needs_tool("mkfs.ext4")
    for root in cuts(killer, place, kind, phase, turn):
        machine = Machine(root, mounts)
        check_whole(machine)
        life = Life(machine, kind)
        life.call(phase)
        if phase in WRITTEN and phase is not Phase.DELETE:
            check_data(life)
        check_sizes(machine)
        check_whole(machine)
        put_away(life)
        assert machine.devices() == []
        assert [entry.at for entry in mounts.table().below(root)] == []
        assert list((machine.state / "volumes").iterdir()) == []
        assert list((machine.state / "snapshots").iterdir()) == []
        assert list((machine.state / "groups").iterdir()) == []


def check_data(life: Life) -> None:
    """What was written is there, in the volume and in its copies; and more can be written."""
    machine, volume = life.machine, life.volume
    if machine.driver.core.get_volume(volume).stage is None:
        machine.stage(volume, **life.kind.capability)
    assert life.is_marked(volume)
    if life.kind is Kind.EXT4:
        (life.files / "more").write_text("nothing stands still")
    machine.unpublish(volume)
    machine.unstage(volume)
    for copy in set(machine.driver.ids()) - {volume}:
        machine.stage(copy, **life.kind.capability)
        assert life.is_marked(copy)
        machine.unstage(copy)


def check_sizes(machine: Machine) -> None:
    """A device is as large as its volume."""
    for volume in machine.driver.core.state.volumes.all():
        for attached in loop_device.find_all(machine.driver.image(volume.id)):
            assert block_device.size_bytes(attached) == volume.size_bytes


def put_away(life: Life) -> None:
    for phase in (
        Phase.DROP_INLINE,
        Phase.UNPUBLISH,
        Phase.UNSTAGE,
        Phase.DETACH,
        Phase.DELETE_SNAPSHOT,
        Phase.DELETE_GROUP,
        Phase.DELETE,
    ):
        life.call(phase)
