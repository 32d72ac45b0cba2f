"""What the kernel has mapped, as it tells in /sys. Blocks."""

from pathlib import Path

_NO_NAMESPACE, _NO_SNAPSHOT = "", "-"


def find_device(pool: str, image: str, root: Path = Path("/")) -> str:
    """Where an image is mapped on this node, or "". A snapshot of it is something else."""
    for entry in sorted((root / "sys/bus/rbd/devices").glob("*")):
        told = (
            _read(entry / "pool"),
            _read(entry / "name"),
            _read(entry / "pool_ns") or _NO_NAMESPACE,  # kernels before 5.1 have none
            _read(entry / "current_snap") or _NO_SNAPSHOT,
        )
        if told == (pool, image, _NO_NAMESPACE, _NO_SNAPSHOT):
            return str(root / f"dev/rbd{entry.name}")
    return ""


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""  # just being unmapped
