"""Quotas are charged before an object is written: no more is granted than there is.

A quota is charged where it is stored, in one decision on its newest version. What is charged and
not written yet is remembered, so that whoever counts anew (`lifecycle/quota_status.py`) counts it.
A write that fails gives back what it took.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from itertools import count

import msgspec

from mooring.apiserver.admission.pod_amounts import Amounts
from mooring.apiserver.admission.quota_scopes import Standing, is_within, standing_of
from mooring.apiserver.admission.quota_usage import more, spelled, unspecified, usage_of
from mooring.apiserver.documents.document import decode, to_put
from mooring.apiserver.documents.objects import store_name
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.quota import RESOURCE_QUOTA
from mooring.apiserver.kinds.quota_scopes import requirements_of
from mooring.apiserver.request.refusals import forbidden
from mooring.apiserver.store.contract import Change, Entry, Store
from mooring.errors import Forbidden
from mooring.model.document import Doc
from mooring.model.quantity import ZERO, parse

_FOR_FREE: AbstractAsyncContextManager[None] = nullcontext()


class Demand(msgspec.Struct, frozen=True):
    """What a write takes of the quotas of its namespace."""

    kind: Kind
    namespace: str
    new: Doc
    amounts: Amounts
    standing: Standing
    amounts_before: Amounts
    standing_before: Standing | None  # None: the object is new

    @property
    def name(self) -> str:
        return str(self.new["metadata"].get("name", ""))

    def of(self, quota: Doc) -> Amounts | None:
        """What it takes more than before; None: the quota does not count the object."""
        requirements = requirements_of(quota.get("spec") or {})
        if not is_within(requirements, self.standing):
            return None
        counted = self.standing_before is not None and is_within(requirements, self.standing_before)
        return more(self.amounts, self.amounts_before if counted else {})


def demand_of(kind: Kind, namespace: str, new: Doc, old: Doc | None) -> Demand:
    return Demand(
        kind,
        namespace,
        new,
        usage_of(kind, new),
        standing_of(kind, new),
        usage_of(kind, old) if old is not None else {},
        standing_of(kind, old) if old is not None else None,
    )


class Reservations:
    """What was charged for objects that are being written."""

    def __init__(self) -> None:
        self._numbers = count()
        self._held: dict[int, Demand] = {}

    def hold(self, demand: Demand) -> int:
        number = next(self._numbers)
        self._held[number] = demand
        return number

    def release(self, number: int) -> None:
        del self._held[number]

    def held_in(self, namespace: str) -> Iterator[Demand]:
        return (held for held in self._held.values() if held.namespace == namespace)


class Charging:
    def __init__(self, store: Store) -> None:
        self.reservations = Reservations()
        self._store = store

    def charged(
        self, kind: Kind, namespace: str, new: Doc, old: Doc | None = None, *, dry_run: bool
    ) -> AbstractAsyncContextManager[None]:
        """Write the object within. Raises: Forbidden when a quota does not allow it."""
        quotas = self.quotas(namespace) if kind.namespaced else []
        if not quotas:
            return _FOR_FREE
        demand = demand_of(kind, namespace, new, old)
        return self._charged(quotas, demand, dry_run=dry_run)

    @asynccontextmanager
    async def _charged(
        self, quotas: list[Doc], demand: Demand, *, dry_run: bool
    ) -> AsyncIterator[None]:
        if dry_run:
            for quota in quotas:
                _spent(quota, demand)
            yield
            return
        number = self.reservations.hold(demand)
        paid: list[Doc] = []
        try:
            for quota in quotas:
                await self._charge(quota, demand)
                paid.append(quota)
            yield
        except BaseException:
            for quota in paid:
                await self._refund(quota, demand)
            raise
        finally:
            self.reservations.release(number)

    def heeds_changes(self, kind: Kind, namespace: str) -> bool:
        """Whether a change of such an object may take more of a quota."""
        match kind.resource:
            case "persistentvolumeclaims":
                return bool(self.quotas(namespace))
            case "pods":
                return any(
                    requirements_of(each.get("spec") or {}) for each in self.quotas(namespace)
                )
            case _:
                return False

    def quotas(self, namespace: str) -> list[Doc]:
        kind = RESOURCE_QUOTA
        page = self._store.range(kind.store_table, f"{namespace}/")
        return [decode(kind, entry) for entry in page.entries]

    async def _charge(self, quota: Doc, demand: Demand) -> None:
        def decide(entry: Entry | None) -> Change:
            if entry is None:
                return None
            newest = decode(RESOURCE_QUOTA, entry)
            spent = _spent(newest, demand)
            return None if spent is None else to_put(spent)

        await self._store.write(RESOURCE_QUOTA.store_table, _place(quota), decide)

    async def _refund(self, quota: Doc, demand: Demand) -> None:
        def decide(entry: Entry | None) -> Change:
            if entry is None:
                return None
            newest = decode(RESOURCE_QUOTA, entry)
            used = dict(newest.get("status", {}).get("used") or {})
            amounts = demand.of(newest) or {}
            for name in amounts.keys() & used.keys():
                left = parse(used[name]) - amounts[name]
                used[name] = str(max(left, ZERO))
            return to_put(_with_used(newest, used))

        await self._store.write(RESOURCE_QUOTA.store_table, _place(quota), decide)


def _place(quota: Doc) -> str:
    metadata = quota["metadata"]
    return store_name(RESOURCE_QUOTA, metadata["namespace"], metadata["name"])


def _with_used(quota: Doc, used: Doc) -> Doc:
    return {**quota, "status": {**quota.get("status", {}), "used": used}}


def _spent(quota: Doc, demand: Demand) -> Doc | None:
    """The quota after the write; None: it is not about this. Raises: Forbidden."""
    amounts = demand.of(quota)
    if amounts is None:
        return None
    name, status = quota["metadata"]["name"], quota.get("status", {})
    hard = quota.get("spec", {}).get("hard") or {}
    is_new_pod = demand.standing_before is None and demand.kind.resource == "pods"
    if is_new_pod and (missing := unspecified(hard, demand.new)):
        raise _refused(demand, f"failed quota: {name}: {missing}")
    concerned = sorted(amounts.keys() & hard.keys())
    if not concerned:
        return None
    used = status.get("used") or {}
    if any(each not in used for each in concerned):
        told = f"status unknown for quota: {name}, resources: {','.join(concerned)}"
        raise _refused(demand, told)
    after = {each: parse(used[each]) + amounts[each] for each in concerned}
    exceeded = [each for each in concerned if after[each] > parse(hard[each])]
    if exceeded:
        asked = spelled({each: amounts[each] for each in exceeded})
        had = spelled({each: used[each] for each in exceeded})
        most = spelled({each: hard[each] for each in exceeded})
        told = f"exceeded quota: {name}, requested: {asked}, used: {had}, limited: {most}"
        raise _refused(demand, told)
    return _with_used(quota, {**used, **{each: str(amount) for each, amount in after.items()}})


def _refused(demand: Demand, told: str) -> Forbidden:
    return forbidden(demand.kind, demand.name, told)
