"""Carrying out what was decided: making claims, and telling the pod when that cannot be."""

from typing import assert_never

from mooring import log
from mooring.client.contract import Client
from mooring.controllers.ephemeral.metrics import EphemeralCounts
from mooring.controllers.ephemeral.plan import CreateClaim, Plan, Refuse
from mooring.errors import MooringError
from mooring.model.claim import Claim
from mooring.model.pod import Pod
from mooring.reconcile.cache import Cache
from mooring.reconcile.recorder import Recorder, reference_to

_log = log.get("mooring.ephemeral")

FAILED = "FailedBinding"


class Refused(MooringError):
    """A volume of the pod cannot be had as things are."""


class Effects:
    def __init__(self, client: Client, recorder: Recorder, claims: Cache[Claim]) -> None:
        self.counts = EphemeralCounts()
        self._client = client
        self._recorder = recorder
        self._claims = claims

    async def perform(self, plan: Plan) -> None:
        """The pod is told of the first step that fails, and the steps behind it wait.

        Raises: Refused, or what the API said; either way, try again later.
        """
        for step in plan.steps:
            match step:
                case CreateClaim():
                    await self._create(step)
                case Refuse(pod, volume, problem):
                    self._tell(pod, volume, problem)
                    raise Refused(f"ephemeral volume {volume}: {problem}")
                case other:
                    assert_never(other)

    async def _create(self, step: CreateClaim) -> None:
        self.counts.tried += 1
        try:
            made = await self._client.create(Claim, step.document())
        except MooringError as error:
            self.counts.failed += 1
            self._tell(step.pod, step.volume, f"create PVC {step.name.name}: {error}")
            raise
        self._claims.fold(made)
        _log.info("claim made for a pod", claim=step.name, pod=step.pod.name)

    def _tell(self, pod: Pod, volume: str, problem: str) -> None:
        message = f"ephemeral volume {volume}: {problem}"
        self._recorder.record(reference_to(pod), "Warning", FAILED, message)
