"""What a resizer watches."""

from collections.abc import Iterable
from typing import Final

from mooring.model import modification
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.volume import Volume
from mooring.reconcile.loops import Loops

BY_ATTRIBUTES_CLASS: Final = "attributes class"


class Caches:
    """Index functions have names: resizers of many drivers then share the indexes."""

    def __init__(self, loops: Loops) -> None:
        self.claims = loops.informer(Claim)
        self.volumes = loops.informer(Volume)
        self.attributes_classes = loops.informer(AttributesClass)
        self.claims.add_index(BY_ATTRIBUTES_CLASS, _unapplied_classes)

    async def synced(self) -> None:
        await self.claims.synced.wait()
        await self.volumes.synced.wait()
        await self.attributes_classes.synced.wait()

    def find_volume(self, claim: Claim) -> Volume | None:
        name = claim.spec.volume_name
        return self.volumes.get(Key("", name)) if name else None

    def find_class(self, name: str) -> AttributesClass | None:
        return self.attributes_classes.get(Key("", name)) if name else None


def _unapplied_classes(claim: Claim) -> Iterable[str]:
    """The classes that a claim may wait for; most claims wait for none."""
    if not modification.is_open(claim):
        return ()
    wanted = claim.spec.volume_attributes_class_name or ""
    return {wanted, modification.find_target(claim.status)} - {""}
