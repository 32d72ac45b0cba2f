"""Group ids of volumes: no two volumes of a class have the same, so no pod reads another's files.

The volumes themselves are the record. What was given out here and is not on a volume yet is
remembered, by claim; the same claim gets the same id again.
"""

from collections import OrderedDict
from collections.abc import Iterable

from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.plugins.contract import PluginError

MOST_REMEMBERED = 10_000


class Gids:
    def __init__(self) -> None:
        self._given: OrderedDict[tuple[str, str], int] = OrderedDict()  # by class and claim

    def take(
        self, storage_class: str, claim_uid: str, volumes: Iterable[Volume], between: range
    ) -> int:
        """Raises: PluginError when none is left."""
        key = (storage_class, claim_uid)
        if (known := self._given.get(key)) is not None and known in between:
            return known
        used = {gid for volume in volumes if (gid := gid_of(volume, storage_class)) is not None}
        used.update(gid for (of, _), gid in self._given.items() if of == storage_class)
        free = next((gid for gid in between if gid not in used), None)
        if free is None:
            raise PluginError("failed to reserve GID from table: range is full")
        self.keep(storage_class, claim_uid, free)
        return free

    def keep(self, storage_class: str, claim_uid: str, gid: int) -> None:
        self._given[storage_class, claim_uid] = gid
        if len(self._given) > MOST_REMEMBERED:
            self._given.popitem(last=False)  # long since on its volume

    def free(self, storage_class: str, claim_uid: str) -> None:
        """The volume of the claim is gone."""
        self._given.pop((storage_class, claim_uid), None)


def gid_of(volume: Volume, storage_class: str) -> int | None:
    text = volume.metadata.annotations.get(Annotation.OWNER_GROUP, "")
    is_one = volume.storage_class == storage_class and text.isascii() and text.isdigit()
    return int(text) if is_one else None
