"""The law of copies: whatever happens to a volume meanwhile, its copy is the volume at one moment.

The image is a real file; devices, mounts and traces are played. Between any two blocks that the
copy reads, the volume may be written to, staged and unstaged, on a new device each time.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.driver import copying, freezing
from mooring.driver.backends import catching_up, image
from mooring.driver.copying import Copied, Wanted, copy_volume
from mooring.driver.in_flight import contents_of
from mooring.driver.refusal import ABORTED, CallRefused
from mooring.driver.settings import MIB
from tests.unit.driver.calls import Driver, refused

BLOCK = 64 << 10  # of what is compared
BLOCKS = 8


class Do(Enum):
    NOTHING = "nothing"
    WRITE = "write"
    STAGE = "stage"
    UNSTAGE = "unstage"


class PlayedTrace:
    """Hears the writes to one device, and to no other."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, int]] = []

    def take(self) -> list[tuple[int, int]]:
        taken, self.heard = self.heard, []
        return taken


class World:
    """A volume that somebody uses while it is copied."""

    def __init__(self, place: Path, script: Sequence[Do], *, is_traced: bool = True) -> None:
        self.driver = Driver(place)
        self.core = self.driver.core
        self.id = self.driver.make(size=16 * MIB).volume_id
        self.image = self.driver.image(self.id)
        self.image.write_bytes(bytes(BLOCK * BLOCKS))
        self.script = list(script)
        self.is_traced = is_traced
        self.is_staged = self.is_frozen = False
        self.traces: list[PlayedTrace] = []  # of the present device
        self.count = 0
        self.moments = [self.image.read_bytes()]  # all that the volume ever was
        self.freezes = 0

    def step(self) -> None:
        """What happens between two blocks of the copy."""
        if not self.script:
            return
        match self.script.pop(0):
            case Do.WRITE:
                self.write()
            case Do.STAGE | Do.UNSTAGE as turn:
                self.turn(to_staged=turn is Do.STAGE)
            case Do.NOTHING:
                pass

    def write(self) -> None:
        if not self.is_staged or self.is_frozen:
            return
        self.count += 1
        begin = self.count * 5 % BLOCKS * BLOCK
        with self.image.open("r+b") as file:
            file.seek(begin)
            file.write(self.count.to_bytes(4, "big") * (BLOCK // 4))
        for trace in self.traces:
            trace.heard.append((begin, begin + BLOCK))
        self.moments.append(self.image.read_bytes())

    def turn(self, *, to_staged: bool) -> None:
        """As NodeStageVolume and NodeUnstageVolume do."""
        with suppress(CallRefused), self.core.in_flight.holding(self.id):
            if self.is_staged != to_staged:
                self.core.stagings.note(self.id)
                self.is_staged = to_staged
                self.traces = []

    def follow(self, *_: object) -> PlayedTrace | None:
        if not self.is_traced:
            return None
        self.traces.append(PlayedTrace())
        return self.traces[-1]

    @contextmanager
    def frozen(self, _: object, __: float, before: Callable[[], None]) -> Iterator[float]:
        before()
        self.step()
        self.is_frozen = True
        self.freezes += 1
        yield 0.0
        self.is_frozen = False

    def copy(self) -> tuple[Copied, bytes]:
        target = self.core.state.root / "copy"
        with self.core.in_flight.holding(reading=[contents_of(self.id)]):
            copied = copy_volume(self.core, Wanted(self.id, target, BLOCK * BLOCKS))
        return copied, target.read_bytes()


@contextmanager
def played(world: World) -> Iterator[None]:
    """The machine is that of `world`, and time passes between any two blocks."""
    really_copy, really_read = image._copy_range, catching_up.read_into

    def copy_range(source: int, target: int, begin: int, end: int) -> None:
        for at in range(begin, end, BLOCK):
            world.step()
            really_copy(source, target, at, min(at + BLOCK, end))

    def read_into(file: int, into: bytearray, begin: int, length: int) -> None:
        world.step()
        really_read(file, into, begin, length)

    def mounted(*_: object) -> object:
        return "mounted" if world.is_staged else None

    replaced: list[tuple[Any, str, Callable[..., Any] | int]] = [
        (image, "_share", lambda *_: False),
        (image, "_copy_range", copy_range),
        (catching_up, "read_into", read_into),
        (catching_up, "_PIECE", BLOCK),
        (copying, "_written_mount", mounted),
        (copying, "_follow", world.follow),
        (freezing, "frozen", world.frozen),
        (freezing, "flush_all", lambda *_: world.step()),
        (freezing, "LITTLE_BYTES", BLOCK),
    ]
    with pytest.MonkeyPatch.context() as patch:
        for where, name, what in replaced:
            patch.setattr(where, name, what)
        yield


@settings(max_examples=60, deadline=None)
@given(
    script=st.lists(st.sampled_from(Do), max_size=60),
    is_staged=st.booleans(),
    is_traced=st.booleans(),
)
def test_a_copy_is_the_volume_at_one_moment_whatever_happens_meanwhile(
    script: list[Do], *, is_staged: bool, is_traced: bool
) -> None:
    with TemporaryDirectory() as place:
        world = World(Path(place), script, is_traced=is_traced)
        world.is_staged = is_staged
        with played(world):
            _, made = world.copy()
        assert made in world.moments


@pytest.mark.parametrize(
    ("script", "freezes"),
    [
        pytest.param([Do.STAGE, *[Do.WRITE] * 20], 1, id="staged and written to"),
        pytest.param([Do.UNSTAGE], 0, id="unstaged"),
        pytest.param([Do.WRITE, Do.UNSTAGE, Do.STAGE, *[Do.WRITE] * 9], 1, id="staged anew"),
        pytest.param([Do.STAGE, Do.UNSTAGE] * 100, 0, id="staged and unstaged without an end"),
    ],
)
def test_the_last_state_decides_whether_it_is_frozen(
    tmp_path: Path, script: list[Do], freezes: int
) -> None:
    world = World(tmp_path, script)
    world.is_staged = script[0] is not Do.STAGE
    with played(world):
        _, made = world.copy()
    assert made in world.moments
    assert world.freezes == freezes


def test_a_volume_that_is_being_copied_is_not_deleted_nor_grown_and_that_is_said(
    tmp_path: Path,
) -> None:
    driver = Driver(tmp_path)
    volume = driver.make().volume_id
    with driver.core.in_flight.holding(reading=[contents_of(volume)]):
        with refused(ABORTED, f"a copy of {volume} is still being made"):
            driver.delete(volume)
        with refused(ABORTED, f"a copy of {volume} is still being made"):
            driver.expand(volume, 32 * MIB)
        driver.expand(volume, 16 * MIB)  # nothing to do
        driver.attach(volume)
        driver.detach(volume)
        assert driver.snap(volume).ready_to_use  # a second copy
    driver.expand(volume, 32 * MIB)
    driver.delete(volume)


def test_a_copy_has_the_record_of_its_end(tmp_path: Path) -> None:
    """What other calls wrote to the record meanwhile is neither lost nor missing."""
    world = World(tmp_path, [])
    world.script = [Do.STAGE]
    really = world.turn

    def turn(*, to_staged: bool) -> None:
        really(to_staged=to_staged)
        world.driver.attach(world.id)

    world.turn = turn  # type: ignore[method-assign]
    with played(world):
        copied, _ = world.copy()
    (volume,) = copied.volumes
    assert volume.attachments
    assert world.core.get_volume(world.id) == volume
    assert not volume.is_frozen
    assert os.stat(world.image).st_size == BLOCK * BLOCKS
