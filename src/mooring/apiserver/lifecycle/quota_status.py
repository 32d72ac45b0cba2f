"""Counts what the objects of a namespace take of its quotas: when a quota is new or changes, and
when something goes. What comes is charged when it is written (`verbs/charging.py`), by any server:
what was charged in the last seconds stays charged where others write too (`recent_charges.py`)."""

from collections.abc import Iterator

from mooring.apiserver.admission.pod_amounts import Amounts
from mooring.apiserver.admission.quota_scopes import Standing, is_within, standing_of
from mooring.apiserver.admission.quota_usage import usage_of
from mooring.apiserver.documents.document import decode
from mooring.apiserver.documents.following import Follower
from mooring.apiserver.documents.objects import store_prefix
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.quota import RESOURCE_QUOTA
from mooring.apiserver.kinds.quota_scopes import requirements_of
from mooring.apiserver.lifecycle.housekeeper import AGAIN
from mooring.apiserver.lifecycle.recent_charges import RecentCharges, bounded
from mooring.apiserver.store.contract import Change, Entry, Event
from mooring.apiserver.verbs.backend import Backend
from mooring.apiserver.verbs.changing import change_of, last_state
from mooring.apiserver.verbs.charging import Demand, demand_of
from mooring.model.document import Doc
from mooring.model.quantity import ZERO
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict, serve

RECOUNT_SECONDS = 1.0  # after a count while objects were being written
RESYNC_SECONDS = 300.0  # the net: a charge whose object was never written, after a crash
_OF_CLASS = ".storageclass.storage.k8s.io/"
_OF_PODS = ("cpu", "memory", "ephemeral-storage", "requests.", "limits.", "hugepages-")
_ENDS = (b'"phase":"Succeeded"', b'"phase":"Failed"')
_DEADLINE = b'"activeDeadlineSeconds":'


class _Behind(Exception):
    """The quota is newer than the objects that would be counted."""


