"""A driver that is kept for ever in a clone, while the volume stands still: a process to be killed.

Run as a program, with the place of a `Machine` whose volume is staged. It says when that is so.
"""

import signal
import sys
from collections.abc import Callable
from pathlib import Path

from mooring.driver.backends import catching_up
from mooring.host.mount import Mounts
from tests.host.driver_life import SIZES, Machine


def main(place: Path) -> None:
    passes = 0

    def catch_up(source: int, target: int, go_on: Callable[[], None]) -> int:
        nonlocal passes
        passes += 1
        if passes == 1:  # the trial, before it stands still
            return 0
        sys.stdout.write("still\n")
        sys.stdout.flush()
        while True:
            signal.pause()

    catching_up.catch_up = catch_up
    machine = Machine(place, Mounts())
    (source,) = machine.driver.ids()
    machine.driver.make("clone", size=SIZES["ext4"], volume_id=source, fs_type="ext4")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
