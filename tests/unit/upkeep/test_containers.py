"""Whether a process heeds a signal."""

import signal
import subprocess
import sys

import pytest

from mooring.upkeep.containers import heeds

PROGRAMS = {
    "ends of it": ("", True),
    "handles it": ("signal.signal(signal.SIGTERM, lambda *_: None)", True),
    "ignores it": ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", False),
    "waits for it": ("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])", True),
}


@pytest.mark.parametrize(("line", "wanted"), PROGRAMS.values(), ids=PROGRAMS)
def test_heeds(line: str, *, wanted: bool) -> None:
    program = f"import signal, sys; {line}\nprint(flush=True); sys.stdin.read()"
    with subprocess.Popen(  # noqa: S603  our own interpreter
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert heeds(process.pid, signal.SIGTERM) is wanted


def test_one_that_is_gone_heeds_nothing() -> None:
    assert not heeds(2**22 + 1, signal.SIGTERM)
