"""The signal that asks a container to end."""

import signal
from collections.abc import Mapping
from contextlib import suppress

SIGNAL_NOTE = "mooring.dev/stop-signal"  # among a container's notes


def stop_signal(notes: Mapping[str, str]) -> signal.Signals:
    """By name (SIGUSR1, RTMIN+3) or number; what makes no sense is SIGTERM."""
    text = notes.get(SIGNAL_NOTE, "").upper()
    with suppress(ValueError):
        if text.isdecimal():
            return signal.Signals(int(text))
    name, plus, offset = text.removeprefix("SIG").partition("+")
    base = signal.Signals.__members__.get(f"SIG{name}")
    if base is None:
        return signal.SIGTERM
    with suppress(ValueError):
        return signal.Signals(base + int(offset)) if plus else base
    return signal.SIGTERM
