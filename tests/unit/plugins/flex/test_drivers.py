"""Drivers that come, change and go in a directory while it is watched."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from mooring.clock import RealClock
from mooring.plugins.flex.driver import Driver
from mooring.plugins.flex.drivers import Drivers, scan
from mooring.plugins.flex.prober import FlexProber
from mooring.plugins.registry import Found, Gone
from tests.fakes.flex_driver import NAME, PROGRAM, WrittenDriver
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.world import a_host

PATIENCE = 20.0  # seconds


class Watched:
    def __init__(self, directory: Path) -> None:
        self.drivers = Drivers(directory, RealClock())
        self.told: list[str] = []
        self._stirred = asyncio.Event()
        self.drivers.on_change(self._heard)

    def _heard(self, name: str) -> None:
        self.told.append(name)
        self._stirred.set()

    async def until(self, right: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not right():
                self._stirred.clear()
                await self._stirred.wait()

    async def until_loaded(self, name: str = NAME, other_than: Driver | None = None) -> Driver:
        await self.until(lambda: self.drivers.find(name) not in (None, other_than))
        found = self.drivers.find(name)
        assert found is not None
        return found


@asynccontextmanager
async def watching(directory: Path) -> AsyncIterator[Watched]:
    watched = Watched(directory)
    running = asyncio.create_task(watched.drivers.run())
    try:
        async with asyncio.timeout(PATIENCE):
            await watched.drivers.looked.wait()
        yield watched
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "usr" / "exec"


async def test_drivers_that_are_there_are_loaded_first(place: Path) -> None:
    WrittenDriver(place)
    WrittenDriver(place, "plain")
    async with watching(place) as watched:
        assert {*watched.drivers.all()} == {NAME, "plain"}


async def test_a_directory_that_does_not_exist_is_waited_for(place: Path) -> None:
    async with watching(place) as watched:
        assert not watched.drivers.all()
        WrittenDriver(place)
        await watched.until_loaded()


async def test_a_driver_renamed_into_place_is_loaded_once(place: Path) -> None:
    WrittenDriver(place, "plain")
    hidden = WrittenDriver(place.parent / "elsewhere")
    async with watching(place) as watched:
        hidden.home.rename(place / ".disk")
        (place / ".disk").rename(place / hidden.home.name)
        await watched.until_loaded()
        assert watched.told == ["plain", NAME]


async def test_a_driver_that_is_copied_and_then_made_executable(place: Path) -> None:
    written = WrittenDriver(place)
    written.program.unlink()
    async with watching(place) as watched:
        written.program.write_text(PROGRAM)
        written.program.chmod(0o755)
        await watched.until_loaded()


async def test_a_driver_that_is_replaced_is_another(place: Path) -> None:
    written = WrittenDriver(place)
    async with watching(place) as watched:
        first = await watched.until_loaded()
        written.answers("init", status="Success", capabilities={"attach": False})
        written.write(PROGRAM)
        second = await watched.until_loaded(other_than=first)
        assert not second.capabilities.attach


async def test_a_driver_that_is_replaced_by_a_bad_one_stays(place: Path) -> None:
    written, other = WrittenDriver(place), WrittenDriver(place, "example.com/other")
    async with watching(place) as watched:
        first = await watched.until_loaded()
        written.does("init", "exit 1")
        written.write(PROGRAM)
        other.program.unlink()
        await watched.until(lambda: watched.drivers.find(other.name) is None)
        assert watched.drivers.find(NAME) is first


@pytest.mark.parametrize("what", ["program", "directory", "all"])
async def test_a_driver_that_is_removed_is_gone(place: Path, what: str) -> None:
    written = WrittenDriver(place)
    async with watching(place) as watched:
        await watched.until_loaded()
        match what:
            case "program":
                written.program.unlink()
            case "directory":
                written.home.rename(place.parent / "away")
            case _:
                shutil.rmtree(place)
        await watched.until(lambda: watched.drivers.find(NAME) is None)
        if what == "all":
            WrittenDriver(place)
            await watched.until_loaded()


async def test_what_a_driver_writes_under_a_hidden_name_does_not_load_it_anew(place: Path) -> None:
    written = WrittenDriver(place)
    async with watching(place) as watched:
        (written.home / ".state").write_text("1")
        WrittenDriver(place, "example.com/second")
        await watched.until_loaded("example.com/second")
        assert watched.told.count(NAME) == 1


async def test_a_driver_that_fails_hinders_no_other_and_is_tried_again(place: Path) -> None:
    bad = WrittenDriver(place, "example.com/bad")
    bad.does("init", "exit 1")
    WrittenDriver(place)
    async with watching(place) as watched:
        assert {*watched.drivers.all()} == {NAME}
        bad.answers("init", status="Success")  # in a hidden directory: nothing is heard of it
        await watched.until_loaded("example.com/bad")


def test_only_directories_with_good_names_count(place: Path) -> None:
    WrittenDriver(place)
    WrittenDriver(place, ".hidden")
    WrittenDriver(place, "a b")
    WrittenDriver(place, "too/many/parts")
    (place / "linked").symlink_to(place / "example.com~disk")
    (place / "file").touch()
    (place / "empty").mkdir()
    assert {*scan(place).candidates} == {NAME}


async def test_the_registry_is_told_what_has_come_and_gone(place: Path, tmp_path: Path) -> None:
    written = WrittenDriver(place)
    async with watching(place) as watched:
        prober = FlexProber(watched.drivers, a_host(tmp_path, FakeMounts()))
        (found,) = prober.probe().events
        assert isinstance(found, Found)
        assert found.plugin.name == NAME
        assert prober.probe().events == ()
        first = watched.drivers.find(NAME)
        written.write(PROGRAM)
        await watched.until_loaded(other_than=first)
        assert [type(one) for one in prober.probe().events] == [Found]
        shutil.rmtree(place)
        await watched.until(lambda: watched.drivers.find(NAME) is None)
        assert prober.probe().events == (Gone(NAME),)
