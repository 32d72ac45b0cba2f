"""Numbers of things, for people."""


def counted(number: int, one: str, many: str) -> str:
    """`2 volumes`, `1 volume`; empty when there are none."""
    return f"{number} {one if number == 1 else many}" if number else ""
