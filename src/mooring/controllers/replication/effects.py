"""Carrying out plans: what is to be done to pods is done, and the status is saved."""

from typing import Any, Generic, TypeVar

import msgspec

from mooring.client.contract import Client, Part
from mooring.controllers.owned_pods.effects import PodEffects
from mooring.controllers.owned_pods.plan import CreatePods, DeletePod
from mooring.controllers.replication.plan import Failed, Plan
from mooring.controllers.replication.view import Replicated
from mooring.errors import ApiError
from mooring.model.replica_status import ReplicaStatus
from mooring.reconcile.informer import Informer

Owner = TypeVar("Owner", bound=Replicated)


class Effects(Generic[Owner]):
    def __init__(self, client: Client, owners: Informer[Owner], pods: PodEffects) -> None:
        self._client = client
        self._owners = owners
        self._pods = pods

    async def perform(self, plan: Plan) -> Failed | None:
        """In order, up to the first step that fails; that of a pod is returned.

        Raises: what the API said of other steps; try again later.
        """
        for step in plan.steps:
            try:
                if not await self._pods.perform(step):
                    return None
            except ApiError as error:
                match step:
                    case CreatePods():
                        return Failed("FailedCreate", error)
                    case DeletePod():
                        return Failed("FailedDelete", error)
                    case _:
                        raise
        return None

    async def save(self, seen: Owner, status: ReplicaStatus) -> None:
        """Raises: what the API said; try again later."""
        if status == seen.status:
            return
        said = msgspec.to_builtins(status)
        written = {"status": said | _unsaid(seen.status, said)}
        self._owners.fold(await self._client.patch(seen, written, Part.STATUS))


def _unsaid(before: ReplicaStatus, said: dict[str, Any]) -> dict[str, Any]:
    """Counts that fell to zero, and conditions that went: a merge has to say so."""
    gone = (field for field in msgspec.to_builtins(before) if field not in said)
    return {field: None if field == "conditions" else 0 for field in gone}
