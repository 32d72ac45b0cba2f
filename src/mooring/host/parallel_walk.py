"""Splitting a large fsGroup walk among processes, one per core.

Threads would not help: a walk is system calls of a few microseconds, and between any two of them a
thread waits for the interpreter lock.
"""

import itertools
import os
import select
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import mooring
from mooring import log
from mooring.host import ownership_walk, tree
from mooring.host.ownership_walk import Share, Tally, Wanted
from mooring.processes import STARTING

_log = log.get("mooring.host.ownership")

SHARED_FROM = 8_000  # entries; a smaller tree is nearly done before a helper has started
_SHARES = 4  # at most, whatever the number of cores: others use the disk too
_CHUNK = 65536


class ParallelWalk:
    """This process, and the helper processes it starts for a large tree."""

    def __init__(self, root: int, wanted: Wanted, progress: Callable[[int], None] | None) -> None:
        self._root = root
        self._wanted = wanted
        self._progress = progress
        self._told = 0
        self._helpers: list[_Helper] = []

    def close(self) -> None:
        """Kill the helpers, finished or not."""
        for helper in self._helpers:
            helper.end()
        self._helpers.clear()

    def walk(self) -> Tally:
        """Change everything below the root. After: no helper is running."""
        shares = min(len(os.sched_getaffinity(0)), _SHARES) if self._is_large() else 1
        tally = self._walk_together(shares) if shares > 1 else None
        return tally or self._take(Share())

    def _is_large(self) -> bool:
        """Count the entries, which costs a twentieth of changing them."""
        with closing(tree.walk(self._root)) as visits:
            return sum(1 for _ in itertools.islice(visits, SHARED_FROM)) == SHARED_FROM

    def _walk_together(self, shares: int) -> Tally | None:
        """Walk with helpers; None when one failed, since its missing entries are unknown."""
        try:
            for number in range(1, shares):
                self._helpers.append(_Helper(self._root, self._wanted, Share(number, shares)))
        except OSError as error:
            _log.warning("no help for an ownership walk", error=error.strerror)
            self.close()
            return None
        tally = self._take(Share(0, shares))
        for helper in self._helpers:
            while helper.listen_to_the_next():
                self._report(tally)
        if not all(helper.tally.is_complete for helper in self._helpers):
            _log.warning("a helper of an ownership walk failed")
            self.close()
            return None
        for helper in self._helpers:
            tally.add(helper.tally)
        return tally

    def _take(self, share: Share) -> Tally:
        return ownership_walk.change_below(self._root, self._wanted, share, self._report)

    def _report(self, tally: Tally) -> None:
        for helper in self._helpers:
            helper.listen()
        entries = tally.entries + sum(helper.tally.entries for helper in self._helpers)
        if self._progress is not None and entries > self._told:
            self._told = entries
            self._progress(entries)


class _Helper:
    """A process with a share of the walk. It is killed when the thread that started it ends."""

    def __init__(self, root: int, wanted: Wanted, share: Share) -> None:
        self.tally = Tally()
        self._unread = b""
        package = Path(mooring.__file__).parent.parent
        arguments = ownership_walk.arguments(root, wanted, share)
        with STARTING:
            self._process = subprocess.Popen(  # noqa: S603  our own module, and numbers
                [sys.executable, "-S", "-m", ownership_walk.__name__, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                pass_fds=(root,),
                env={**os.environ, "PYTHONPATH": str(package)},
                bufsize=0,
            )
        assert self._process.stdout is not None  # noqa: S101  for the type: a pipe was asked for
        self._pipe = self._process.stdout
        self._ear = select.poll()
        self._ear.register(self._pipe, select.POLLIN)

    def listen(self) -> None:
        """Read its reports so far."""
        while self._ear.poll(0):
            if not self.listen_to_the_next():
                return

    def listen_to_the_next(self) -> bool:
        """Wait for its next report; False when there will be no more."""
        heard = self._pipe.read(_CHUNK)
        *lines, self._unread = (self._unread + (heard or b"")).split(b"\n")
        with suppress(ValueError):  # not a report: the helper then never counts as done
            for line in lines:
                self.tally = ownership_walk.read_line(line)
        return bool(heard)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._pipe.close()
