"""Volumes, inline volumes and classes of migrated plugins, in CSI terms and back.

A plugin is migrated when `csi_migration` says so; objects of all others stay as they are.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from mooring.model.csi_migration import DRIVERS
from mooring.model.csi_translation.contract import TranslationError
from mooring.model.csi_translation.registry import BY_DRIVER, BY_PLUGIN, BY_SOURCE, get_by_driver
from mooring.model.pod_volume import PodVolume
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume


def translate(volume: Volume) -> Volume | None:
    """The volume with a CSI source: its own, or the translated in-tree one.

    None when no CSI driver serves it, or its source is incomplete.
    """
    if volume.spec.csi is not None:
        return volume
    try:
        return translate_migrated(volume)
    except TranslationError:
        return None


def translate_migrated(volume: Volume) -> Volume | None:
    """A volume of a migrated plugin in CSI terms; None for all others. Raises: TranslationError."""
    if volume.spec.csi is not None:
        return None
    found = volume.spec.find_source()
    translator = None if found is None else BY_SOURCE.get(found[0])
    if found is None or translator is None or translator.plugin not in DRIVERS:
        return None
    if not isinstance(found[1], Mapping):
        return None
    return translator.to_csi(found[1], volume)


def translate_inline(volume: PodVolume, namespace: str) -> Volume | None:
    """An inline in-tree volume of a pod as a persistent volume; None as `translate`.

    None for an inline CSI volume too: it is made for its pod, and is not attached.
    """
    try:
        return translate_migrated_inline(volume, namespace)
    except TranslationError:
        return None


def translate_migrated_inline(volume: PodVolume, namespace: str) -> Volume | None:
    """None when its plugin is not migrated. Raises: TranslationError."""
    found = volume.find_source()
    translator = None if found is None else BY_SOURCE.get(found[0])
    if found is None or translator is None or translator.plugin not in DRIVERS:
        return None
    if not isinstance(found[1], Mapping):
        return None
    return translator.inline_to_csi(found[1], volume.name, namespace)


def to_in_tree(volume: Volume) -> Volume:
    """A CSI volume as its in-tree plugin has it. Raises: TranslationError."""
    csi = volume.spec.csi
    if csi is None:
        raise TranslationError("CSI persistent volume was nil")
    return get_by_driver(csi.driver).to_in_tree(csi, volume)


def translate_class(storage_class: StorageClass) -> StorageClass:
    """A class of a migrated plugin as its driver has it, of the same provisioner; others unchanged.

    Raises: TranslationError.
    """
    provisioner = storage_class.provisioner
    if provisioner not in DRIVERS:
        return storage_class
    return replace(BY_PLUGIN[provisioner].class_to_csi(storage_class), provisioner=provisioner)


def serves(driver: str, provisioner: str) -> bool:
    """Whether a class with this provisioner is the driver's: by its name, or by migration."""
    return provisioner == driver or DRIVERS.get(provisioner) == driver


def repair_handle(driver: str, handle: str, node_id: str) -> str:
    """The handle that the driver itself lists for it on this node; of others, unchanged.

    Raises: TranslationError.
    """
    translator = BY_DRIVER.get(driver)
    return handle if translator is None else translator.repair_handle(handle, node_id)
