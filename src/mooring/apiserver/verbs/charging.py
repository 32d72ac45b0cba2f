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
from mooring.apiserver.admission.quota_usage import more, spelled, unspecified, usage_of
from mooring.apiserver.documents.document import decode, to_put
from mooring.apiserver.documents.objects import store_name
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.quota import RESOURCE_QUOTA
from mooring.apiserver.request.refusals import forbidden
from mooring.apiserver.store.contract import Change, Entry, Store
from mooring.errors import Forbidden
from mooring.model.document import Doc
from mooring.model.quantity import ZERO, parse

_FOR_FREE: AbstractAsyncContextManager[None] = nullcontext()


class _Reservation(msgspec.Struct, frozen=True):
    namespace: str
    amounts: Amounts


class Reservations:
    """What was charged for objects that are being written."""

    def __init__(self) -> None:
        self._numbers = count()
        self._held: dict[int, _Reservation] = {}

    def hold(self, namespace: str, amounts: Amounts) -> int:
        number = next(self._numbers)
        self._held[number] = _Reservation(namespace, amounts)
        return number

    def release(self, number: int) -> None:
        del self._held[number]

    def held_in(self, namespace: str) -> Iterator[Amounts]:
        return (held.amounts for held in self._held.values() if held.namespace == namespace)


class _Request(msgspec.Struct, frozen=True):
    kind: Kind
    name: str
    new: Doc
    amounts: Amounts  # that it takes more than before


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
        return self._charged(quotas, kind, namespace, new, old, dry_run=dry_run)

    @asynccontextmanager
    async def _charged(
        self,
        quotas: list[Doc],
        kind: Kind,
        namespace: str,
        new: Doc,
        old: Doc | None,
        *,
        dry_run: bool,
    ) -> AsyncIterator[None]:
        before = usage_of(kind, old) if old is not None else {}
        amounts = more(usage_of(kind, new), before)
        request = _Request(kind, new["metadata"].get("name", ""), new, amounts)
        if dry_run:
            for quota in quotas:
                _spent(quota, request, is_new=old is None)
            yield
            return
        number = self.reservations.hold(namespace, amounts)
        paid: list[Doc] = []
        try:
            for quota in quotas:
                await self._charge(quota, request, is_new=old is None)
                paid.append(quota)
            yield
        except BaseException:
            for quota in paid:
                await self._refund(quota, amounts)
            raise
        finally:
            self.reservations.release(number)

    def quotas(self, namespace: str) -> list[Doc]:
        kind = RESOURCE_QUOTA
        page = self._store.range(kind.store_table, f"{namespace}/")
        return [decode(kind, entry) for entry in page.entries]

    async def _charge(self, quota: Doc, request: _Request, *, is_new: bool) -> None:
        def decide(entry: Entry | None) -> Change:
            if entry is None:
                return None
            newest = decode(RESOURCE_QUOTA, entry)
            spent = _spent(newest, request, is_new=is_new)
            return None if spent is None else to_put(spent)

        await self._store.write(RESOURCE_QUOTA.store_table, _place(quota), decide)

    async def _refund(self, quota: Doc, amounts: Amounts) -> None:
        def decide(entry: Entry | None) -> Change:
            if entry is None:
                return None
            newest = decode(RESOURCE_QUOTA, entry)
            used = dict(newest.get("status", {}).get("used") or {})
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


def _spent(quota: Doc, request: _Request, *, is_new: bool) -> Doc | None:
    """The quota after the request; None: it is not about this. Raises: Forbidden."""
    name, status = quota["metadata"]["name"], quota.get("status", {})
    hard = quota.get("spec", {}).get("hard") or {}
    is_new_pod = is_new and request.kind.resource == "pods"
    if is_new_pod and (missing := unspecified(hard, request.new)):
        raise _refused(request, f"failed quota: {name}: {missing}")
    concerned = sorted(request.amounts.keys() & hard.keys())
    if not concerned:
        return None
    used = status.get("used") or {}
    if any(each not in used for each in concerned):
        told = f"status unknown for quota: {name}, resources: {','.join(concerned)}"
        raise _refused(request, told)
    after = {each: parse(used[each]) + request.amounts[each] for each in concerned}
    exceeded = [each for each in concerned if after[each] > parse(hard[each])]
    if exceeded:
        asked = spelled({each: request.amounts[each] for each in exceeded})
        had = spelled({each: used[each] for each in exceeded})
        most = spelled({each: hard[each] for each in exceeded})
        told = f"exceeded quota: {name}, requested: {asked}, used: {had}, limited: {most}"
        raise _refused(request, told)
    return _with_used(quota, {**used, **{each: str(amount) for each, amount in after.items()}})


def _refused(request: _Request, told: str) -> Forbidden:
    return forbidden(request.kind, request.name, told)
