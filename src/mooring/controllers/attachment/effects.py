"""Carrying out what was decided: VolumeAttachments, the lists of nodes, and events."""

import asyncio
from collections.abc import Mapping
from math import inf
from typing import assert_never

import msgspec
from msgspec.structs import replace

from mooring import log
from mooring.client.contract import Client
from mooring.controllers.attachment.actual import Act, Actual, VolumeOnNode
from mooring.controllers.attachment.decide import decide_failure
from mooring.controllers.attachment.flex import FlexAttachments
from mooring.controllers.attachment.metrics import AttachmentMetrics
from mooring.controllers.attachment.plan import (
    CountForced,
    Create,
    Delete,
    Ended,
    Forget,
    LookAgain,
    Plan,
    Remember,
    Report,
    Unreport,
    Withdraw,
)
from mooring.controllers.attachment.resolve import AttachableVolume
from mooring.controllers.attachment.status import NodeReports
from mooring.controllers.attachment.view import VolumeView
from mooring.errors import AlreadyExists, ApiError, ConnectionLost, NotFound
from mooring.model.attachment import Attachment
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.steps import Emit
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins.contract import VolumeError
from mooring.plugins.csi.attachment_name import attachment_name
from mooring.plugins.flex.names import FlexName
from mooring.reconcile.apply import apply
from mooring.reconcile.informer import Informer
from mooring.reconcile.recorder import Recorder

_log = log.get("mooring.attachment")


class Performed(msgspec.Struct, frozen=True):
    read: Mapping[str, Node | None]  # by name: nodes from which it was withdrawn, as they are now
    again: float = inf  # seconds after which to look again


class Effects:
    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        attachments: Informer[Attachment],
        actual: Actual,
        reports: NodeReports,
        metrics: AttachmentMetrics,
        flex: FlexAttachments,
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._attachments = attachments
        self._actual = actual
        self._reports = reports
        self._metrics = metrics
        self._flex = flex

    async def perform(self, plan: Plan, view: VolumeView) -> Performed:
        """A step that fails is remembered, and holds up no other node."""
        again, asked = inf, list[Withdraw]()
        for step in plan.steps:
            match step:
                case Create(where, volume):
                    again = min(again, await self._create(view, where, volume))
                case Delete(where, attachment):
                    again = min(again, await self._delete(view, where, attachment))
                case Withdraw():
                    asked.append(step)
                case LookAgain(seconds):
                    again = min(again, seconds)
                case _:
                    self._note(step, view)
        read: dict[str, Node | None] = {}
        answers = await asyncio.gather(*(self._withdraw(view, step.where) for step in asked))
        for step, answer in zip(asked, answers, strict=True):
            if isinstance(answer, float):
                again = min(again, answer)
            else:
                read[step.where.node] = answer
        return Performed(read, again)

    def _note(
        self,
        step: Remember | Forget | Report | Unreport | Ended | CountForced | Emit,
        view: VolumeView,
    ) -> None:
        """Steps that change only memory, metrics or events."""
        match step:
            case Remember(where, memory):
                self._actual.remember(where, memory)
            case Forget(where):
                self._actual.forget(where)
            case Report(where):
                self._actual.use(where)
                self._reports.add(where, self._flex.device(self._actual.attachment(where)))
                _log.info("volume attached", volume=view.label, node=where.node)
            case Unreport(where):
                self._reports.discard(where)
            case Ended(act, seconds, is_success):
                is_migrated = view.wanted is not None and view.wanted.is_migrated
                self._metrics.ended(
                    view.csi.driver, act, seconds, is_success=is_success, is_migrated=is_migrated
                )
            case CountForced(where, force):
                self._metrics.forced(force)
                _log.warning(
                    "volume taken away from a node that uses it",
                    volume=view.label,
                    node=where.node,
                    because=force.value,
                )
            case Emit():
                apply(step, self._recorder)
            case _:
                assert_never(step)

    async def _create(
        self, view: VolumeView, where: VolumeOnNode, volume: AttachableVolume
    ) -> float:
        if volume.flex is not None:
            return await self._attach_flex(view, where, volume.flex)
        document = _document(where.node, volume)
        name = document["metadata"]["name"]
        try:
            try:
                written = await self._client.create(Attachment, document)
                self._actual.use(where)  # it is our own
            except AlreadyExists:  # it asks for the same; the watch is only behind
                written = await self._client.get(Attachment, Key("", name))
        except (ApiError, ConnectionLost) as error:
            message = f"{Plugin.CSI}: attacher.Attach failed: {error}"
            return self._failed(view, where, Act.ATTACH, message)
        self._attachments.fold(written)
        return inf

    async def _delete(self, view: VolumeView, where: VolumeOnNode, attachment: Attachment) -> float:
        _log.info("volume to be detached", volume=view.label, node=where.node)
        if isinstance(view.csi, FlexName):
            return await self._detach_flex(view, where, view.csi)
        try:
            await self._client.delete(attachment)
        except NotFound:
            pass  # the watch will show it
        except (ApiError, ConnectionLost) as error:
            message = (
                f"{Plugin.CSI}: detacher.Detach failed to delete VolumeAttachment "
                f"[{attachment.name}]: {error}"
            )
            return self._failed(view, where, Act.DETACH, message)
        return inf

    async def _attach_flex(self, view: VolumeView, where: VolumeOnNode, use: VolumeUse) -> float:
        """The driver is run here; what comes of it is decided on at once."""
        self._actual.use(where)
        if not isinstance(view.csi, FlexName):
            return inf
        try:
            await self._flex.attach(view.csi, use, where.node)
        except VolumeError as error:
            return self._failed(view, where, Act.ATTACH, str(error))
        return 0.0

    async def _detach_flex(self, view: VolumeView, where: VolumeOnNode, name: FlexName) -> float:
        try:
            await self._flex.detach(name, where.node)
        except VolumeError as error:
            return self._failed(view, where, Act.DETACH, str(error))
        return 0.0

    async def _withdraw(self, view: VolumeView, where: VolumeOnNode) -> Node | float | None:
        """What the node says; or in how many seconds to ask again."""
        try:
            return await self._reports.withdraw(where)
        except (ApiError, ConnectionLost) as error:
            message = f'failed to update the status of node "{where.node}": {error}'
            return self._failed(view, where, Act.DETACH, message)

    def _failed(self, view: VolumeView, where: VolumeOnNode, act: Act, message: str) -> float:
        """Remember it, and record an event; the seconds until the next attempt."""
        _log.warning(f"{act.value} failed", volume=view.label, node=where.node, because=message)
        (on_node,) = (one for one in view.on_nodes if one.where == where)
        on_node = replace(on_node, memory=self._actual.memory(where))
        again = inf
        for step in decide_failure(view, on_node, act, message):
            if isinstance(step, LookAgain):
                again = step.seconds
            elif isinstance(step, Remember | Ended | Emit):
                self._note(step, view)
        return again


def _document(node: str, volume: AttachableVolume) -> Doc:
    source: Doc = {"persistentVolumeName": volume.label}
    if (spec := volume.inline_spec) is not None:
        inline = msgspec.to_builtins(spec) | {"volumeMode": spec.volume_mode.value}
        source = {"inlineVolumeSpec": inline}  # where no server fills in a default
    name = attachment_name(volume.csi.handle, volume.csi.driver, node)
    return {
        "apiVersion": Attachment.resource.api_version,
        "kind": Attachment.resource.kind,
        "metadata": {"name": name},
        "spec": {"attacher": volume.csi.driver, "nodeName": node, "source": source},
    }
