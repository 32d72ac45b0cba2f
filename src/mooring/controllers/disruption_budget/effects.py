"""Carrying out what was decided: the status of a budget; and asking how many pods are wanted."""

from collections.abc import Iterable
from typing import assert_never

import msgspec

from mooring.client.contract import Client, Part
from mooring.controllers.disruption_budget.plan import Plan, SaveStatus
from mooring.errors import NotFound
from mooring.model.disruption_budget import DisruptionBudget
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import OwnerReference
from mooring.model.pod import Pod
from mooring.model.scaled import SCALED_KINDS, Scaled, ScaledDeployment
from mooring.model.steps import Emit
from mooring.reconcile.apply import apply
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder


class Effects:
    def __init__(
        self, client: Client, recorder: Recorder, budgets: Informer[DisruptionBudget]
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._budgets = budgets

    async def perform(self, plan: Plan) -> None:
        """In order, up to the first step that fails. Raises: what the API said."""
        for step in plan.steps:
            match step:
                case SaveStatus(seen, _):
                    saved = await self._client.patch(seen, {"status": _change(step)}, Part.STATUS)
                    self._budgets.fold(saved)
                case Emit():
                    apply(step, self._recorder)
                case other:
                    assert_never(other)

    async def find_scales(self, pods: Iterable[Pod]) -> dict[str, int]:
        """How many pods their owners want, by uid; of owners that nobody knows, nothing."""
        owners = {
            (pod.namespace, owner.uid): owner
            for pod in pods
            if (owner := pod.metadata.find_controller()) is not None
        }
        found: dict[str, int] = {}
        for (namespace, uid), owner in owners.items():
            if (scaled := await self._find(namespace, owner)) is not None:
                found[uid] = scaled.spec.replicas
        return found

    async def _find(self, namespace: str, owner: OwnerReference) -> Scaled | None:
        kind = SCALED_KINDS.get((owner.api_version.rpartition("/")[0], owner.kind))
        if kind is None:
            return None
        try:
            found = await self._client.get(kind, Key(namespace, owner.name))
        except NotFound:
            return None
        if found.uid != owner.uid:
            return None
        above = found.metadata.find_controller()
        if above is not None and above.kind == ScaledDeployment.resource.kind:
            return await self._find(namespace, above)  # of whom it is one of several
        return found


def _change(step: SaveStatus) -> Doc:
    """A merge has to say what is gone, and what has fallen to zero."""
    status = step.status
    gone = dict.fromkeys(step.seen.status.disrupted_pods.keys() - status.disrupted_pods.keys())
    return {
        "observedGeneration": status.observed_generation,
        "disruptedPods": {**gone, **status.disrupted_pods},
        "disruptionsAllowed": status.disruptions_allowed,
        "currentHealthy": status.current_healthy,
        "desiredHealthy": status.desired_healthy,
        "expectedPods": status.expected_pods,
        "conditions": msgspec.to_builtins(status.conditions),
    }
