"""Whether drivers are alive: scenario 84, on real sockets."""

import asyncio
from pathlib import Path

import pytest

from mooring.csi.outcome import Code
from mooring.sidecars import liveness
from mooring.sidecars.liveness import Liveness
from tests.fakes.csi_driver import Fails, FakeCsiDriver, Hangs


async def test_a_driver_that_answers_is_alive_by_its_name(tmp_path: Path) -> None:
    async with FakeCsiDriver(tmp_path / "csi.sock") as driver:
        alive = Liveness([str(driver.socket)])
        assert await alive.ask() == (True, "ok")
        assert await alive.ask(driver.state.name) == (True, "ok")
        assert await alive.ask("other") == (False, "no driver called other has answered")
        driver.state.ready = None
        assert await alive.ask(driver.state.name) == (True, "ok")
        driver.state.ready = False
        assert await alive.ask(driver.state.name) == (False, "driver responded but is not ready")
        driver.next("Probe", Fails(Code.INTERNAL, "no disk"))
        assert await alive.ask() == (
            False,
            f"{driver.state.name}: rpc error: code = Internal desc = no disk",
        )


async def test_one_dead_driver_of_two_is_told_apart(tmp_path: Path) -> None:
    async with FakeCsiDriver(tmp_path / "one.sock") as one:
        alive = Liveness([str(one.socket), str(tmp_path / "none.sock")])
        is_alive, text = await alive.ask()
        assert not is_alive
        assert text.startswith(f"{tmp_path / 'none.sock'}: rpc error: code = Unavailable")
        assert await alive.ask(one.state.name) == (True, "ok")
        await one.stop()
        assert not (await alive.ask(one.state.name))[0]
        await one.start()
        assert await alive.ask(one.state.name) == (True, "ok")


async def test_a_driver_that_hangs_is_dead_and_asked_once_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "PROBE_SECONDS", 0.2)
    async with FakeCsiDriver(tmp_path / "csi.sock") as driver:
        driver.always("Probe", Hangs())
        alive = Liveness([str(driver.socket)])
        answers = await asyncio.gather(*(alive.ask() for _ in range(5)))
        assert {is_alive for is_alive, _ in answers} == {False}
        assert len(driver.requests("Probe")) == 1
