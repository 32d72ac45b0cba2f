"""The words that stories of the table are made of.

`volume` and `claim` have no class, and a label or a selector that keeps them among their own.
"""

from typing import Any

from tests.conformance.controllers.story import Company, Doc, Step, Story, Told
from tests.fakes.objects import a_claim, a_class, a_volume

NO_MATCH = "no persistent volumes available for this claim and no storage class is set"
NO_CONSUMER = "waiting for first consumer to be created before binding"
LOST = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
MISBOUND = "Two claims are bound to the same volume, this one is bound incorrectly"
FAST = "$s-fast"

NORMAL, WARNING = "Normal", "Warning"


def story(*steps: Step, told: tuple[Told, ...] = (), **more: Any) -> Story:
    return Story(steps, told=frozenset(told), **more)


def recycling(*steps: Step, told: tuple[Told, ...] = ()) -> Story:
    return story(*steps, told=told, company=Company.NO_RECYCLING)


def volume(name: str = "v", storage: str = "5Gi", **spec: Any) -> Doc:
    doc = a_volume(name, storage, **spec)
    doc["metadata"]["labels"] = {"story": "$s"}
    return doc


def claim(name: str = "c", storage: str = "1Gi", **spec: Any) -> Doc:
    """A selector, unless it names a class: nobody else has volumes of that."""
    if not spec.get("storageClassName"):
        spec = {"selector": {"matchLabels": {"story": "$s"}}} | spec
    return a_claim(name, storage, **spec)


def storage_class(name: str = "fast", **body: Any) -> Doc:
    """Of an external provisioner, unless `body` says otherwise."""
    return a_class(name) | body


def annotated(doc: Doc, marks: dict[str, str]) -> Doc:
    doc["metadata"]["annotations"] = {**doc["metadata"].get("annotations", {}), **marks}
    return doc


def reference(claim_name: str = "c", uid: str = "") -> Doc:
    """A claimRef; `uid` may be `$uid[c]`."""
    named = {"namespace": "$s", "name": claim_name}
    return named | ({"uid": uid} if uid else {})


def of_claim(type: str, reason: str, message: str, name: str = "c") -> Told:
    return Told(f"claim {name}", type, reason, message)


def of_volume(type: str, reason: str, message: str, name: str = "v") -> Told:
    return Told(f"volume {name}", type, reason, message)


def nothing_fits(name: str = "c") -> Told:
    return of_claim(NORMAL, "FailedBinding", NO_MATCH, name)


def mismatch(why: str) -> Told:
    return of_claim(WARNING, "VolumeMismatch", f'Cannot bind to requested volume "$s-v": {why}')


LEFT_TO_OTHERS = of_claim(
    NORMAL, "ExternalExpanding", "waiting for an external controller to expand this PVC"
)
