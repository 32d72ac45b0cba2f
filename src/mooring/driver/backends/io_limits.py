"""Limits of a device, set on the control groups of those who may use it (cgroup v2, `io.max`).

They are set on every group at the top of the tree: what all pods below it do to the device counts
together, whichever pod has it mounted. A loop device keeps its limits when it gets another image,
so they are also cleared.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from mooring.driver.records import Limits, NoLimits

CGROUPS = Path("/sys/fs/cgroup")
PODS = "mooring"  # the group of the pods that `mooring node` runs; made by its runtime, or here
_CONTROLLERS = "cgroup.controllers"
_PASSED_ON = "cgroup.subtree_control"
_FILE = "io.max"


def set_limits(numbers: Iterable[int], limits: Limits, root: Path | None = None) -> str:
    """Limit the devices of these numbers. Returns why that has no effect here; empty if it has.

    Repeated: changes nothing. Never raises: a volume without its limits is better than none.
    """
    root = root or CGROUPS
    try:
        if "io" not in (root / _CONTROLLERS).read_text().split():
            return f"the io controller is not in {root / _CONTROLLERS}"
    except OSError:
        return f"there is no cgroup v2 at {root}"
    try:
        if limits != NoLimits and "io" not in (root / _PASSED_ON).read_text().split():
            (root / _PASSED_ON).write_text("+io")
        if limits != NoLimits:
            (root / PODS).mkdir(exist_ok=True)
        files = sorted(root.glob(f"*/{_FILE}"))
        for file in files:
            for number in numbers:
                file.write_text(line(number, limits))
    except OSError as error:
        return f"{error.filename or root}: {error.strerror}"
    return "" if files else f"no control group below {root} has {_FILE}"


def line(number: int, limits: Limits) -> str:
    """What is written into `io.max`."""
    told = {
        "rbps": limits.read_bytes,
        "wbps": limits.write_bytes,
        "riops": limits.read_operations,
        "wiops": limits.write_operations,
    }
    words = " ".join(f"{key}={value or 'max'}" for key, value in told.items())
    return f"{os.major(number)}:{os.minor(number)} {words}"
