"""What people and other parts of a cluster do, step by step; everyone comes to rest in between.

A story is told once and played on several clusters. In its paths and documents `$s` stands for a
name that the play has to itself: its namespace, and the beginning of every name that belongs to the
whole cluster. `$uid[c]` stands for the uid that the claim `c` has when its step comes.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec

from tests.conformance.controllers.differences import Kept

Doc = dict[str, Any]

MERGE = "application/merge-patch+json"

_CORE, _STORAGE = "/api/v1", "/apis/storage.k8s.io/v1"
_OWN = f"{_CORE}/namespaces/$s"
PATHS = {
    "volume": f"{_CORE}/persistentvolumes",
    "node": f"{_CORE}/nodes",
    "class": f"{_STORAGE}/storageclasses",
    "attributes class": f"{_STORAGE}/volumeattributesclasses",
    "claim": f"{_OWN}/persistentvolumeclaims",
    "pod": f"{_OWN}/pods",
}
_OF_THE_CLUSTER = ("volume", "node", "class", "attributes class")


class Act(msgspec.Struct, frozen=True):
    """One request."""

    words: str
    method: str
    path: str
    body: Doc | None = None
    comes_late: bool = False  # somebody else may have done it already: the answer tells nothing

    def __str__(self) -> str:
        return self.words if self.body is None else f"{self.words} {json.dumps(self.body)}"


class Together(msgspec.Struct, frozen=True):
    """Requests that follow each other so fast that nobody comes to rest in between."""

    acts: Sequence[Act]

    def __str__(self) -> str:
        return "\n   ".join(map(str, self.acts))


class Told(msgspec.Struct, frozen=True, order=True):
    """An event: about what, and what it says."""

    about: str
    type: str
    reason: str
    message: str


class Then(msgspec.Struct, frozen=True):
    """What is to be seen now: objects by their labels, in a few words."""

    seen: Mapping[str, str]


Step = Act | Together | Then


class Company(Enum):
    """With whom a story shares a cluster while it is played."""

    ANY = "any"
    NO_RECYCLING = "nobody whose volumes are wiped"
    """Kubernetes changes one template for all recycler pods of a plugin: when it wipes two volumes
    at once, the end of one deletes the pod of the other."""
    NOBODY = "nobody"  # for default classes, and volumes that anybody may take


class Story(msgspec.Struct, frozen=True):
    steps: Sequence[Step]
    company: Company = Company.ANY
    told: frozenset[Told] | None = None  # all that is told, if the story says so
    kept: Kept | None = None  # why Kubernetes ends otherwise

    def __str__(self) -> str:
        done = (step for step in self.steps if not isinstance(step, Then))
        return "\n".join(f"{number}. {step}" for number, step in enumerate(done, 1))

    def acts(self) -> Iterator[Act]:
        for step in self.steps:
            match step:
                case Act():
                    yield step
                case Together(acts):
                    yield from acts
                case Then():
                    pass


def full_name(kind: str, name: str) -> str:
    return f"$s-{name}" if kind in _OF_THE_CLUSTER else name


def path_of(kind: str, name: str) -> str:
    return f"{PATHS[kind]}/{full_name(kind, name)}"


def create(kind: str, doc: Doc) -> Act:
    """The name in the document is the short one."""
    name = doc["metadata"]["name"]
    metadata = {**doc["metadata"], "name": full_name(kind, name)}
    return Act(f"create {kind} {name}", "POST", PATHS[kind], {**doc, "metadata": metadata})


def change(kind: str, name: str, patch: Doc) -> Act:
    return Act(f"change {kind} {name}", "PATCH", path_of(kind, name), patch)


def change_status(kind: str, name: str, status: Doc) -> Act:
    words = f"change status of {kind} {name}"
    return Act(words, "PATCH", f"{path_of(kind, name)}/status", {"status": status})


def delete(kind: str, name: str) -> Act:
    now = "?gracePeriodSeconds=0" if kind == "pod" else ""
    return Act(f"delete {kind} {name}", "DELETE", path_of(kind, name) + now)


def then(*seen: str) -> Then:
    """Each as `volume v: Bound +c BBC`; `summary` in `picture.py` has the words."""
    return Then(dict(each.split(": ", 1) for each in seen))
