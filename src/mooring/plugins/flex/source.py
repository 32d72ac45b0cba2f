"""What a pod or a volume object says about a FlexVolume. Pure."""

from collections.abc import Mapping

import msgspec

from mooring.model.keys import Key
from mooring.model.pod_volume import PodVolume
from mooring.model.reference import SecretReference
from mooring.model.volume_use import VolumeUse
from mooring.model.wire import Wire
from mooring.plugins.contract import VolumeError


class FlexSource(Wire, frozen=True):
    """Of a pod, or of a persistent volume: only there a secret may have a namespace."""

    driver: str = ""
    fs_type: str | None = None
    secret_ref: SecretReference | None = None
    read_only: bool | None = None
    options: Mapping[str, str] | None = None


def find_driver_name(use: VolumeUse) -> str | None:
    """None when it is no FlexVolume."""
    found = _find_raw(use)
    return None if found is None else str(found.get("driver", ""))


def source_of(use: VolumeUse) -> FlexSource:
    """Raises: VolumeError."""
    found = _find_raw(use)
    if found is None:
        raise VolumeError("unexpected source in volume spec: not a flexVolume")
    try:
        return msgspec.convert(found, FlexSource)
    except msgspec.ValidationError as error:
        raise VolumeError(f"flexVolume: {error}") from error


def is_read_only(use: VolumeUse) -> bool:
    """Inline the source says it; of a persistent volume the pod's claim source."""
    return use.read_only if use.volume is not None else bool(source_of(use).read_only)


def secret_key(use: VolumeUse, pod_namespace: str) -> Key | None:
    reference = source_of(use).secret_ref
    if reference is None or not reference.name:
        return None
    own = reference.namespace if use.volume is not None else None
    return Key(own or pod_namespace, reference.name)


def rebuilt(driver: str, name: str) -> VolumeUse:
    """All that a directory of a pod says of it."""
    return VolumeUse(inline=PodVolume(name=name, flex_volume={"driver": driver}))


def _find_raw(use: VolumeUse) -> Mapping[str, object] | None:
    if use.volume is not None:
        return use.volume.spec.flex_volume
    return None if use.inline is None else use.inline.flex_volume
