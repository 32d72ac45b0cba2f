"""Carrying out plans: the status is saved, and what is to be done to pods is done."""

import msgspec

from mooring.client.contract import Client, Part
from mooring.controllers.owned_pods.effects import PodEffects
from mooring.controllers.replication.plan import Plan, SaveStatus
from mooring.model.replication_controller import ReplicationController
from mooring.reconcile.informer import Informer


class Effects:
    def __init__(
        self, client: Client, controllers: Informer[ReplicationController], pods: PodEffects
    ) -> None:
        self._client = client
        self._controllers = controllers
        self._pods = pods

    async def perform(self, plan: Plan) -> None:
        """In order, up to the first step that fails.

        Raises: what the API said; try again later.
        """
        for step in plan.steps:
            if isinstance(step, SaveStatus):
                await self._save(step)
            elif not await self._pods.perform(step):
                return

    async def _save(self, step: SaveStatus) -> None:
        written = {"status": msgspec.to_builtins(step.status) | _zeroes(step.seen, step.status)}
        self._controllers.fold(await self._client.patch(step.seen, written, Part.STATUS))


def _zeroes(seen: ReplicationController, wanted: object) -> dict[str, int]:
    """Counts that fell to zero: a merge has to say so, or they would stay."""
    said = msgspec.to_builtins(wanted)
    return {field: 0 for field in msgspec.to_builtins(seen.status) if field not in said}