class QuotaStatus:
    """Keys are namespaces."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._recent = RecentCharges(backend.clock) if backend.store.is_shared else None
        self.queue: KeyedQueue[str] = KeyedQueue(backend.clock, AGAIN)

    async def run(self) -> None:
        """Count until cancelled."""
        with Follower(
            self._backend.store, self._backend.kinds, self._see, self._hear, _may_be_counted
        ):
            await serve(self.queue, self.reconcile)

    def _see(self, kind: Kind, entry: Entry) -> None:
        if kind is RESOURCE_QUOTA:
            self.queue.add(_namespace(entry))

    def _hear(self, kind: Kind, event: Event) -> None:
        if self._recent is not None:
            self._follow(self._recent, kind, event)
        namespace = _namespace(event.entry)
        is_concerned = kind is RESOURCE_QUOTA or bool(self._quotas(namespace, limit=1))
        if is_concerned and _frees(kind, event):  # asked last: it may read both documents
            self.queue.add(namespace)

    def _follow(self, recent: RecentCharges, kind: Kind, event: Event) -> None:
        """Charges, and what they were for."""
        namespace = _namespace(event.entry)
        if kind is RESOURCE_QUOTA:
            quota = decode(kind, event.entry)
            if event.deleted:
                recent.forget(quota)
            else:
                recent.note(quota, event.revision)
        elif not event.deleted and (quotas := self._quotas(namespace)):
            old = None if event.previous is None else decode(kind, event.previous)
            demand = demand_of(kind, namespace, decode(kind, event.entry), old)
            for each in quotas:
                quota = decode(RESOURCE_QUOTA, each)
                if amounts := demand.of(quota):
                    recent.settle(quota, amounts, event.revision)

    def _quotas(self, namespace: str, limit: int = 0) -> list[Entry]:
        table = RESOURCE_QUOTA.store_table
        return self._backend.store.range(table, f"{namespace}/", limit=limit).entries

    async def reconcile(self, namespace: str) -> Verdict:
        counter = _Counter(self._backend, namespace)
        is_busy = False
        quotas = self._quotas(namespace)
        for each in quotas:
            await counter.prepare(set(_hard(decode(RESOURCE_QUOTA, each))))

            def decide(entry: Entry | None) -> Change:
                nonlocal is_busy
                if entry is None:
                    return None
                if entry.revision > self._backend.store.revision:
                    raise _Behind
                quota = decode(RESOURCE_QUOTA, entry)
                pending = list(self._backend.charging.reservations.held_in(namespace))
                found = counter.count(quota, pending)
                taken = self._taken(quota, entry.revision, found)
                is_busy = is_busy or bool(pending) or taken != found or _is_new(quota)
                counted = _with_status(quota, taken)
                return None if counted == quota else change_of(RESOURCE_QUOTA, counted)

            try:
                await self._backend.store.write(each.table, each.name, decide)
            except _Behind:
                is_busy = True
        if is_busy:
            return Again(RECOUNT_SECONDS)
        return Again(RESYNC_SECONDS) if quotas else Settled()

    def _taken(self, quota: Doc, revision: int, counted: Amounts) -> Amounts:
        """What was counted, and what other servers may be writing."""
        if self._recent is None:
            return counted
        self._recent.note(quota, revision)
        return bounded(counted, self._recent.unsettled(quota), quota)


class _Counter:
    """One count of a namespace. What an object takes is worked out once per version of it."""

    def __init__(self, backend: Backend, namespace: str) -> None:
        self._backend = backend
        self._namespace = namespace
        self._known: dict[tuple[str, str], tuple[int, Amounts, Standing]] = {}

    async def prepare(self, hard: set[str]) -> None:
        """Look at all objects, a few at a time, so that others have their turn in between."""
        turn = self._backend.turns.slice()
        for kind, entry in self._counted(hard):
            self._usage(kind, entry)
            if turn.is_over:
                await turn.pause()

    def count(self, quota: Doc, pending: list[Demand]) -> Amounts:
        """What is taken now, by objects and by those that are being written."""
        totals = dict.fromkeys(_hard(quota), ZERO)
        requirements = requirements_of(quota.get("spec") or {})
        usages = [
            amounts
            for kind, entry in self._counted(set(totals))
            for amounts, standing in (self._usage(kind, entry),)
            if is_within(requirements, standing)
        ]
        for amounts in (*usages, *(demand.of(quota) or {} for demand in pending)):
            for name in amounts.keys() & totals.keys():
                totals[name] += amounts[name]
        return totals

    def _counted(self, hard: set[str]) -> Iterator[tuple[Kind, Entry]]:
        versions = {(kind.store_table, kind.resource): kind for kind in self._backend.kinds.all()}
        for kind in versions.values():  # all versions of a kind are the same objects
            if _may_be_counted(kind) and _is_about(kind, hard):
                prefix = store_prefix(kind, self._namespace)
                for entry in self._backend.store.range(kind.store_table, prefix).entries:
                    yield kind, entry

    def _usage(self, kind: Kind, entry: Entry) -> tuple[Amounts, Standing]:
        place = (entry.table, entry.name)
        known = self._known.get(place)
        if known is None or known[0] != entry.revision:
            doc = last_state(kind, entry)
            known = entry.revision, usage_of(kind, doc), standing_of(kind, doc)
            self._known[place] = known
        return known[1], known[2]


def _hard(quota: Doc) -> Doc:
    return quota.get("spec", {}).get("hard") or {}


def _is_new(quota: Doc) -> bool:
    """Whether some of it was never counted: what was begun before it was there was not charged."""
    return bool(_hard(quota).keys() - (quota.get("status", {}).get("used") or {}).keys())


def _with_status(quota: Doc, taken: Amounts) -> Doc:
    used = {name: str(amount) for name, amount in taken.items()}
    return {**quota, "status": {"hard": dict(_hard(quota)), "used": used}}


def _namespace(entry: Entry) -> str:
    return entry.name.partition("/")[0]


def _frees(kind: Kind, event: Event) -> bool:
    """Whether less than is charged may be taken after it, or more allowed."""
    if event.deleted:
        return True
    if kind is RESOURCE_QUOTA:
        if event.previous is None:
            return True
        before, after = decode(kind, event.previous), decode(kind, event.entry)
        return bool(before.get("spec") != after.get("spec"))
    if event.previous is None:
        return False
    if kind.resource == "persistentvolumeclaims":
        before, after = decode(kind, event.previous), decode(kind, event.entry)
        # Also when it grows: several may have been charged for the same growth.
        return usage_of(kind, before) != usage_of(kind, after) or (
            standing_of(kind, before) != standing_of(kind, after)
        )
    if kind.resource != "pods":
        return False
    if (_DEADLINE in event.entry.value) != (_DEADLINE in event.previous.value):
        return True
    return _is_over(event.entry) and not _is_over(event.previous)


def _is_over(entry: Entry) -> bool:
    return any(end in entry.value for end in _ENDS)


def _may_be_counted(kind: Kind) -> bool:
    return kind.namespaced and "create" in kind.verbs and "get" in kind.verbs


def _is_about(kind: Kind, hard: set[str]) -> bool:
    """Whether objects of this kind can take anything of these."""
    if f"count/{kind.resource}" in hard or (not kind.group and kind.plural in hard):
        return True
    match kind.resource:
        case "pods":
            return any(name.startswith(_OF_PODS) for name in hard)
        case "persistentvolumeclaims":
            return any(name == "requests.storage" or _OF_CLASS in name for name in hard)
        case "services":
            return any(name.startswith("services.") for name in hard)
        case _:
            return False
