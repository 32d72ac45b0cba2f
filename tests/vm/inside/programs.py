"""Running programs of the machine; every call has a limit, so one that hangs fails its test."""

import subprocess
from collections.abc import Callable
from time import monotonic, sleep  # noqa: TID251  the kernel announces nothing

SECONDS = 120.0
LOOK_EVERY = 0.5


def sh(script: str, seconds: float = SECONDS) -> str:
    """The output of a script that succeeds."""
    ran = subprocess.run(  # noqa: S603  words of these tests
        ["/bin/bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ran.returncode == 0, f"{script}: {ran.returncode}\n{ran.stdout}{ran.stderr}"
    return ran.stdout.strip()


def eventually(is_so: Callable[[], bool], what: str, seconds: float = SECONDS) -> None:
    """Wait for something that only the kernel knows, which announces nothing."""
    end = monotonic() + seconds
    while not is_so():
        assert monotonic() < end, f"{what}: not within {seconds:g} s"
        sleep(LOOK_EVERY)
