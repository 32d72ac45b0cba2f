"""Volumes of in-tree plugins that a CSI driver has taken over: this node mounts the driver's."""

from collections.abc import Mapping

from msgspec.structs import replace

from mooring.model.csi_translation.contract import TranslationError
from mooring.model.csi_translation.translate import translate_migrated, translate_migrated_inline
from mooring.model.pod_volume import PodVolume
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import VolumeError
from mooring.plugins.layout import escaped

_FAILED = "failed to translate in-tree pv to CSI"


def in_driver_terms(use: VolumeUse, namespace: str) -> VolumeUse:
    """The use of its driver's volume, if its plugin is migrated. Raises: VolumeError."""
    try:
        if use.volume is not None:
            return _persistent(use, translate_migrated(use.volume))
        if use.inline is not None:
            return _inline(use, use.inline, translate_migrated_inline(use.inline, namespace))
    except TranslationError as error:
        raise VolumeError(f"{_FAILED}: {error}") from error
    return use


def _persistent(use: VolumeUse, volume: Volume | None) -> VolumeUse:
    return use if volume is None else replace(use, volume=volume, is_migrated=True)


def _inline(use: VolumeUse, inline: PodVolume, volume: Volume | None) -> VolumeUse:
    """Named by what is behind it, in one path element; all pods with the disk share its staging."""
    if volume is None:
        return use
    named = replace(volume, metadata=replace(volume.metadata, name=escaped(volume.name)))
    source = inline.find_source()
    raw = source[1] if source is not None else {}
    is_read_only = isinstance(raw, Mapping) and bool(raw.get("readOnly"))
    return VolumeUse(volume=named, read_only=is_read_only, is_migrated=True)
