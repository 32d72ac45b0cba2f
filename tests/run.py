"""Run pytest; ask those few that failed beside others once more, alone.

Twenty thousand tests of real sockets, mounts and processes share this machine's cores. One that
fails only under their load is a finding, which is printed and wants mending, but not a reason to
believe that a change is wrong. What fails alone, too, fails the run, and so do many at once.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

FAILED = 1  # pytest: tests ran, some failed
MOST_ASKED_AGAIN = 4
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def asked_again(exit_code: int, failed: Sequence[str]) -> Sequence[str]:
    """Those of the failed tests that get a second chance."""
    if exit_code != FAILED or len(failed) > MOST_ASKED_AGAIN:
        return ()
    return failed


def main(arguments: Sequence[str]) -> int:
    LAST_FAILED.unlink(missing_ok=True)
    exit_code = _pytest(*arguments)
    failed = list(json.loads(LAST_FAILED.read_text())) if LAST_FAILED.exists() else []
    again = asked_again(exit_code, failed)
    if not again:
        return exit_code
    _say(f"\nasked again, alone: {len(again)} that failed beside others")
    exit_code = _pytest("-n", "0", *again)
    if exit_code == 0:
        _say("FAILED BESIDE OTHERS, passed alone (mend these):", *again)
    return exit_code


def _pytest(*arguments: str) -> int:
    return subprocess.call([sys.executable, "-m", "pytest", *arguments])  # noqa: S603  our own words


def _say(*lines: str) -> None:
    sys.stdout.write("\n  ".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
