"""Volumes that somebody wants kept: they are named before a reset removes their data."""

from pathlib import Path

import msgspec

from mooring.driver.settings import NAME as DRIVER
from mooring.errors import StoreError, UsageError
from mooring.upkeep.database_copy import read_copy
from mooring.upkeep.place import Place

VOLUMES = "persistentvolumes"
RETAIN = "Retain"


class _Reference(msgspec.Struct, frozen=True):
    namespace: str = ""
    name: str = ""


class _Path(msgspec.Struct, frozen=True):
    path: str = ""


class _Csi(msgspec.Struct, frozen=True):
    driver: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    persistent_volume_reclaim_policy: str = ""
    claim_ref: _Reference | None = None
    csi: _Csi | None = None
    host_path: _Path | None = None


class _Meta(msgspec.Struct, frozen=True):
    name: str = ""


class _Volume(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()

    def is_retained_in(self, directory: Path) -> bool:
        """Whether its policy is Retain, and its data below `directory` or the bundled driver's."""
        spec = self.spec
        if spec.persistent_volume_reclaim_policy != RETAIN:
            return False
        if spec.csi is not None:
            return spec.csi.driver == DRIVER
        return spec.host_path is not None and Path(spec.host_path.path).is_relative_to(directory)

    def __str__(self) -> str:
        claim = self.spec.claim_ref
        of = f" (of {claim.namespace}/{claim.name})" if claim is not None else ""
        return f"pv/{self.metadata.name}{of}"


_volume = msgspec.json.Decoder(_Volume)


def find_retained(place: Place) -> tuple[str, ...] | None:
    """The volumes that a reset of `place` destroys against their policy, for people.

    None: the database cannot be read. Before: nobody else has the data directory.
    """
    try:
        contents = read_copy(place.database, is_written=False)
    except (StoreError, UsageError):
        return None
    found = []
    for entry in contents.tables.get(VOLUMES, {}).values():
        try:
            volume = _volume.decode(entry.value)
        except msgspec.MsgspecError:
            continue
        if volume.is_retained_in(place.volumes):
            found.append(str(volume))
    return tuple(sorted(found))
