"""What a pod or a volume object says about a CSI volume. Pure."""

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from mooring.model.csi_driver import LifecycleMode
from mooring.model.pod import Pod
from mooring.model.reference import SecretReference
from mooring.model.volume_source import CsiSource
from mooring.model.volume_use import VolumeUse
from mooring.model.wellknown import Plugin
from mooring.plugins.contract import VolumeError


def csi_message(text: str) -> str:
    """As Kubernetes' CSI plugin begins its sentences."""
    return f"{Plugin.CSI}: {text}"


class Published(msgspec.Struct, frozen=True):
    """A volume as a pod wants it published; persistent and inline ones alike."""

    driver: str
    handle: str
    mode: LifecycleMode
    read_only: bool
    fs_type: str
    attributes: Mapping[str, str]
    secret: SecretReference | None

    @property
    def is_inline(self) -> bool:
        return self.mode == LifecycleMode.EPHEMERAL


def published(use: VolumeUse, pod: Pod) -> Published:
    """Raises: VolumeError."""
    inline = None if use.inline is None else use.inline.csi
    if inline is not None:
        named = inline.node_publish_secret_ref
        return Published(
            driver=inline.driver,
            handle=inline_handle(pod.uid, use.name),
            mode=LifecycleMode.EPHEMERAL,
            read_only=bool(inline.read_only),
            fs_type=inline.fs_type or "",
            attributes=inline.volume_attributes,
            secret=None if named is None else SecretReference(named.name, pod.namespace),
        )
    source = persistent(use)
    return Published(
        driver=source.driver,
        handle=source.volume_handle,
        mode=LifecycleMode.PERSISTENT,
        read_only=use.read_only,  # the volume's own readOnly is for its controller
        fs_type=source.fs_type,
        attributes=source.volume_attributes,
        secret=source.node_publish_secret_ref,
    )


def inline_handle(pod_uid: str, name: str) -> str:
    """The same for every try, so that no try makes a second volume."""
    return f"csi-{sha256(f'{pod_uid}{name}'.encode()).hexdigest()}"


def persistent(use: VolumeUse) -> CsiSource:
    """Raises: VolumeError when it is no persistent volume of a CSI driver."""
    if use.inline is not None and use.inline.csi is not None:
        raise VolumeError("unexpected api.CSIVolumeSource found in volume.Spec")
    if use.volume is None or use.volume.spec.csi is None:
        raise VolumeError("volume source not found in volume.Spec")
    return use.volume.spec.csi


def find_driver_name(use: VolumeUse) -> str | None:
    """None when no CSI driver serves the volume."""
    if use.inline is not None and use.inline.csi is not None:
        return use.inline.csi.driver
    if use.volume is not None and use.volume.spec.csi is not None:
        return use.volume.spec.csi.driver
    return None


def is_inline(use: VolumeUse) -> bool:
    return use.inline is not None
