"""The newest watch frame, kept for the other watchers that want the very same bytes.

After a commit every watcher of a kind polls in turn; those at the same position share one frame.
"""

from collections.abc import Callable, Sequence

from mooring.apiserver.http.message import frame
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.store.contract import Event


class Frames:
    def __init__(self) -> None:
        self._key: tuple[Kind, int, int] | None = None
        self._frame = b""

    def of(self, kind: Kind, events: Sequence[Event], line: Callable[[Event], bytes]) -> bytes:
        """The frame for `events` (not empty), made with `line` if it is not the newest one."""
        key = (kind, events[0].revision, events[-1].revision)
        if key != self._key:
            self._frame = frame(b"".join(map(line, events)))
            self._key = key
        return self._frame
