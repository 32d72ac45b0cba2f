"""Carrying out the attacher's plans: records, calls to the driver, and the status."""

from contextlib import suppress
from typing import Any, NoReturn, assert_never

import msgspec

from mooring import log
from mooring.client.contract import Client, Part
from mooring.clock import Clock
from mooring.csi.outcome import Done, Refused, Uncertain
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.errors import NotFound
from mooring.model.attachment import Attachment
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.may_destroy import DetachOrder, Go, Stay
from mooring.model.reference import SecretReference
from mooring.model.timestamp import to_seconds
from mooring.model.volume import Volume
from mooring.reconcile.apply import NotNow
from mooring.reconcile.informer import Informer
from mooring.reconcile.live_gate import LiveGate
from mooring.reconcile.worker import Settled, Verdict
from mooring.sidecars.attacher.plan import (
    Attach,
    AttachFails,
    Detach,
    DetachFails,
    DetachFormer,
    MarkAttached,
    Plan,
    Protect,
    Record,
    Step,
    Unprotect,
    finalizer_of,
)
from mooring.sidecars.credentials import NoCredentials, NoSuchSecret, read_credentials
from mooring.sidecars.driver import Driver
from mooring.sidecars.finalizers import adding, has_finalizer, removing
from mooring.sidecars.indexes import BY_VOLUME
from mooring.sidecars.one_by_one import OneByOne
from mooring.sidecars.writing import patch_newest

_log = log.get("mooring.attacher")


