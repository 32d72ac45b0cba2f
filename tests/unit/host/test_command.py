"""Running programs: their ends, their output, their secrets."""

import os
import signal
from pathlib import Path

import pytest

from mooring.errors import CommandFailed, HostError, TimedOut
from mooring.host.command import MASK, NOT_FOUND, OUTPUT_LIMIT, check, find_program, mask, run
from tests.fakes.programs import FakePrograms
from tests.fakes.waiting import until

SH = ("sh", "-c")

ENDS = {
    "success": ("echo fine", 0, "fine\n", "exit status 0"),
    "an exit code is returned, not raised": ("exit 32", 32, "", "exit status 32"),
    "both streams are output": ("echo out; echo err >&2", 0, "out\nerr\n", "exit status 0"),
    "killed by a signal": ("kill -9 $$", -signal.SIGKILL, "", "signal: killed"),
    "nothing to read from": ("cat", 0, "", "exit status 0"),
}


@pytest.mark.parametrize(("script", "code", "output", "status"), ENDS.values(), ids=ENDS)
def test_how_a_program_ends(script: str, code: int, output: str, status: str) -> None:
    ended = run([*SH, script], seconds=20)
    assert (ended.code, ended.output, ended.status) == (code, output, status)


def test_the_words_of_programs_are_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert run([*SH, "echo $LC_ALL"], seconds=20).output == "C\n"


def test_a_missing_program_says_so() -> None:
    with pytest.raises(CommandFailed, match=r"executable file not found in \$PATH") as failed:
        run(["mkfs.no-such-filesystem"], seconds=20)
    assert failed.value.code == NOT_FOUND
    assert find_program("mkfs.no-such-filesystem") is None


def test_a_program_that_cannot_be_started_is_refused(programs: FakePrograms) -> None:
    programs.add("broken", "")
    found = find_program("broken")
    assert found is not None
    found.write_text("#!/no/such/interpreter\n")
    with pytest.raises(HostError, match=r"run .*broken: no such file or directory"):
        run(["broken"], seconds=20)


async def test_too_long_is_stopped_with_its_children() -> None:
    with pytest.raises(TimedOut, match=r"sh was stopped: it took longer than 0\.2 s") as stopped:
        run([*SH, "sleep 50 & echo $!; wait"], seconds=0.2)
    assert stopped.value.code == -signal.SIGKILL
    child = int(stopped.value.output)
    await until(lambda: not _runs(child))


def test_a_daemon_left_behind_keeps_its_output_open_and_us_not_waiting() -> None:
    ended = run([*SH, "sleep 50 & echo $!"], seconds=20)
    daemon = int(ended.output)
    assert _runs(daemon)
    os.kill(daemon, signal.SIGKILL)


def test_only_the_end_of_endless_output_is_kept() -> None:
    ended = run([*SH, "yes x | head -c 1000000; echo the end"], seconds=20)
    assert len(ended.output) < OUTPUT_LIMIT + 10
    assert ended.output.startswith("... ")
    assert ended.output.endswith("the end\n")


def test_half_a_secret_at_the_cut_is_not_shown() -> None:
    secret = "QWERTYUIOPASDFGHJKLZXCVBNM"
    for padding in range(0, len(secret), 4):
        count = (3 * OUTPUT_LIMIT) // len(secret)
        loop = f"printf %{padding + 1}s; for i in $(seq {count}); do printf {secret}; done"
        output = run([*SH, loop], seconds=20, secrets=[secret]).output
        assert output.startswith("... ")
        assert not set(secret) & set(output)


def test_check_raises_with_the_output() -> None:
    assert check([*SH, "echo fine"], seconds=20) == "fine\n"
    with pytest.raises(CommandFailed, match="failed: exit status 3: no room") as failed:
        check([*SH, "echo no room; exit 3"], seconds=20)
    assert (failed.value.code, failed.value.output) == (3, "no room\n")


def test_secrets_are_in_no_part_of_an_error() -> None:
    with pytest.raises(CommandFailed) as failed:
        check(
            [*SH, "echo bad password hunter2; exit 1", "sh", "user=a,password=hunter2"],
            seconds=20,
            secrets=["password=hunter2"],
        )
    error = failed.value
    assert "hunter2" not in f"{error} {error.argv} {error.output}"
    assert error.argv[-1] == f"user=a,{MASK}"


MASKED = {
    "nothing to hide": ("user=a", [], "user=a"),
    "a whole option": ("user=a,password=pw12", ["password=pw12"], f"user=a,{MASK}"),
    "the value alone": ("wrong: pw12!", ["password=pw12"], f"wrong: {MASK}!"),
    "the longer of two secrets first": ("abcdef", ["abcd", "abcdef"], MASK),
    "an empty secret hides nothing": ("text", ["", "password="], "text"),
    "a short one only where it stands alone": ("ro from", ["ro"], f"{MASK} from"),
    "a backslash in it is no pattern": (r"a \1 b", [r"\1"], f"a {MASK} b"),
}


@pytest.mark.parametrize(("text", "secrets", "shown"), MASKED.values(), ids=MASKED)
def test_masking(text: str, secrets: list[str], shown: str) -> None:
    assert mask(text, secrets) == shown


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"
