"""Carrying out plans: replica sets are written, the status is saved; with events."""

from typing import Any, assert_never

import msgspec

from mooring import log
from mooring.client.contract import Client, Part
from mooring.controllers.deployment.decide.sets import has_template
from mooring.controllers.deployment.decide.status import failure_text
from mooring.controllers.deployment.plan import (
    AdoptSet,
    AnnotateSet,
    Collided,
    CreateSet,
    DeleteSet,
    NotCreated,
    Outcome,
    Plan,
    ReleaseSet,
    SaveStatus,
    ScaleSet,
    Step,
)
from mooring.controllers.owned_pods.adoption import check_may_adopt
from mooring.controllers.owned_pods.effects import is_about_end
from mooring.controllers.owned_pods.ownership import references_with, references_without
from mooring.errors import AlreadyExists, ApiError, Forbidden, NotFound
from mooring.model.deployment import Deployment, DeploymentStatus
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.keys import Key
from mooring.model.replica_set import ReplicaSet
from mooring.model.wellknown import Annotation
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder, reference_to

_log = log.get("mooring.deployment")


class Effects:
    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        deployments: Informer[Deployment],
        sets: Informer[ReplicaSet],
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._deployments = deployments
        self._sets = sets

    async def perform(self, plan: Plan) -> Outcome:
        """In order, up to the first step that fails; why a replica set was not created is returned.

        Raises: what the API said of other steps; try again later.
        """
        for step in plan.steps:
            outcome = await self._write(step)
            if outcome is not None:
                return outcome
        return None

    async def _write(self, step: Step) -> Outcome:
        match step:
            case AdoptSet(deployment, each):
                await check_may_adopt(self._client, deployment)
                await self._change(each, _owned_by(references_with(each, deployment)))
            case ReleaseSet(deployment, each):
                await self._change(each, _owned_by(references_without(each, deployment)))
            case AnnotateSet(each, annotations, least):
                spec = {"minReadySeconds": least}
                change = {"metadata": {"annotations": dict(annotations)}, "spec": spec}
                await self._change(each, change)
            case ScaleSet():
                await self._scale(step)
            case DeleteSet(each):
                await self._delete(each)
            case SaveStatus():
                await self._save(step)
            case CreateSet():
                return await self._create(step)
            case other:
                assert_never(other)
        return None

    async def _create(self, step: CreateSet) -> Outcome:
        deployment = step.deployment
        try:
            made = await self._client.create(ReplicaSet, step.document)
        except AlreadyExists:
            return await self._taken(step)
        except ApiError as error:
            if not (isinstance(error, Forbidden) and is_about_end(error)):
                message = failure_text(step.name, str(error))
                self._record(deployment, EventType.WARNING, "ReplicaSetCreateError", message)
            return NotCreated(step.name, error)
        self._sets.fold(made)
        _log.info("replica set made", set=made.key, deployment=deployment.name)
        if step.replicas:
            message = f"Scaled up replica set {made.name} from 0 to {step.replicas}"
            self._record(deployment, EventType.NORMAL, "ScalingReplicaSet", message)
        return None

    async def _taken(self, step: CreateSet) -> Outcome:
        """It may be the very one, made before the cache knew."""
        deployment = step.deployment
        there = await self._client.get(ReplicaSet, Key(deployment.namespace, step.name))
        owner = there.metadata.find_controller()
        is_own = owner is not None and owner.uid == deployment.uid
        if is_own and has_template(there, deployment.spec.template):
            self._sets.fold(there)
            return None
        return Collided()

    async def _scale(self, step: ScaleSet) -> None:
        each, before = step.set, step.set.spec.replicas
        change = {
            "metadata": {"annotations": dict(step.annotations)},
            "spec": {"replicas": step.replicas},
        }
        await self._change(each, change)
        if before == step.replicas:
            return
        direction = "up" if before < step.replicas else "down"
        message = f"Scaled {direction} replica set {each.name} from {before} to {step.replicas}"
        self._record(step.deployment, EventType.NORMAL, "ScalingReplicaSet", message)

    async def _delete(self, each: ReplicaSet) -> None:
        """Unless it is wanted again, of which the cache may not know yet."""
        try:
            live = await self._client.get(ReplicaSet, each.key)
            if live.uid == each.uid and not live.spec.replicas and not live.status.replicas:
                await self._client.delete(live)
        except NotFound:
            return

    async def _change(self, each: ReplicaSet, change: Doc) -> None:
        self._sets.fold(await self._client.patch(each, change))

    async def _save(self, step: SaveStatus) -> None:
        """The annotation goes with the status: so it is no change of the deployment's generation,
        which counts what users write."""
        seen = step.deployment
        said = msgspec.to_builtins(step.status)
        written: Doc = {"status": said | _unsaid(seen.status, said)}
        if step.revision:
            written["metadata"] = {"annotations": {Annotation.REVISION: step.revision}}
        self._deployments.fold(await self._client.patch(seen, written, Part.STATUS))

    def _record(self, about: Deployment, type: EventType, reason: str, message: str) -> None:
        self._recorder.record(reference_to(about), type.value, reason, message)


def _owned_by(references: list[Doc]) -> Doc:
    return {"metadata": {"ownerReferences": references}}


def _unsaid(before: DeploymentStatus, said: dict[str, Any]) -> dict[str, Any]:
    """Counts that fell to zero, and conditions that went: a merge has to say so."""
    gone = (field for field in msgspec.to_builtins(before) if field not in said)
    return {field: None if field == "conditions" else 0 for field in gone}
