"""What a translator does: one in-tree plugin, one CSI driver, both ways. Pure."""

from collections.abc import Mapping
from typing import Any, Final, Protocol

from msgspec.structs import replace

from mooring.errors import MooringError
from mooring.model.meta import ObjectMeta
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import CsiSource, RawSource

FS_TYPE: Final = "fstype"


class TranslationError(MooringError):
    """The object does not say enough, or says what the driver cannot do."""


class Translator(Protocol):
    @property
    def plugin(self) -> str:
        """Its in-tree name, as `kubernetes.io/gce-pd`."""
        ...

    @property
    def driver(self) -> str: ...

    @property
    def source(self) -> str:
        """The field of the source in the API."""
        ...

    @property
    def attribute(self) -> str:
        """The same field of `PersistentSources` and `PodVolume`."""
        ...

    @property
    def zone_key(self) -> str:
        """The driver's topology key for zones; empty: it has none."""
        ...

    def to_csi(self, raw: RawSource, volume: Volume) -> Volume:
        """Raises: TranslationError."""
        ...

    def to_in_tree(self, csi: CsiSource, volume: Volume) -> Volume:
        """Raises: TranslationError."""
        ...

    def inline_to_csi(self, raw: RawSource, name: str, namespace: str, /) -> Volume:
        """`name` is the volume's in its pod, `namespace` the pod's. Raises: TranslationError."""
        ...

    def class_to_csi(self, storage_class: StorageClass) -> StorageClass:
        """Raises: TranslationError."""
        ...

    def repair_handle(self, handle: str, node_id: str, /) -> str:
        """The handle as the driver knows it, once the node is known. Raises: TranslationError."""
        ...


def with_csi(volume: Volume, attribute: str, csi: CsiSource, **changes: Any) -> Volume:
    """The volume with this source in place of the in-tree one."""
    spec = replace(volume.spec, csi=csi, **{attribute: None}, **changes)
    return replace(volume, spec=spec)


def with_raw(volume: Volume, attribute: str, raw: RawSource) -> Volume:
    """The volume with this in-tree source in place of the CSI one; empty fields are left out."""
    kept = {name: value for name, value in raw.items() if value not in ("", None, False)}
    return replace(volume, spec=replace(volume.spec, csi=None, **{attribute: kept}))


def inline_volume(name: str, csi: CsiSource, mode: AccessMode) -> Volume:
    """The name is unique to the volume: it is part of where it is staged."""
    return Volume(metadata=ObjectMeta(name=name), spec=VolumeSpec(csi=csi, access_modes=(mode,)))


def text(raw: RawSource, field: str) -> str:
    """Raises: TranslationError."""
    value = raw.get(field)
    if not isinstance(value, str) or not value:
        raise TranslationError(f"{field} is missing from the volume source")
    return value


def word(raw: RawSource, field: str) -> str:
    """Empty when it is not set."""
    return str(raw.get(field) or "")


def flag(raw: RawSource, field: str) -> bool:
    return bool(raw.get(field))


def number(attributes: Mapping[str, str], field: str) -> int:
    """0 when it is not set. Raises: TranslationError."""
    value = attributes.get(field, "")
    try:
        return int(value) if value else 0
    except ValueError as error:
        raise TranslationError(f"Failed to convert partition {value} to integer") from error
