"""Charges whose objects other servers may still be writing.

A server knows what it has charged itself and not written yet (`verbs/charging.py`), not so what
others have. So what rose in the last seconds is not given back, until an object has come that takes
as much: it is that of the charge, or of another one like it, which is the same to the sum.
"""

from collections import defaultdict

import msgspec

from mooring.apiserver.admission.pod_amounts import Amounts
from mooring.clock import Clock
from mooring.model.document import Doc
from mooring.model.quantity import ZERO, parse

SETTLED_SECONDS = 10.0
"""From a charge to the end of the write that it is for: etcd answers a write within 8 seconds."""

_Place = tuple[str, str]  # a quota: namespace and name


class _Charge(msgspec.Struct, frozen=True):
    revision: int
    at: float
    amounts: Amounts


class RecentCharges:
    """Of all quotas, by whomever."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._used: dict[_Place, Amounts] = {}
        self._charges: defaultdict[_Place, list[_Charge]] = defaultdict(list)

    def note(self, quota: Doc, revision: int) -> None:
        """A version of it, no older than the one before; the first rose by all that it has."""
        place, used = _place(quota), _used(quota)
        before = self._used.get(place, {})
        rose = {name: amount - before.get(name, ZERO) for name, amount in used.items()}
        if rose := _positive(rose):
            self._charges[place].append(_Charge(revision, self._clock.monotonic(), rose))
        self._used[place] = used

    def forget(self, quota: Doc) -> None:
        self._used.pop(_place(quota), None)
        self._charges.pop(_place(quota), None)

    def settle(self, quota: Doc, amounts: Amounts, revision: int) -> None:
        """At this revision an object has come, or grown, that takes so much of it."""
        place = _place(quota)
        names = amounts.keys() & self._used.get(place, {}).keys()
        taken = _positive({name: amounts[name] for name in names})
        charges = self._charges[place]
        for charge in charges:
            if charge.revision < revision and charge.amounts == taken:
                charges.remove(charge)
                return

    def unsettled(self, quota: Doc) -> Amounts:
        """What may be charged for objects that have not come."""
        place = _place(quota)
        since = self._clock.monotonic() - SETTLED_SECONDS
        recent = [charge for charge in self._charges[place] if charge.at > since]
        self._charges[place] = recent
        total: Amounts = {}
        for charge in recent:
            for name, amount in charge.amounts.items():
                total[name] = total.get(name, ZERO) + amount
        return total


def bounded(counted: Amounts, unsettled: Amounts, quota: Doc) -> Amounts:
    """What is taken: what was counted and what is unsettled, as far as that was charged."""
    used = _used(quota)
    return {
        name: max(amount, min(amount + unsettled.get(name, ZERO), used.get(name, ZERO)))
        for name, amount in counted.items()
    }


def _positive(amounts: Amounts) -> Amounts:
    return {name: amount for name, amount in amounts.items() if amount > ZERO}


def _used(quota: Doc) -> Amounts:
    return {name: parse(it) for name, it in (quota.get("status", {}).get("used") or {}).items()}


def _place(quota: Doc) -> _Place:
    metadata = quota["metadata"]
    return metadata["namespace"], metadata["name"]
