"""Attachments as the node sees them: it waits for the control plane to attach a volume."""

from collections.abc import Mapping, Sequence

from mooring.errors import ApiError, ConnectionLost
from mooring.model.pod import Pod
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import NotStarted, VolumeError
from mooring.plugins.csi import attachment_wait
from mooring.plugins.csi.attachment_name import attachment_name
from mooring.plugins.csi.source import persistent
from mooring.plugins.csi.stage import CsiDeviceMounter


class CsiAttacher(CsiDeviceMounter):
    """`Attacher` and `Detacher` of the contract; each stages volumes too."""

    async def attach(self, use: VolumeUse, node: str) -> str:
        raise VolumeError("attaching volumes from the kubelet is not supported")

    async def detach(self, volume_name: str, node: str) -> None:
        raise VolumeError("detaching volumes from the kubelet is not supported")

    async def are_attached(self, uses: Sequence[VolumeUse], node: str) -> Mapping[str, bool]:
        return {use.name: await self._is_attached(use, node) for use in uses}

    async def wait_for_attach(self, use: VolumeUse, device: str, pod: Pod) -> str:
        """The name of the attachment: only the driver knows the device.

        Raises: NotStarted until it is attached, with the attacher's error if there is one.
        """
        source = persistent(use)
        handle = source.volume_handle
        name = attachment_name(handle, source.driver, self._services.host.node_name)
        try:
            attachment = await self._services.attachment(source)
        except (ApiError, ConnectionLost) as error:
            text = f"volume {handle} has GET error for volume attachment {name}: {error}"
            raise NotStarted(text) from error
        match attachment_wait.judge_attach(attachment):
            case attachment_wait.Done():
                return name
            case attachment_wait.Failed(message):
                raise NotStarted(message)
            case attachment_wait.NotYet():
                text = f"volume {handle} is not attached for volume attachment {name}"
                raise NotStarted(text)

    async def _is_attached(self, use: VolumeUse, node: str) -> bool:
        try:
            source = persistent(use)
            if not self._services.spec(source.driver).attach_required:
                return True
            return (await self._services.attachment(source, node)).is_attached
        except (VolumeError, ApiError, ConnectionLost):
            return False
