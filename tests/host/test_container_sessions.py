"""Talking to containers: exec and attach, with pipes and terminals, in bulk and cut short."""

import asyncio
import hashlib

import pytest

from mooring.oci.contract import ExecOptions, RuntimeRefused, Session, Size
from tests.fakes.clock import settle
from tests.fakes.waiting import until
from tests.host.containers import World, logged, processes_about, talk

pytestmark = pytest.mark.usefixtures("needs_root")

MUCH = 12 * 1024 * 1024

EXECS = {
    "its exit code": (("sh", "-c", "exit 5"), 5, ""),
    "the signal that ended it": (("sh", "-c", "kill -TERM $$"), 143, ""),
    "its output": (("sh", "-c", "echo out"), 0, "out\n"),
    "its complaints": (("sh", "-c", "echo err >&2"), 0, "err\n"),
    "a program that is not in the path": (
        ("nope",),
        127,
        'exec failed: unable to start container process: exec: "nope": '
        "executable file not found in $PATH\n",
    ),
    "a program that is none": (
        ("/etc/passwd",),
        126,
        'exec failed: unable to start container process: exec: "/etc/passwd": permission denied\n',
    ),
    "an exit code that the runtime uses itself": (("sh", "-c", "exit 255"), 255, ""),
}


@pytest.fixture
async def sleeper(world: World) -> str:
    return await world.start(world.script("exec sleep 1000"))


@pytest.mark.parametrize(("args", "code", "output"), EXECS.values(), ids=EXECS)
async def test_exec_tells(
    world: World, sleeper: str, args: tuple[str, ...], code: int, output: str
) -> None:
    assert await world.exec(sleeper, *args) == (code, output)


async def test_the_two_streams_of_an_exec_are_told_apart(world: World, sleeper: str) -> None:
    wish = ExecOptions(("sh", "-c", "echo out; echo err >&2"))
    session = await world.containers.exec(sleeper, wish)
    pieces = [piece async for piece in session.output()]
    assert sorted(pieces) == [(1, b"out\n"), (2, b"err\n")]
    await session.close()


async def test_much_output_comes_whole_to_a_slow_reader(world: World, sleeper: str) -> None:
    wish = ExecOptions(("head", "-c", str(MUCH), "/dev/zero"))
    session = await world.containers.exec(sleeper, wish)
    total = 0
    async for _, piece in session.output():
        total += len(piece)
        await settle(turns=2)
    assert (total, await session.wait()) == (MUCH, 0)
    await session.close()


async def test_much_input_goes_in_and_comes_out_again(world: World, sleeper: str) -> None:
    data = hashlib.shake_256(b"seed").digest(MUCH)
    session = await world.containers.exec(sleeper, ExecOptions(("cat",), has_stdin=True))

    async def feed() -> None:
        await session.write(data)
        await session.end_input()
        await session.end_input()

    feeding = asyncio.create_task(feed())
    output = b"".join([piece async for _, piece in session.output()])
    await feeding
    assert output == data
    assert await session.wait() == 0
    await session.close()


async def test_who_ends_without_reading_lets_the_writer_go(world: World, sleeper: str) -> None:
    session = await world.containers.exec(sleeper, ExecOptions(("true",), has_stdin=True))
    await session.write(bytes(MUCH))
    assert await session.wait() == 0
    await session.write(b"more")
    await session.close()


async def test_without_an_input_a_process_finds_its_end(world: World, sleeper: str) -> None:
    assert await world.exec(sleeper, "cat") == (0, "")


async def test_a_terminal_has_the_size_it_was_given(world: World, sleeper: str) -> None:
    wish = ExecOptions(("sh",), has_stdin=True, has_tty=True)
    session = await world.containers.exec(sleeper, wish)
    session.resize(Size(columns=101, rows=33))
    await session.write(b"stty size; echo $TERM; exit 4\n")
    code, output = await talk(session)
    assert code == 4
    assert "33 101\r\nxterm\r\n" in output


async def test_a_terminal_is_resized_while_it_is_used(world: World, sleeper: str) -> None:
    script = "trap 'stty size; exit 0' WINCH; echo ready; while true; do sleep 0.05; done"
    wish = ExecOptions(("sh", "-c", script), has_tty=True)
    session = await world.containers.exec(sleeper, wish)
    output = b""
    async for _, piece in session.output():
        output += piece
        if b"ready" in piece:
            session.resize(Size(columns=7, rows=9))
    assert b"9 7" in output
    assert await session.wait() == 0
    await session.close()


async def test_a_terminal_leaves_line_ends_as_a_program_means_them(
    world: World, sleeper: str
) -> None:
    # conmon makes its settings when it is given the terminal, and the program may be quicker.
    script = "until stty -a | grep -q '[^-]onlcr'; do :; done; echo one; stty -onlcr; echo two"
    wish = ExecOptions(("sh", "-c", script), has_tty=True)
    assert await talk(await world.containers.exec(sleeper, wish)) == (0, "one\r\ntwo\n")


