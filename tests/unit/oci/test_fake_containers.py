"""The containers in memory keep the promises of the contract."""

import signal

import pytest

from mooring.oci.contract import Containers, ExecOptions, Found, RuntimeRefused, State
from tests.fakes.clock import START, VirtualClock
from tests.fakes.containers import ContainerCall, FakeContainers, FakeSession
from tests.unit.oci.specs import ID, a_spec


@pytest.fixture
def fake() -> FakeContainers:
    return FakeContainers(VirtualClock())


async def test_a_life(fake: FakeContainers) -> None:
    containers: Containers = fake
    ends: list[Found] = []
    containers.on_change(ends.append)
    await containers.create(a_spec())
    await containers.start(ID)
    assert fake.running() == ["main"]
    fake.finish(fake.id_of("main", "web"), 3)
    fake.finish(ID, 4)
    assert [(found.exit_code, found.state, found.finished_at) for found in ends] == [
        (3, State.EXITED, START)
    ]
    await containers.remove(ID)
    await containers.remove(ID)
    assert containers.list() == ()


async def test_who_minds_sigterm_and_who_does_not(fake: FakeContainers) -> None:
    fake.stubborn.add("main")
    await fake.create(a_spec())
    await fake.start(ID)
    await fake.kill(ID, signal.SIGTERM)
    assert fake.running() == ["main"]
    await fake.kill(ID, signal.SIGKILL)
    found = fake.find(ID)
    assert found is not None
    assert found.exit_code == 137
    assert fake.calls[-1] == ContainerCall("kill", "main", "SIGKILL")


async def test_a_refusal_is_for_one_call(fake: FakeContainers) -> None:
    fake.refuse("create", "main", RuntimeRefused("no", exit_code=127))
    with pytest.raises(RuntimeRefused, match="no"):
        await fake.create(a_spec())
    assert fake.list() == ()
    await fake.create(a_spec())
    with pytest.raises(RuntimeRefused, match="exists already"):
        await fake.create(a_spec())


async def test_a_program_answers_as_it_was_told(fake: FakeContainers) -> None:
    def answer(session: FakeSession) -> None:
        session.say(b"out")
        session.say(b"err", stream=2)
        session.end(7)

    fake.answer(["ls"], answer)
    await fake.create(a_spec())
    with pytest.raises(RuntimeRefused, match="not running"):
        await fake.exec(ID, ExecOptions(("ls",)))
    await fake.start(ID)
    session = await fake.exec(ID, ExecOptions(("ls",)))
    assert [piece async for piece in session.output()] == [(1, b"out"), (2, b"err")]
    assert await session.wait() == 7
    assert await (await fake.exec(ID, ExecOptions(("true",)))).wait() == 0
    attached = await fake.attach(ID)
    await attached.write(b"x")
    await attached.close()
    assert (attached.written, attached.is_closed, await attached.wait()) == (b"x", True, 137)
