"""Charges whose objects other servers may still be writing.

A server knows what it has charged itself and not written yet (`verbs/charging.py`), not so what
others have. So what was charged a moment ago is not given back by a count that does not find it.
"""

from collections.abc import Mapping

from mooring.clock import Clock
from mooring.model.document import Doc
from mooring.model.quantity import ZERO, parse

SETTLED_SECONDS = 10.0
"""From a charge to the end of the write that it is for: etcd answers a write within 8 seconds."""

_Place = tuple[str, str]  # a quota: namespace and name


class RecentCharges:
    """What was charged to each quota, by whomever, in the last seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._used: dict[_Place, Mapping[str, str]] = {}
        self._risen: dict[_Place, dict[str, float]] = {}  # when, of each resource

    def note(self, quota: Doc) -> None:
        """A version of it, no older than the one before. Of the first nobody knows its age."""
        place = _place(quota)
        used: Mapping[str, str] = quota.get("status", {}).get("used") or {}
        before = self._used.get(place, {})
        risen = self._risen.setdefault(place, {})
        for name, amount in used.items():
            if parse(amount) > (parse(before[name]) if name in before else ZERO):
                risen[name] = self._clock.monotonic()
        self._used[place] = used

    def forget(self, quota: Doc) -> None:
        self._used.pop(_place(quota), None)
        self._risen.pop(_place(quota), None)

    def unsettled(self, quota: Doc) -> Mapping[str, str]:
        """What it says is used of each resource that was charged too recently to be given back."""
        since = self._clock.monotonic() - SETTLED_SECONDS
        risen = self._risen.get(_place(quota), {})
        used: Mapping[str, str] = quota.get("status", {}).get("used") or {}
        return {name: amount for name, amount in used.items() if risen.get(name, since) > since}


def _place(quota: Doc) -> _Place:
    metadata = quota["metadata"]
    return metadata["namespace"], metadata["name"]
