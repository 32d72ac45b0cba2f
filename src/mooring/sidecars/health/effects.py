"""Asking a driver for health, and telling of it."""

from typing import assert_never

from mooring import log
from mooring.client.contract import Client, Part
from mooring.clock import Clock
from mooring.csi.outcome import Code, Done, Outcome, Refused
from mooring.csi.volume import Condition, VolumeState
from mooring.csi.volume_health import VolumeHealth, VolumeTrouble
from mooring.model.claim import Claim
from mooring.model.document import Doc
from mooring.model.health import HealthCondition
from mooring.model.steps import Emit
from mooring.model.timestamp import to_seconds
from mooring.reconcile.apply import apply
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder
from mooring.sidecars.health.plan import Plan, WriteHealth
from mooring.sidecars.health.view import Reported
from mooring.sidecars.writing import patch_newest

_log = log.get("mooring.health")

_WORDS = {
    VolumeTrouble.DEGRADED: "Degraded",
    VolumeTrouble.INACCESSIBLE: "Inaccessible",
    VolumeTrouble.DATA_LOSS: "DataLoss",
}
GONE = HealthCondition(
    status="Inaccessible", reason="VolumeNotFound", message="the driver does not know this volume"
)


class Effects:
    def __init__(
        self, client: Client, clock: Clock, claims: Informer[Claim], recorder: Recorder
    ) -> None:
        self._client = client
        self._clock = clock
        self._claims = claims
        self._recorder = recorder
        self.is_dropped = False  # the API server does not keep the field

    async def perform(self, plan: Plan) -> None:
        """Raises: ApiError, ConnectionLost."""
        for step in plan.steps:
            match step:
                case Emit():
                    apply(step, self._recorder)
                case WriteHealth(claim, conditions):
                    await self._write(claim, conditions)
                case other:
                    assert_never(other)

    async def _write(self, claim: Claim, conditions: tuple[HealthCondition, ...]) -> None:
        told = [
            {"status": one.status, "reason": one.reason, "message": one.message}
            for one in conditions
        ]
        now = to_seconds(self._clock.now())
        change: Doc = {
            "status": {"healthStatus": {"healthConditions": told, "lastTransitionTime": now}}
        }
        written = await patch_newest(self._client, claim, lambda _: change, Part.STATUS)
        if written is None:
            return
        self._claims.fold(written)
        self.is_dropped = bool(conditions) and written.status.health_status is None
        if self.is_dropped:
            _log.warning("the API server keeps no health of claims; asking less often")


def reported(health: VolumeHealth) -> Reported:
    return Reported(
        tuple(
            HealthCondition(status=_WORDS[one.status], reason=one.reason, message=one.message)
            for one in health.entries
        )
    )


def found_by_get(outcome: Outcome[VolumeHealth]) -> Reported | None:
    """None: the driver did not answer. A volume that it does not know is inaccessible."""
    match outcome:
        case Done(health):
            return reported(health)
        case Refused(Code.NOT_FOUND):
            return Reported((GONE,))
        case _:
            return None


def condition_of(outcome: Outcome[VolumeState]) -> Condition | None:
    """None: the driver did not answer, or has none."""
    match outcome:
        case Done(state):
            return state.condition
        case Refused(Code.NOT_FOUND):
            return Condition(abnormal=True, message="volume not found")
        case _:
            return None
