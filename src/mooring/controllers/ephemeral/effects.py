"""Carrying out what was decided: making claims, and telling the pod when that cannot be."""

from typing import assert_never

from mooring import log
from mooring.client.contract import Client
from mooring.controllers.ephemeral.metrics import EphemeralCounts
from mooring.controllers.ephemeral.plan import CreateClaim, Plan, refuse
from mooring.errors import MooringError
from mooring.model.claim import Claim
from mooring.model.steps import Emit, Fail
from mooring.reconcile.apply import apply
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder

_log = log.get("mooring.ephemeral")


class Effects:
    def __init__(self, client: Client, recorder: Recorder, claims: Informer[Claim]) -> None:
        self.counts = EphemeralCounts()
        self._client = client
        self._recorder = recorder
        self._claims = claims

    async def perform(self, plan: Plan) -> None:
        """The first step that fails is shown in an event of the pod; the steps behind it wait.

        Raises: NotNow, or what the API said; either way, try again later.
        """
        for step in plan.steps:
            match step:
                case CreateClaim():
                    await self._create(step)
                case Emit() | Fail():
                    apply(step, self._recorder)
                case other:
                    assert_never(other)

    async def _create(self, step: CreateClaim) -> None:
        self.counts.tried += 1
        try:
            made = await self._client.create(Claim, step.document())
        except MooringError as error:
            self.counts.failed += 1
            event, _ = refuse(step.pod, step.volume, f"create PVC {step.name.name}: {error}")
            apply(event, self._recorder)
            raise
        self._claims.fold(made)
        _log.info("claim made for a pod", claim=step.name, pod=step.pod.name)
