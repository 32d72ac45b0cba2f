"""Carrying out plans for daemon sets: pods and revisions are written, with events."""

from typing import assert_never

import msgspec

from mooring.client.contract import Client, Part
from mooring.controllers.daemonset.failures import Failures
from mooring.controllers.daemonset.plan import NoteFailure, Plan, SaveStatus, Step
from mooring.controllers.owned_pods.effects import PodEffects
from mooring.controllers.owned_pods.plan import Adopt, CreatePods, DeletePod, Release
from mooring.controllers.revisions.effects import RevisionEffects
from mooring.controllers.revisions.plan import (
    AdoptRevision,
    CreateRevision,
    DeleteRevision,
    RaiseRevision,
)
from mooring.model.daemon_set import DaemonSet
from mooring.model.steps import Emit
from mooring.reconcile.apply import apply
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder


class Effects:
    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        sets: Informer[DaemonSet],
        pods: PodEffects,
        revisions: RevisionEffects,
        failures: Failures,
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._sets = sets
        self._pods = pods
        self._revisions = revisions
        self._failures = failures

    async def perform(self, plan: Plan) -> None:
        """In order, up to the first step that fails.

        Raises: what the API said; try again later.
        """
        for step in plan.steps:
            if not await self._step(step):
                return

    async def _step(self, step: Step) -> bool:
        """Whether there is any point in going on."""
        match step:
            case Adopt() | Release() | CreatePods() | DeletePod():
                return await self._pods.perform(step)
            case CreateRevision() | RaiseRevision() | AdoptRevision() | DeleteRevision():
                await self._revisions.perform(step)
            case SaveStatus():
                await self._save(step)
            case NoteFailure(set_, node):
                self._failures.note(set_, node)
            case Emit():
                apply(step, self._recorder)
            case other:
                assert_never(other)
        return True

    async def _save(self, step: SaveStatus) -> None:
        """A merge has to say which counts fell to zero, or they would stay."""
        said = msgspec.to_builtins(step.status)
        zeroes = {field: 0 for field in msgspec.to_builtins(step.seen.status) if field not in said}
        written = {"status": said | zeroes}
        self._sets.fold(await self._client.patch(step.seen, written, Part.STATUS))
