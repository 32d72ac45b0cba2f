"""The server's certificate is renewed while it is served, when the clock makes it necessary."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mooring.apiserver.auth.pki import Pki, open_pki
from mooring.apiserver.auth.renewal import LOOK_EVERY, Renewal
from mooring.errors import UsageError
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.waiting import until


class Machine:
    """One whose clock is set now and then."""

    def __init__(self, directory: Path, year: int) -> None:
        self.clock = VirtualClock()
        self.offset = datetime(year, 1, 1, tzinfo=UTC) - self.clock.now()
        self.directory = directory
        self.shown: list[ssl.SSLContext] = []
        self.fails = False
        self.slept = 0

    def now(self) -> datetime:
        return self.clock.now() + self.offset

    def monotonic(self) -> float:
        return self.clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        self.slept += 1
        await self.clock.sleep(seconds)

    def reopen(self) -> Pki:
        if self.fails:
            raise UsageError("the disk is full")
        return open_pki(self.directory, now=self.now(), host_name="here")


@asynccontextmanager
async def renewing(machine: Machine) -> AsyncIterator[None]:
    renewal = Renewal(machine.reopen(), machine.reopen, machine.shown.append, machine)
    task = asyncio.create_task(renewal.run())
    await settle()
    yield
    assert not task.done()
    task.cancel()


async def look(machine: Machine) -> None:
    """Let it look once; it is in a thread meanwhile, and sleeps again when that is done."""
    slept = machine.slept
    await machine.clock.advance(LOOK_EVERY)
    await until(lambda: machine.slept > slept)


async def test_a_certificate_of_a_clock_far_behind_is_renewed(tmp_path: Path) -> None:
    machine = Machine(tmp_path, 1990)
    async with renewing(machine):
        await look(machine)
        assert machine.shown == []
        machine.offset += timedelta(days=36 * 365)
        await look(machine)
        await until(lambda: len(machine.shown) == 1)
        await look(machine)
    assert len(machine.shown) == 1, "once is enough"


async def test_what_cannot_be_renewed_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine(tmp_path, 2020)
    async with renewing(machine):
        machine.offset += timedelta(days=790)  # it expires soon
        machine.fails = True
        await look(machine)
        await until(lambda: "could not be renewed" in caplog.text)
        machine.fails = False
        await look(machine)
        await until(lambda: len(machine.shown) == 1)
