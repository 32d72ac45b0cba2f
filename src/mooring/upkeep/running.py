"""What goes on when `mooring up` ends: pods and their volumes. Said once, in one line."""

import shlex
from pathlib import Path

from mooring.errors import MooringError
from mooring.host.mountinfo import MountTable, read_table
from mooring.plugins.layout import DEVICES, VOLUMES, Layout
from mooring.upkeep.containers import list_containers
from mooring.upkeep.counted import counted
from mooring.upkeep.place import find_place


def tell_what_goes_on(data_dir: Path) -> str:
    """The line; empty when nothing runs and nothing is mounted, or nobody can say."""
    try:
        root = find_place(data_dir).root
    except MooringError:
        return ""
    remedy = f"mooring down --data-dir {shlex.quote(str(data_dir))}"
    return "" if root is None else tell_of_root(root, remedy)


def tell_of_root(root: Path, remedy: str) -> str:
    """The same for a node's root directory; `remedy` is the command that ends it."""
    try:
        kept = list_containers(root)
        volumes = count_volumes(read_table(), root)
    except MooringError:
        return ""
    pods = {one.record.owner.pod_uid for one in kept if one.record and one.is_running}
    going = [
        counted(len(pods), "pod goes on running", "pods go on running"),
        counted(volumes, "volume stays mounted", "volumes stay mounted"),
    ]
    if not any(going):
        return ""
    what = " and ".join(part for part in going if part)
    return f"{what}; to end that: {remedy}"


def count_volumes(table: MountTable, root: Path) -> int:
    """Volumes of pods that something is mounted for: each once for each pod."""
    pods = Layout(root).pods
    found = set()
    for entry in table.below(pods):
        parts = entry.mount_point.relative_to(pods).parts
        if len(parts) >= 4 and parts[1] in (VOLUMES, DEVICES):
            found.add(parts[:4])
    return len(found)
