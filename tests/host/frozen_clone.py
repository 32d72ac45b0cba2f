"""A driver that is kept for ever in a clone, while the volume stands still: a process to be killed.

Run as a program, with the place of a `Machine` whose volume is staged. It says when that is so.
"""

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mooring.driver import freezing
from mooring.driver.backends.freeze import frozen
from mooring.host.mount import Mounts
from mooring.host.mountinfo import MountEntry
from tests.host.driver_life import SIZES, Machine


@contextmanager
def frozen_for_ever(
    mounts: Sequence[MountEntry], seconds: float, before: Callable[[], None]
) -> Iterator[float]:
    with frozen(mounts, seconds, before) as waited:
        sys.stdout.write("still\n")
        sys.stdout.flush()
        while True:
            signal.pause()
        yield waited


def main(place: Path) -> None:
    vars(freezing)["frozen"] = frozen_for_ever
    machine = Machine(place, Mounts())
    (source,) = machine.driver.ids()
    machine.driver.make("clone", size=SIZES["ext4"], volume_id=source, fs_type="ext4")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
