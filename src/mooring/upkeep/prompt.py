"""What `reset` shows before it asks. Pure."""

from collections.abc import Iterator

from mooring.upkeep.counted import counted
from mooring.upkeep.printable import printable
from mooring.upkeep.reset import Inventory
from mooring.upkeep.sizes import told_bytes

MOST_NAMED = 10
OF_DRIVER = (
    "volume of the bundled driver and its data",
    "volumes of the bundled driver and their data",
)
OF_CLAIMS = (
    "directory of a hostPath claim and its files",
    "directories of hostPath claims and their files",
)


def prompt_lines(found: Inventory) -> list[str]:
    lines = ["This ends all containers, and removes for good:"]
    parts = [
        f"database ({told_bytes(found.database_bytes)}), keys, tokens",
        counted(found.driver_volumes, *OF_DRIVER),
        counted(found.directories, *OF_CLAIMS),
    ]
    lines.append(f"  {found.data}: " + ",\n    ".join(filter(None, parts)))
    lines += _retained(found)
    if found.root is not None:
        lines.append(f"  {found.root}: images, logs and scratch space of its pods")
    return lines


def _retained(found: Inventory) -> Iterator[str]:
    """Volumes whose policy says that they stay, named."""
    if found.retained is None:
        if found.driver_volumes or found.directories:
            yield "    (which of them are to be retained is not known: the database cannot be read)"
        return
    if not found.retained:
        return
    yield "    among them, although their reclaim policy is Retain:"
    for one in found.retained[:MOST_NAMED]:
        yield f"      {printable(one)}"
    if len(found.retained) > MOST_NAMED:
        yield f"      and {len(found.retained) - MOST_NAMED} more"
