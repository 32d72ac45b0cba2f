"""`python -m bench [name...]`: run benchmarks and print what they measured.

Each in a session of its own, which is ended when it takes too long: one that hangs beside others'
programs does not keep the rest waiting.
"""

import compileall
import os
import signal
import subprocess
import sys
from pathlib import Path

import mooring

LIMIT = 1_800.0  # seconds for one of them

NAMES = (
    *("start", "api", "store", "binding", "scale", "ownership", "node", "pods", "attachment"),
    *("lost_node", "csi", "sidecars", "one_process", "freeze", "flex", "upkeep", "translation"),
    *(
        "cel",
        "judging",
        "custom_schema",
        "custom",
        "why",
        "trace",
        "scheduler_scale",
        "controllers_scale",
    ),
    *("testing", "kine", "several_servers", "write_latency"),
)


def main(names: list[str]) -> None:
    # As pip leaves it: where PYTHONDONTWRITEBYTECODE is set, each start would compile it anew.
    compileall.compile_dir(Path(mooring.__file__).parent, quiet=1)
    late = [name for name in names or NAMES if not _ended(name)]
    if late:
        sys.exit(f"ended after {LIMIT:.0f} s without a result: {', '.join(late)}")


def _ended(name: str) -> bool:
    """Whether it did so by itself. Raises: CalledProcessError when it failed."""
    command = (sys.executable, "-m", "bench.table", name)
    process = subprocess.Popen(command, start_new_session=True)  # noqa: S603
    try:
        code = process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.poll() is None:  # also when the user has had enough
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code:
        raise subprocess.CalledProcessError(code, command)
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
