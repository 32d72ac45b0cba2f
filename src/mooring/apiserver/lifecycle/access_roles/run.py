"""Keeps the rules of cluster roles that are made of others."""

from collections.abc import Iterator

from mooring.apiserver.documents.document import decode
from mooring.apiserver.documents.following import Follower
from mooring.apiserver.kinds.access_rules import GROUP
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.lifecycle.access_roles.decide import aggregated_rules
from mooring.apiserver.lifecycle.housekeeper import AGAIN
from mooring.apiserver.verbs.backend import Backend
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from mooring.model.document import Doc
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Settled, Verdict, serve

_ALL = "clusterroles"


class RoleAggregation:
    """One key for all of them: they are few, and any may be part of any other."""

    def __init__(self, backend: Backend, writer: InProcessWriter) -> None:
        self._backend = backend
        self._writer = writer
        self.queue: KeyedQueue[str] = KeyedQueue(backend.clock, AGAIN)

    async def run(self) -> None:
        """Look after them until cancelled."""
        with Follower(
            self._backend.store,
            self._backend.kinds,
            lambda _kind, _entry: self.queue.add(_ALL),
            lambda _kind, _event: self.queue.add(_ALL),
            _is_cluster_role,
        ):
            await serve(self.queue, self._reconcile)

    async def _reconcile(self, _: str) -> Verdict:
        kind = self._backend.kinds.find(GROUP, "v1", _ALL)
        if kind is None:
            raise LookupError(f"no kind {_ALL}")
        roles = list(self._roles(kind))
        for role in roles:
            rules = aggregated_rules(role, roles)
            if rules is None or rules == (role.get("rules") or []):
                continue

            def filled(doc: Doc, rules: list[Doc] = rules) -> Doc:
                return {**doc, "rules": rules} if "aggregationRule" in doc else doc

            await self._writer.replace(kind, "", role["metadata"]["name"], filled)
        return Settled()

    def _roles(self, kind: Kind) -> Iterator[Doc]:
        for entry in self._backend.store.range(kind.store_table, "").entries:
            yield decode(kind, entry)


def _is_cluster_role(kind: Kind) -> bool:
    return (kind.group, kind.plural) == (GROUP, _ALL)