class Effects:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        driver: Driver,
        attachments: Informer[Attachment],
        volumes: Informer[Volume],
        call_seconds: float,
    ) -> None:
        self._gate = LiveGate(client)
        self._busy = OneByOne()
        self._client = client
        self._clock = clock
        self._driver = driver
        self._attachments = attachments
        self._volumes = volumes
        self._call_seconds = call_seconds
        self._finalizer = finalizer_of(driver.name)

    async def perform(self, plan: Plan) -> Verdict:
        """Raises: ApiError, ConnectionLost, NotNow."""
        with suppress(NotFound):  # the object is gone, and the request with it
            for step in plan.steps:
                await self._perform(step)
        return Settled()

    async def _perform(self, step: Step) -> None:
        match step:
            case Protect(volume):
                change = {"metadata": adding(volume, self._finalizer)}
                self._volumes.fold(await self._client.patch(volume, change))
            case Unprotect(volume):
                await self._client.patch(volume, {"metadata": removing(volume, self._finalizer)})
            case Record(attachment, notes):
                metadata: Doc = {"annotations": dict(notes)}
                if not has_finalizer(attachment, self._finalizer):
                    metadata |= adding(attachment, self._finalizer)
                written = await self._client.patch(attachment, {"metadata": metadata})
                self._attachments.fold(written)
            case DetachFormer():
                await self._detach_former(step)
            case Attach():
                await self._attach(step)
            case Detach():
                await self._detach(step)
            case MarkAttached(attachment):
                await self._say(attachment, {"attached": True})
            case AttachFails(attachment, message):
                await self._fails(attachment, "attachError", {"message": message})
            case DetachFails(attachment, message):
                await self._fails(attachment, "detachError", {"message": message})
            case other:
                assert_never(other)

    async def _attach(self, step: Attach) -> None:
        attachment = self._attachments.get(step.attachment.key) or step.attachment
        secrets = await self._secrets(attachment, step.secret, "attachError")
        request = msgspec.structs.replace(step.request, secrets=secrets)
        async with self._busy.alone((request.volume_id, request.node_id)):
            outcome = await self._driver.calls.attach(request, within=self._call_seconds)
        if not isinstance(outcome, Done):
            error = {"message": outcome.text, **_code(outcome)}
            await self._fails(attachment, "attachError", error)
        told: dict[str, str | None] = dict.fromkeys(attachment.status.attachment_metadata)
        told.update(outcome.value)
        await self._say(
            attachment,
            {"attached": True, "attachmentMetadata": told or None, "attachError": None},
        )
        _log.info("volume attached", attachment=attachment.name, node=step.request.node_id)

    async def _detach_former(self, step: DetachFormer) -> None:
        """Raises: NotNow unless it is certain that nothing is attached as on record."""
        attachment = self._attachments.get(step.attachment.key) or step.attachment
        secrets = await self._secrets_to_detach(attachment, step.secret)
        order = self._order(attachment, step.handle, step.node_id)
        async with self._busy.alone((step.handle, step.node_id)):
            verdict = await self._gate.move(order, step.now_called)
            if isinstance(verdict, Stay):
                await self._stays(attachment, verdict, "attachError")
            outcome = await self._driver.calls.detach(
                step.handle, step.node_id, secrets, within=self._call_seconds
            )
        if not isinstance(outcome, Done):
            what = f"it may be attached to {step.node_id}, and has to be detached from there first"
            await self._fails(attachment, "attachError", {"message": f"{what}: {outcome.text}"})
        _log.info("volume detached from a former id", attachment=attachment.name, node=step.node_id)

    async def _detach(self, step: Detach) -> None:
        attachment = step.attachment
        secrets = await self._secrets_to_detach(attachment, step.secret)
        order = self._order(attachment, step.handle, step.node_id)
        async with self._busy.alone((step.handle, step.node_id)):
            verdict = await self._gate.detach(order, self._siblings(attachment))
            if isinstance(verdict, Stay):
                await self._stays(attachment, verdict, "detachError")
            if isinstance(verdict, Go):
                outcome = await self._driver.calls.detach(
                    step.handle, step.node_id, secrets, within=self._call_seconds
                )
                if not isinstance(outcome, Done):
                    await self._fails(attachment, "detachError", {"message": outcome.text})
                _log.info("volume detached", attachment=attachment.name, node=step.node_id)
        written = await patch_newest(self._client, attachment, self._without_finalizer)
        if written is not None and written.metadata.finalizers:  # others hold it
            self._attachments.fold(written)
            gone = {"attached": False, "attachmentMetadata": None, "detachError": None}
            await self._say(written, gone)

    def _without_finalizer(self, attachment: Attachment) -> Doc:
        if not has_finalizer(attachment, self._finalizer):
            return {}
        return {"metadata": removing(attachment, self._finalizer)}

    def _order(self, attachment: Attachment, handle: str, node_id: str) -> DetachOrder:
        return DetachOrder(attachment, self._driver.name, self._finalizer, handle, node_id)

    def _siblings(self, attachment: Attachment) -> list[Key]:
        """Other attachments of the same volume to the same node, as far as the cache knows."""
        if not attachment.volume_name:
            return []
        found = self._attachments.by_index(BY_VOLUME, attachment.volume_name)
        return [
            other.key
            for other in found
            if other.key != attachment.key and other.spec.node_name == attachment.spec.node_name
        ]

    async def _stays(self, attachment: Attachment, verdict: Stay, field: str) -> NoReturn:
        """Raises: NotNow."""
        if verdict.is_for_people:
            await self._fails(attachment, field, {"message": f"not detached: {verdict.because}"})
        raise NotNow(verdict.because)

    async def _secrets_to_detach(
        self, attachment: Attachment, reference: SecretReference | None
    ) -> Secrets:
        """A secret that is gone must not keep the volume on the node: some drivers need none."""
        try:
            return await read_credentials(self._client, reference)
        except NoSuchSecret as error:
            _log.warning("detaching without credentials", volume=attachment.name, because=error)
            return NO_SECRETS
        except NoCredentials:
            return await self._secrets(attachment, reference, "detachError")

    async def _secrets(
        self, attachment: Attachment, reference: SecretReference | None, field: str
    ) -> Secrets:
        try:
            return await read_credentials(self._client, reference)
        except NoCredentials as error:
            where = "" if reference is None else f"{reference.namespace}/{reference.name}"
            message = f'failed to load secret "{where}": {error}'
            await self._fails(attachment, field, {"message": message})
            raise NotNow(message) from error

    async def _fails(self, attachment: Attachment, field: str, error: dict[str, Any]) -> NoReturn:
        """Write the error into the status, and retry later. Raises: NotNow."""
        told = {"message": None, "errorCode": None, **error, "time": to_seconds(self._clock.now())}
        await self._say(attachment, {field: told})
        raise NotNow(error["message"])

    async def _say(self, attachment: Attachment, status: Doc) -> None:
        """An attachment that is deleted meanwhile hears of it all the same: it is to be undone."""
        # "attached" is a required field, also in a status with an error.
        change = {"status": {"attached": attachment.is_attached, **status}}
        written = await patch_newest(self._client, attachment, lambda _: change, Part.STATUS)
        if written is not None:
            self._attachments.fold(written)


def _code(failure: Refused | Uncertain) -> dict[str, int]:
    return {} if failure.code is None else {"errorCode": int(failure.code)}
