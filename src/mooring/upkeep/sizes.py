"""Sizes, for people."""

_STEP = 1024


def told_bytes(number: int) -> str:
    """In the largest unit of which there is at least one: 1.5 MiB."""
    size = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < _STEP:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.1f} TiB"
