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


class _Moment(msgspec.Struct, frozen=True):
    """Of a charge, or of the object that it was for; each may be heard of first."""

    revision: int
    at: float
    amounts: Amounts


class RecentCharges:
    """Of all quotas, by whomever."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._used: dict[_Place, Amounts] = {}
        self._charges: defaultdict[_Place, list[_Moment]] = defaultdict(list)
        self._came: defaultdict[_Place, list[_Moment]] = defaultdict(list)

    def note(self, quota: Doc, revision: int) -> None:
        """A version of it, no older than the one before; the first rose by all that it has."""
        place, used = _place(quota), _used(quota)
        before = self._used.get(place, {})
        rose = {name: amount - before.get(name, ZERO) for name, amount in used.items()}
        self._used[place] = used
        if rose := _positive(rose):
            charge = _Moment(revision, self._clock.monotonic(), rose)
            came = self._recent(self._came, place)
            found = next((it for it in came if _is_for(it, charge)), None)
            if found is None:
                self._charges[place].append(charge)
            else:
                came.remove(found)

    def forget(self, quota: Doc) -> None:
        self._used.pop(_place(quota), None)
        self._charges.pop(_place(quota), None)
        self._came.pop(_place(quota), None)

    def settle(self, quota: Doc, amounts: Amounts, revision: int) -> None:
        """At this revision an object has come, or grown, that takes so much of it."""
        place = _place(quota)
        counted = amounts.keys() & (quota.get("spec", {}).get("hard") or {}).keys()
        taken = _positive({name: amounts[name] for name in counted})
        if not taken:
            return
        came = _Moment(revision, self._clock.monotonic(), taken)
        charges = self._recent(self._charges, place)
        found = next((it for it in charges if _is_for(came, it)), None)
        if found is None:
            self._came[place].append(came)
        else:
            charges.remove(found)

    def unsettled(self, quota: Doc) -> Amounts:
        """What may be charged for objects that have not come."""
        total: Amounts = {}
        for charge in self._recent(self._charges, _place(quota)):
            for name, amount in charge.amounts.items():
                total[name] = total.get(name, ZERO) + amount
        return total

    def _recent(self, moments: defaultdict[_Place, list[_Moment]], place: _Place) -> list[_Moment]:
        since = self._clock.monotonic() - SETTLED_SECONDS
        moments[place] = [moment for moment in moments[place] if moment.at > since]
        return moments[place]


def _is_for(came: _Moment, charge: _Moment) -> bool:
    return charge.revision < came.revision and charge.amounts == came.amounts


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
