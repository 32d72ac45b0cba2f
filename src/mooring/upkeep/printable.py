"""Text that others wrote, made fit for a terminal."""

_LONGEST = 200  # characters


def printable(text: str) -> str:
    """On one line, without what a terminal would obey; cut if it is very long."""
    shown = "".join(char if char.isprintable() else "?" for char in text[:_LONGEST])
    return shown if len(text) <= _LONGEST else f"{shown}..."
