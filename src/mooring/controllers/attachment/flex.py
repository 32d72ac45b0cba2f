"""Attachments by FlexVolume drivers, which the controller runs itself.

The API has no objects of them: the nodes' lists of attached volumes are the record. Here each has
the form of a VolumeAttachment, so that the same rules decide on all: attached, uncertain (not
attached, but there) or detached (none). What a node says it uses, and its list does not have, is
uncertain after a start.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from mooring import log
from mooring.controllers.attachment.volume_name import name_of_attachment
from mooring.errors import MooringError
from mooring.host.blocking import within_volume
from mooring.model.attachment import (
    Attachment,
    AttachmentMeta,
    AttachmentSpec,
    AttachmentStatus,
)
from mooring.model.node import Node
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import NotStarted, Uncertain, VolumeError
from mooring.plugins.flex.controller import FlexControl
from mooring.plugins.flex.drivers import Drivers
from mooring.plugins.flex.names import FlexName, find_flex_name

_log = log.get("mooring.attachment")

_DEVICE = "devicePath"


class FlexAttachments:
    """`drivers` is None where FlexVolume is not served at all."""

    def __init__(self, drivers: Drivers | None = None) -> None:
        self.drivers = drivers
        self._attachments: dict[str, Attachment] = {}  # by name

    async def known(self) -> None:
        """Returns when the drivers that are there have been loaded."""
        if self.drivers is not None:
            await self.drivers.looked.wait()

    @contextmanager
    def heard(self, handler: Callable[[str], None]) -> Iterator[None]:
        """`handler` gets the name of a driver that has come, changed or gone."""
        if self.drivers is None:
            yield
            return
        with self.drivers.heard(handler):
            yield

    def attaches(self, driver: str) -> bool | None:
        """Whether the driver attaches its volumes; None when it is not here to say."""
        found = None if self.drivers is None else self.drivers.find(driver)
        return None if found is None else found.capabilities.attach

    def find(self, attachment: str) -> Attachment | None:
        return self._attachments.get(attachment)

    def device(self, attachment: Attachment | None) -> str:
        return "" if attachment is None else attachment.status.attachment_metadata.get(_DEVICE, "")

    def take_over(self, node: Node) -> Iterable[FlexName]:
        """What the node's status says from before us: the names."""
        if self.drivers is None:
            return
        listed = {one.name: one.device_path for one in node.status.volumes_attached}
        for unique in {*listed, *node.status.volumes_in_use}:
            name = find_flex_name(unique)
            if name is None or self.find(name_of_attachment(name, node.name)) is not None:
                continue
            device = listed.get(unique, "")
            self._keep(name, node.name, is_attached=unique in listed, device=device)
            yield name

    async def attach(self, name: FlexName, use: VolumeUse, node: str) -> None:
        """Raises: VolumeError; the volume is uncertain unless nothing of it goes on."""
        before = self.find(name_of_attachment(name, node))
        try:
            with within_volume(name.unique):
                device = await self._control(name).attach(use, node)
        except VolumeError as error:
            if isinstance(error, Uncertain):
                self._keep(name, node, is_attached=False)
            elif before is None and not isinstance(error, NotStarted):
                self._drop(name, node)
            raise
        except MooringError as error:
            self._keep(name, node, is_attached=False)
            raise VolumeError(str(error)) from error
        self._keep(name, node, is_attached=True, device=device)

    async def detach(self, name: FlexName, node: str) -> None:
        """Raises: VolumeError; the volume is then uncertain."""
        try:
            with within_volume(name.unique):
                await self._control(name).detach(name.handle, node)
        except NotStarted:
            raise
        except MooringError as error:
            self._keep(name, node, is_attached=False)
            raise VolumeError(str(error)) from error
        self._drop(name, node)

    async def is_gone(self, name: FlexName, use: VolumeUse, node: str) -> bool:
        """Whether its driver says that it is not attached any more; then that is uncertain.

        So the node keeps others from it until the driver has attached it again, or detached it.
        What became of it while the driver was asked counts for more than the answer.
        """
        known = self.find(name_of_attachment(name, node))
        if known is None or not known.is_attached:
            return False
        try:
            with within_volume(name.unique):
                is_attached = await self._control(name).is_attached(use, node)
        except MooringError as error:
            _log.warning("cannot verify attachment", volume=use.name, node=node, error=error)
            return False
        if is_attached is not False or self.find(known.name) is not known:
            return False
        self._keep(name, node, is_attached=False)
        return True

    def _control(self, name: FlexName) -> FlexControl:
        driver = None if self.drivers is None else self.drivers.find(name.driver)
        if driver is None:
            raise NotStarted(f"no volume plugin matched name: {name.driver}")
        return FlexControl(driver)

    def _keep(self, name: FlexName, node: str, *, is_attached: bool, device: str = "") -> None:
        called = name_of_attachment(name, node)
        known = self._attachments.get(called) or Attachment(
            metadata=AttachmentMeta(name=called), spec=AttachmentSpec(name.driver, node)
        )
        metadata = {_DEVICE: device} if device else {}
        status = AttachmentStatus(attached=is_attached, attachment_metadata=metadata)
        self._attachments[called] = replace(known, status=status)

    def _drop(self, name: FlexName, node: str) -> None:
        self._attachments.pop(name_of_attachment(name, node), None)
