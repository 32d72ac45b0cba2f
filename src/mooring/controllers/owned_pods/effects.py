"""Carrying out steps about pods: they are created, deleted, adopted, released; with events."""

import asyncio
from typing import Final, assert_never

from mooring import log
from mooring.client.contract import Client
from mooring.controllers.owned_pods.adoption import check_may_adopt
from mooring.controllers.owned_pods.plan import Adopt, CreatePods, DeletePod, PodStep, Release
from mooring.errors import ApiError, ConnectionLost, Forbidden, NotFound
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.pod import Pod
from mooring.model.pod_owner import PodOwner
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder, reference_to

_log = log.get("mooring.owned_pods")

MOST_IN_ONE_TURN: Final = 32  # pods; each takes about a millisecond of this process
_TERMINATING: Final = "NamespaceTerminating"


class PodWords:
    """What the events on an owner say of its pods."""

    def created(self, _owner: PodOwner, pod: str) -> str:
        return f"Created pod: {pod}"

    def not_created(self, _owner: PodOwner, _pod: str, error: ApiError) -> str:
        return f"Error creating: {error}"

    def deleted(self, _owner: PodOwner, pod: str) -> str:
        return f"Deleted pod: {pod}"

    def not_deleted(self, _owner: PodOwner, _pod: str, error: ApiError) -> str:
        return f"Error deleting: {error}"


_WORDS: Final = PodWords()


class PodEffects:
    def __init__(
        self, client: Client, recorder: Recorder, pods: Informer[Pod], words: PodWords = _WORDS
    ) -> None:
        self._words = words
        self.doomed: set[str] = set()  # uids of pods whose deletion was asked for
        self._client = client
        self._recorder = recorder
        self._pods = pods
        pods.on_change(self._on_pod)

    async def perform(self, step: PodStep) -> bool:
        """Whether there is any point in going on: not in a namespace that is being deleted.

        Raises: what the API said; try again later.
        """
        match step:
            case Adopt(owner, pod):
                await check_may_adopt(self._client, owner)
                await self._give(pod, step.owners())
            case Release(_, pod):
                await self._give(pod, step.owners())
            case CreatePods(owner, documents):
                return await self._create_all(owner, documents)
            case DeletePod(owner, pod):
                await self._delete(owner, pod)
            case other:
                assert_never(other)
        return True

    async def _give(self, pod: Pod, owners: list[Doc]) -> None:
        try:
            change = {"metadata": {"ownerReferences": owners}}
            self._pods.fold(await self._client.patch(pod, change))
        except NotFound:
            return  # it is nobody's any more

    async def _create_all(self, owner: PodOwner, documents: tuple[Doc, ...]) -> bool:
        """One, two, four and so on at a time: what is refused is refused once, not 500 times.

        Others of this process have their turn after `MOST_IN_ONE_TURN` at the latest.
        """
        left, size = list(documents), 1
        while left:
            batch, left = left[:size], left[size:]
            made = [self._create(owner, document) for document in batch]
            outcomes = await asyncio.gather(*made, return_exceptions=True)
            for outcome in outcomes:
                if isinstance(outcome, BaseException):
                    raise outcome
                if not outcome:
                    return False
            size = min(size * 2, MOST_IN_ONE_TURN)
        return True

    async def _create(self, owner: PodOwner, document: Doc) -> bool:
        try:
            made = await self._client.create(Pod, document)
        except ApiError as error:
            if isinstance(error, Forbidden) and is_about_end(error):
                return False  # of the namespace, and of the owner with it
            name = document["metadata"].get("name", "")
            said = self._words.not_created(owner, name, error)
            self._record(owner, EventType.WARNING, "FailedCreate", said)
            raise
        self._pods.fold(made)
        said = self._words.created(owner, made.name)
        self._record(owner, EventType.NORMAL, "SuccessfulCreate", said)
        _log.info("pod made", pod=made.key, owner=owner.name, kind=owner.resource.kind)
        return True

    async def _delete(self, owner: PodOwner, pod: Pod) -> None:
        self.doomed.add(pod.uid)  # before the call: news of it may be faster than its answer
        try:
            await self._client.delete(pod)
        except NotFound:
            known = self._pods.get(pod.key)
            if known is None or known.uid != pod.uid:
                self.doomed.discard(pod.uid)  # its end was seen before, and is not seen again
            return
        except ConnectionLost:
            # It may not have been deleted. Then it must count again, to be deleted later.
            self.doomed.discard(pod.uid)
            raise
        except ApiError as error:
            self.doomed.discard(pod.uid)
            said = self._words.not_deleted(owner, pod.name, error)
            self._record(owner, EventType.WARNING, "FailedDelete", said)
            raise
        said = self._words.deleted(owner, pod.name)
        self._record(owner, EventType.NORMAL, "SuccessfulDelete", said)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        if before is not None and (after is None or after.is_deleting):
            self.doomed.discard(before.uid)

    def _record(self, about: PodOwner, type: EventType, reason: str, message: str) -> None:
        self._recorder.record(reference_to(about), type.value, reason, message)


def is_about_end(error: Forbidden) -> bool:
    """Whether nothing may be created any more because the namespace is being deleted."""
    causes = error.details.get("causes", ())
    return any(cause.get("reason") == _TERMINATING for cause in causes)
