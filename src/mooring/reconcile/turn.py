"""Standing aside for other tasks."""

from collections.abc import Generator


class Turn:
    """Awaited, lets the event loop see to everything else once."""

    def __await__(self) -> Generator[None, None, None]:
        yield