async def test_a_terminal_tells_why_a_program_cannot_run(world: World, sleeper: str) -> None:
    session = await world.containers.exec(sleeper, ExecOptions(("nope",), has_tty=True))
    assert await talk(session) == (
        127,
        'exec failed: exec: "nope": executable file not found in $PATH\r\n',
    )


async def test_who_talked_when_we_were_killed_is_gone_after_a_restart(
    world: World, sleeper: str
) -> None:
    sessions = [await world.containers.exec(sleeper, wish) for wish in WISHES.values()]
    for session in sessions:
        await anext(aiter(session.output()))
    await world.stop()
    async with world.running():
        await until(lambda: processes_about("4321") == [])
        assert list(world.runs.glob("*/exec-*")) == []
    for session in sessions:
        await session.close()


async def test_the_end_of_input_on_a_terminal_ends_a_shell(world: World, sleeper: str) -> None:
    session = await world.containers.exec(
        sleeper, ExecOptions(("cat",), has_stdin=True, has_tty=True)
    )
    await session.write(b"line\n")
    await session.end_input()
    assert await talk(session) == (0, "line\r\nline\r\n")


WISHES = {
    "with pipes": ExecOptions(("sh", "-c", "echo $$; sleep 4321 & sleep 4321")),
    "with a terminal": ExecOptions(("sh", "-c", "echo $$; sleep 4321 & sleep 4321"), has_tty=True),
}


@pytest.mark.parametrize("wish", WISHES.values(), ids=WISHES)
async def test_a_process_dies_with_its_session(
    world: World, sleeper: str, wish: ExecOptions
) -> None:
    session = await world.containers.exec(sleeper, wish)
    heard: list[bytes] = []
    reading = asyncio.create_task(listen(session, heard))
    await until(lambda: bool(heard))
    await session.close()
    await session.close()
    await reading
    assert await session.wait() == 137
    code, output = await world.exec(sleeper, "sh", "-c", "cat /proc/[0-9]*/cmdline")
    assert code == 0
    assert "4321" not in output


async def listen(session: Session, heard: list[bytes]) -> None:
    async for _, piece in session.output():
        heard.append(piece)


async def test_nothing_can_be_started_in_a_container_that_has_ended(world: World) -> None:
    id = await world.start(world.script("true"))
    await world.end_of(id)
    with pytest.raises(RuntimeRefused, match="is not running"):
        await world.containers.exec(id, ExecOptions(("true",)))
    with pytest.raises(RuntimeRefused, match="is not running"):
        await world.containers.attach(id)
    with pytest.raises(RuntimeRefused, match="does not exist"):
        await world.containers.exec("0" * 64, ExecOptions(("true",)))


async def test_attached_one_hears_both_streams_and_the_exit_code(world: World) -> None:
    script = "read line; echo $line; echo err >&2; exit 6"
    spec = world.script(script, has_stdin=True)
    session = await world.containers.attach(await world.start(spec))
    await session.write(b"hello\n")
    pieces = [piece async for piece in session.output()]
    assert sorted(pieces) == [(1, b"hello\n"), (2, b"err\n")]
    assert await session.wait() == 6
    await session.close()
    assert logged(spec.log_path) == "hello\n"


async def test_the_input_of_a_container_ends_with_the_first_who_attached(world: World) -> None:
    spec = world.script("cat; exit 3", has_stdin=True, closes_stdin_after_first=True)
    session = await world.containers.attach(await world.start(spec))
    data = bytes(100_000) + b"\n"
    await session.write(data)
    await session.end_input()
    assert b"".join([piece async for _, piece in session.output()]) == data
    assert await session.wait() == 3
    await session.close()


async def test_a_container_goes_on_when_who_attached_leaves(world: World) -> None:
    script = "while read line; do echo got $line; done"
    spec = world.script(script, has_stdin=True)
    id = await world.start(spec)
    first = await world.containers.attach(id)
    await first.write(b"one\n")
    await until(lambda: "got one" in logged(spec.log_path))
    await first.end_input()
    await first.close()
    second = await world.containers.attach(id)
    await second.write(b"two\n")
    await until(lambda: "got two" in logged(spec.log_path))
    await second.close()
    assert world.containers.find(id) is not None


async def test_closing_ends_the_output_of_who_attached(world: World, sleeper: str) -> None:
    session = await world.containers.attach(sleeper)
    heard: list[bytes] = []
    reading = asyncio.create_task(listen(session, heard))
    await settle()
    await session.close()
    await reading
    await session.write(b"into nothing")
    assert heard == []


async def test_the_terminal_of_a_container_is_resized(world: World) -> None:
    spec = world.script("read line; stty size", has_stdin=True, has_tty=True)
    session = await world.containers.attach(await world.start(spec))
    session.resize(Size(columns=120, rows=40))
    await session.write(b"go\n")
    output = b"".join([piece async for _, piece in session.output()])
    assert b"40 120" in output
    await session.close()
