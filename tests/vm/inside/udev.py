"""udev, for what waits to hear from it; without it the others' devices are nobody's business."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.vm.inside.programs import sh


@contextmanager
def udev() -> Iterator[None]:
    sh("/lib/systemd/systemd-udevd --daemon && udevadm settle")
    try:
        yield
    finally:
        sh("udevadm control --exit; rm -rf /run/udev")
