"""A volume as one pod uses it: inline in the pod, or the persistent volume of its claim."""

import msgspec

from mooring.model.pod_volume import PodVolume
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume import Volume
from mooring.model.volume_source import RawSource
from mooring.model.wellknown import Annotation
from mooring.model.wire import Wire


class VolumeUse(msgspec.Struct, frozen=True):
    """Exactly one of `inline` and `volume` is set."""

    inline: PodVolume | None = None
    volume: Volume | None = None
    read_only: bool = False  # of the pod's claim source, not of the persistent volume
    is_migrated: bool = False  # an in-tree source that a CSI driver serves

    @property
    def name(self) -> str:
        """Its name on disk: the persistent volume's name, or the one in the pod."""
        if self.volume is not None:
            return self.volume.name
        return self.inline.name if self.inline is not None else ""

    @property
    def source(self) -> tuple[str, Wire | RawSource] | None:
        """Its source, with the source's field name."""
        if self.volume is not None:
            return self.volume.spec.find_source()
        return self.inline.find_source() if self.inline is not None else None

    @property
    def mode(self) -> VolumeMode:
        return VolumeMode.FILESYSTEM if self.volume is None else self.volume.spec.volume_mode

    @property
    def access_modes(self) -> tuple[AccessMode, ...]:
        return () if self.volume is None else self.volume.spec.access_modes

    @property
    def is_for_one_pod(self) -> bool:
        """Its only access mode is ReadWriteOncePod."""
        return self.access_modes == (AccessMode.ONCE_POD,)

    @property
    def mount_options(self) -> tuple[str, ...]:
        """The options of a persistent volume; the beta annotation takes precedence."""
        if self.volume is None:
            return ()
        annotated = self.volume.metadata.annotations.get(Annotation.MOUNT_OPTIONS_BETA)
        if annotated:
            return tuple(option for option in annotated.split(",") if option)
        return self.volume.spec.mount_options
