"""What is mapped on this node, as the kernel tells in /sys and /proc. Blocks."""

from pathlib import Path

_NO_NAMESPACE, _NO_SNAPSHOT = "", "-"


def find_device(pool: str, image: str, root: Path = Path("/")) -> str:
    """Where an image is mapped on this node, or ""."""
    return _find_by_kernel(pool, image, root) or _find_by_nbd(pool, image, root)


def _find_by_kernel(pool: str, image: str, root: Path) -> str:
    """A snapshot of the image is something else."""
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


def _find_by_nbd(pool: str, image: str, root: Path) -> str:
    """The kernel knows only which process serves a device; its command tells the image."""
    for entry in sorted((root / "sys/block").glob("nbd*")):
        pid = _read(entry / "pid")
        if not pid.isdigit():
            continue
        program, *words = _read(root / "proc" / pid / "cmdline").split("\0")
        if Path(program).name == "rbd-nbd" and words[:2] == ["map", f"{pool}/{image}"]:
            return str(root / "dev" / entry.name)
    return ""


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""  # just being unmapped
