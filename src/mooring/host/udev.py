"""Whether udev runs on this machine: some programs wait without end for what it tells."""

from pathlib import Path
from typing import Final

_CONTROL: Final = Path("/run/udev/control")


def is_running() -> bool:
    return _CONTROL.exists()
