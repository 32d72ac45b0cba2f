"""Carrying out plans: pods are created, deleted, adopted, released; with events."""

from typing import Final, assert_never

import msgspec

from mooring import log
from mooring.client.contract import Client, Part
from mooring.controllers.replication.plan import (
    Adopt,
    CreatePod,
    DeletePod,
    Plan,
    Release,
    SaveStatus,
)
from mooring.errors import ApiError, ConnectionLost, Forbidden, NotFound
from mooring.model.event import EventType
from mooring.model.pod import Pod
from mooring.model.replication_controller import ReplicationController
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder, reference_to

_log = log.get("mooring.replication")

_TERMINATING: Final = "NamespaceTerminating"


class Effects:
    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        controllers: Informer[ReplicationController],
        pods: Informer[Pod],
    ) -> None:
        self.doomed: set[str] = set()  # uids of pods whose deletion was asked for
        self._client = client
        self._recorder = recorder
        self._controllers = controllers
        self._pods = pods

    async def perform(self, plan: Plan) -> None:
        """In order, up to the first step that fails.

        Raises: what the API said; try again later.
        """
        for step in plan.steps:
            match step:
                case SaveStatus(seen, status):
                    written = {"status": msgspec.to_builtins(status) | _zeroes(seen, status)}
                    saved = await self._client.patch(seen, written, Part.STATUS)
                    self._controllers.fold(saved)
                case Adopt(_, pod) | Release(_, pod):
                    owners = {"metadata": {"ownerReferences": step.owners()}}
                    self._pods.fold(await self._client.patch(pod, owners))
                case CreatePod():
                    if not await self._create(step):
                        return
                case DeletePod():
                    await self._delete(step)
                case other:
                    assert_never(other)

    async def _create(self, step: CreatePod) -> bool:
        """Whether there is any point in going on."""
        try:
            made = await self._client.create(Pod, step.document())
        except Forbidden as error:
            if _is_about_end(error):
                return False  # of the namespace, and of the controller with it
            self._failed(step.controller, "FailedCreate", f"Error creating: {error}")
            raise
        except ApiError as error:
            self._failed(step.controller, "FailedCreate", f"Error creating: {error}")
            raise
        self._pods.fold(made)
        self._record(step.controller, "SuccessfulCreate", f"Created pod: {made.name}")
        _log.info("pod made", pod=made.key, controller=step.controller.name)
        return True

    async def _delete(self, step: DeletePod) -> None:
        self.doomed.add(step.pod.uid)  # before the call: news of it may be faster than its answer
        try:
            await self._client.delete(step.pod)
        except NotFound:
            known = self._pods.get(step.pod.key)
            if known is None or known.uid != step.pod.uid:
                self.doomed.discard(step.pod.uid)  # its end was seen before, and is not seen again
            return
        except ConnectionLost:
            # It may not have been deleted. Then it must count again, to be deleted later.
            self.doomed.discard(step.pod.uid)
            raise
        except ApiError as error:
            self.doomed.discard(step.pod.uid)
            self._failed(step.controller, "FailedDelete", f"Error deleting: {error}")
            raise
        self._record(step.controller, "SuccessfulDelete", f"Deleted pod: {step.pod.name}")

    def _record(self, about: ReplicationController, reason: str, message: str) -> None:
        self._recorder.record(reference_to(about), EventType.NORMAL.value, reason, message)

    def _failed(self, about: ReplicationController, reason: str, message: str) -> None:
        self._recorder.record(reference_to(about), EventType.WARNING.value, reason, message)


def _zeroes(seen: ReplicationController, wanted: object) -> dict[str, int]:
    """Counts that fell to zero: a merge has to say so, or they would stay."""
    said = msgspec.to_builtins(wanted)
    return {field: 0 for field in msgspec.to_builtins(seen.status) if field not in said}


def _is_about_end(error: Forbidden) -> bool:
    causes = error.details.get("causes", ())
    return any(cause.get("reason") == _TERMINATING for cause in causes)
