"""Charges whose objects other servers may still be writing.

A server knows what it has charged itself and not written yet (`verbs/charging.py`), not so what
others have. So what was charged a moment ago is not given back by a count that does not find it.
"""

from collections.abc import Mapping

from mooring.apiserver.admission.pod_amounts import Amounts
from mooring.clock import Clock
from mooring.model.document import Doc
from mooring.model.quantity import ZERO, Quantity, parse

SETTLED_SECONDS = 10.0
"""From a charge to the end of the write that it is for: etcd answers a write within 8 seconds."""

_Place = tuple[str, str]  # a quota: namespace and name


class RecentCharges:
    """What was charged to each quota, by whomever, in the last seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._used: dict[_Place, Mapping[str, str]] = {}
        self._rises: dict[_Place, dict[str, dict[int, Quantity]]] = {}  # by resource and second

    def note(self, quota: Doc) -> None:
        """A version of it, no older than the one before. Of the first nobody knows its age."""
        place = _place(quota)
        used: Mapping[str, str] = quota.get("status", {}).get("used") or {}
        before = self._used.get(place, {})
        rises = self._rises.setdefault(place, {})
        now = int(self._clock.monotonic())
        for name, amount in used.items():
            rise = parse(amount) - (parse(before[name]) if name in before else ZERO)
            if rise > ZERO:
                recent = self._recent(rises.get(name, {}))
                rises[name] = {**recent, now: recent.get(now, ZERO) + rise}
        self._used[place] = used

    def forget(self, quota: Doc) -> None:
        self._used.pop(_place(quota), None)
        self._rises.pop(_place(quota), None)

    def unsettled(self, quota: Doc) -> Amounts:
        """How much of each resource was charged too recently to be given back."""
        rises = self._rises.get(_place(quota), {})
        return {name: sum(self._recent(of).values(), ZERO) for name, of in rises.items()}

    def _recent(self, rises: Mapping[int, Quantity]) -> dict[int, Quantity]:
        since = int(self._clock.monotonic() - SETTLED_SECONDS)
        return {second: amount for second, amount in rises.items() if second >= since}


def _place(quota: Doc) -> _Place:
    metadata = quota["metadata"]
    return metadata["namespace"], metadata["name"]
