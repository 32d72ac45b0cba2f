"""Sizes and counts for people."""

_UNITS = ("B", "kB", "MB", "GB", "TB")


def human_size(count: int) -> str:
    """Three digits and a unit of a thousand, as docker shows sizes: `4.26MB`."""
    size, unit = float(count), 0
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.3g}{_UNITS[unit]}"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
