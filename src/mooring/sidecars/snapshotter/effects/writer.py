"""What is written about any content: records, errors, finalizers. One for each kind."""

import json
from collections.abc import Mapping
from typing import Generic, NoReturn, TypeVar

import msgspec

from mooring.client.contract import Client, Part
from mooring.clock import Clock
from mooring.csi.secrets import Secrets
from mooring.model.document import Doc
from mooring.model.event import EventType
from mooring.model.group_snapshot import GroupSnapshotContent
from mooring.model.reference import SecretReference
from mooring.model.snapshot import SnapshotContent
from mooring.model.steps import Emit
from mooring.model.timestamp import to_seconds
from mooring.model.wellknown import Annotation
from mooring.reconcile.apply import NotNow, apply
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder
from mooring.sidecars.credentials import NoCredentials, read_credentials
from mooring.sidecars.finalizers import adding, has_finalizer, removing
from mooring.sidecars.snapshotter.request import SnapshotRequest, encode
from mooring.sidecars.writing import patch_newest

C = TypeVar("C", SnapshotContent, GroupSnapshotContent)


class Words(msgspec.Struct, frozen=True):
    """What differs between the two kinds."""

    finalizer: str
    being_created: str  # the annotation
    creation_failed: str  # reasons of events
    update_failed: str
    delete_failed: str
    failed_to_create: str  # how the message begins
    failed_to_update: str
    cleared: Mapping[str, None]  # the status, once the snapshot is deleted


class Writer(Generic[C]):
    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        contents: Informer[C],
        words: Words,
    ) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._contents: Informer[C] = contents
        self._words = words

    async def record(self, content: C, request: SnapshotRequest) -> None:
        """Before the driver is asked: from here on a snapshot may exist. Raises: ApiError."""
        words = self._words
        notes = {words.being_created: "yes", Annotation.SNAPSHOT_REQUEST: encode(request)}
        metadata: Doc = {"annotations": notes}
        if not has_finalizer(content, words.finalizer):
            metadata |= adding(content, words.finalizer)
        written = await self._client.patch(content, {"metadata": metadata})
        self._contents.fold(written)

    async def close(self, content: C) -> None:
        """Remove the record: the driver's answer is certain. Raises: ApiError."""
        keys = (self._words.being_created, Annotation.SNAPSHOT_REQUEST)

        def change(newest: C) -> Doc:
            noted = dict.fromkeys(key for key in keys if key in newest.metadata.annotations)
            return {"metadata": {"annotations": noted}} if noted else {}

        self._fold(await patch_newest(self._client, self._newest(content), change))

    async def release(self, content: C) -> None:
        """Let the object go. One that others hold must not tell of a snapshot that is no more."""
        finalizer = self._words.finalizer

        def change(newest: C) -> Doc:
            held = has_finalizer(newest, finalizer)
            return {"metadata": removing(newest, finalizer)} if held else {}

        self._fold(await patch_newest(self._client, self._newest(content), change))

    async def clear(self, content: C) -> None:
        """The snapshot is deleted; an object that others hold must not tell of it any more."""
        if set(content.metadata.finalizers) - {self._words.finalizer}:
            await self.say(content, dict(self._words.cleared))

    async def say(self, content: C, status: Doc) -> None:
        """Merge this into the status; nothing if it is empty. Raises: ApiError."""
        if status:
            change = {"status": status}
            newest = self._newest(content)
            self._fold(await patch_newest(self._client, newest, lambda _: change, Part.STATUS))

    async def create_fails(self, content: C, why: str, status: Doc | None = None) -> NoReturn:
        """Write the error into the status, and retry later; the same error is written once.

        Raises: NotNow.
        """
        words, newest = self._words, self._newest(content)
        is_first = newest.status is None
        begin = words.failed_to_create if is_first else words.failed_to_update
        message = f"{begin}: {why}"
        error = newest.status.error if newest.status else None
        told = error.message if error else None
        known = {f"{words.failed_to_create}: {why}", f"{words.failed_to_update}: {why}"}
        if told not in known:
            now = to_seconds(self._clock.now())
            failed = {"time": now, "message": message}
            await self.say(content, {"readyToUse": False, **(status or {}), "error": failed})
            reason = words.creation_failed if is_first else words.update_failed
            apply(Emit(content, EventType.WARNING, reason, message), self._recorder)
        raise NotNow(why)

    def delete_fails(self, content: C, message: str) -> NoReturn:
        """Raises: NotNow."""
        emit = Emit(content, EventType.WARNING, self._words.delete_failed, message)
        apply(emit, self._recorder)
        raise NotNow(message)

    async def secrets_to_create(self, content: C, reference: SecretReference | None) -> Secrets:
        """Raises: NotNow."""
        try:
            return await read_credentials(self._client, reference)
        except NoCredentials as error:
            why = f'cannot get credentials for snapshot content "{content.name}": {error}'
            await self.create_fails(content, why)

    async def secrets_to_delete(self, content: C, reference: SecretReference | None) -> Secrets:
        """Raises: NotNow."""
        try:
            return await read_credentials(self._client, reference)
        except NoCredentials as error:
            self.delete_fails(content, f"Failed to get snapshot credentials: {error}")

    def _newest(self, content: C) -> C:
        """As it was written last, unless another object has its name by now."""
        newest = self._contents.get(content.key)
        return newest if newest is not None and newest.uid == content.uid else content

    def _fold(self, written: C | None) -> None:
        if written is not None:
            self._contents.fold(written)


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
