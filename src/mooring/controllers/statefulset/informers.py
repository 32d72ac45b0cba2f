"""The informers of the stateful set controller, and the view of one set over them."""

from datetime import datetime

import msgspec

from mooring.controllers.owned_pods.index import OwnedPods
from mooring.controllers.revisions.index import OwnedRevisions
from mooring.controllers.statefulset.decide.claims import claim_names
from mooring.controllers.statefulset.view import StatefulSetView
from mooring.model.claim import Claim
from mooring.model.controller_revision import ControllerRevision
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.stateful_set import StatefulSet
from mooring.model.storage_class import StorageClass
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.worker import Synced


class Informers(msgspec.Struct, frozen=True):
    """They are shared, and run by the role."""

    sets: Informer[StatefulSet]
    pods: Informer[Pod]
    claims: Informer[Claim]
    revisions: Informer[ControllerRevision]
    classes: Informer[StorageClass]

    def all(self) -> tuple[Synced, ...]:
        return (self.sets, self.pods, self.claims, self.revisions, self.classes)


def informers_of(loops: Loops) -> Informers:
    return Informers(
        loops.informer(StatefulSet),
        loops.informer(Pod),
        loops.informer(Claim),
        loops.informer(ControllerRevision),
        loops.informer(StorageClass),
    )


class Picture:
    """Puts together what a decision about one set looks at."""

    def __init__(self, informers: Informers) -> None:
        self.owned = OwnedPods(informers.sets, informers.pods)
        self.revisions = OwnedRevisions(StatefulSet.resource.kind, informers.revisions)
        self._informers = informers

    def view(self, set_: StatefulSet, doomed: frozenset[str], now: datetime) -> StatefulSetView:
        pods = tuple(self.owned.candidates(set_))
        claims = self._claims(set_, pods)
        classes = {claim.storage_class for claim in claims.values()} if set_.grows_claims else ()
        known = ((name, self._informers.classes.get(Key("", name))) for name in classes)
        return StatefulSetView(
            set_,
            pods,
            claims,
            self.revisions.of(set_),
            {name: found for name, found in known if found is not None},
            doomed,
            now,
        )

    def _claims(self, set_: StatefulSet, pods: tuple[Pod, ...]) -> dict[str, Claim]:
        ordinals = set(set_.ordinals)
        ordinals.update(n for pod in pods if (n := set_.find_ordinal(pod.name)) is not None)
        found: dict[str, Claim] = {}
        for ordinal in ordinals:
            for name in claim_names(set_, ordinal).values():
                claim = self._informers.claims.get(Key(set_.namespace, name))
                if claim is not None:
                    found[name] = claim
        return found
