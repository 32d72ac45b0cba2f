"""Unforeseen exceptions: logged with their key, counted by loop; they do not end the process.

Everything that Mooring raises on purpose is a `MooringError`, caught where there is a remedy. Any
other exception is a bug that one key has met, such as an object with an unexpected value. It is
logged here, the key is tried again later, and all other keys are served meanwhile.

The counts are those of the process, like its memory and its open files, so that code deep below a
role needs no reference to it. Needs no client: the API server uses it too.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import ParamSpec

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from mooring import log

_log = log.get("mooring.poison")

LONGEST_KEY = 300  # of a key in the log: names are shorter, what is not may be anything

P = ParamSpec("P")


class Poisoned(Collector):
    """`mooring_poisoned_keys_total`, by loop."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, loop: str) -> None:
        self._counts[loop] += 1

    def count(self, loop: str) -> int:
        return self._counts[loop]

    def total(self) -> int:
        return self._counts.total()

    def collect(self) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "mooring_poisoned_keys",
            "Keys that were set aside because of an error that nobody foresaw.",
            labels=["loop"],
        )
        for loop, count in sorted(self._counts.items()):
            family.add_metric([loop], count)
        yield family


POISONED = Poisoned()
"""Of this process."""


def set_aside(loop: str, key: object) -> None:
    """Log and count the exception that is being handled, a bug met with `key`."""
    POISONED.add(loop)
    _log.exception("set aside", loop=loop, key=str(key)[:LONGEST_KEY])


def shielded(key: object, call: Callable[P, None], *args: P.args, **kw: P.kwargs) -> bool:
    """Call, and set `key` aside if that fails; whether it did not.

    For what cannot wait and is not tried again by itself: the handlers of a cache, of a watch.
    """
    try:
        call(*args, **kw)
    except Exception:  # noqa: BLE001 - as in `worker.serve`: whatever it is, it is this key's
        set_aside(name_of(call), key)
        return False
    return True


def name_of(call: Callable[..., object]) -> str:
    """What people find it by: the class that has it, or itself."""
    owner = getattr(call, "__self__", None)
    if owner is not None:
        return type(owner).__name__
    return str(getattr(call, "__qualname__", "loop")).partition(".")[0]
