"""Keeps the rules of cluster roles that are made of others."""

from mooring.apiserver.auth.role_index import RoleIndex
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
        index, turn = RoleIndex(()), self._backend.turns.slice()
        for entry in self._backend.store.range(kind.store_table, "").entries:
            index.add(decode(kind, entry))
            if turn.is_over:
                await turn.pause()
        for name in index.roles:
            index.chosen(name)
            if turn.is_over:
                await turn.pause()
        for name, role in index.roles.items():
            rules = aggregated_rules(name, index)
            if turn.is_over:
                await turn.pause()
            if rules is not None and rules != (role.get("rules") or []):
                await self._fill(kind, name, rules)
        return Settled()

    async def _fill(self, kind: Kind, name: str, rules: list[Doc]) -> None:
        def filled(doc: Doc) -> Doc:
            return {**doc, "rules": rules} if "aggregationRule" in doc else doc

        await self._writer.replace(kind, "", name, filled)


def _is_cluster_role(kind: Kind) -> bool:
    return (kind.group, kind.plural) == (GROUP, _ALL)
