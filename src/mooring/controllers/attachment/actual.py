"""Where volumes are: the VolumeAttachments in the API, and what this process remembers beside them.

The API owns the truth: an attachment object that says `attached` is an attached volume, one that
does not is an uncertain one, and none is a detached one. So nothing has to be rebuilt after a
crash, and what was begun is found as it was left. Here is only what an object cannot say: which
volume and node it belongs to, and how the attempts at it have gone so far.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import Enum

import msgspec

from mooring.controllers.attachment.volume_name import (
    VolumeName,
    find_volume_name,
    name_of_attachment,
)
from mooring.model.attachment import Attachment


class State(Enum):
    """Of a volume on a node."""

    ATTACHED = "attached"
    UNCERTAIN = "uncertain"  # something is under way, or failed half-way
    DETACHED = "detached"


def state_of(attachment: Attachment | None) -> State:
    if attachment is None:
        return State.DETACHED
    if attachment.is_attached and not attachment.is_deleting:
        return State.ATTACHED
    return State.UNCERTAIN


class Act(Enum):
    ATTACH = "attach"
    DETACH = "detach"


class AttachmentAttempt(msgspec.Struct, frozen=True):
    """An attach or detach was requested, and has no result yet."""

    act: Act
    since: float  # monotonic


class Failure(msgspec.Struct, frozen=True):
    """The last attempts failed."""

    act: Act
    times: int
    due: float  # monotonic: not tried again before


class RecordedEvents(msgspec.Struct, frozen=True):
    """The last events about a wait."""

    topic: str
    pods: frozenset[str]  # uids of those that have one
    at: float  # monotonic


class Memory(msgspec.Struct, frozen=True):
    """How it went so far with one volume on one node."""

    attempt: AttachmentAttempt | None = None
    failure: Failure | None = None
    leaving_since: float | None = None  # monotonic: since when no pod wants it there
    is_withdrawn: bool = False  # it was taken off the node's list
    refused: RecordedEvents | None = None  # that another node has it
    waits: RecordedEvents | None = None  # for what


BLANK = Memory()

Find = Callable[[str], Attachment | None]
"""An attachment by its name."""


class VolumeOnNode(msgspec.Struct, frozen=True):
    """A volume on a node."""

    volume: str
    node: str


class Actual:
    def __init__(self, find: Find) -> None:
        self._find = find
        self._by_attachment: dict[str, VolumeOnNode] = {}  # by the name of the attachment
        self._names: dict[VolumeOnNode, str] = {}
        self._nodes: dict[str, set[str]] = {}  # by volume
        self._volumes: dict[str, set[str]] = {}  # by node
        self._memories: dict[VolumeOnNode, Memory] = {}
        self._used: set[VolumeOnNode] = set()
        self._attaching: Counter[str] = Counter()  # by node: attempts under way

    def learn(self, csi: VolumeName, node: str) -> VolumeOnNode:
        """Of this volume and this node there may be an attachment."""
        where = VolumeOnNode(csi.unique, node)
        if where not in self._names:
            name = name_of_attachment(csi, node)
            self._names[where] = name
            self._by_attachment[name] = where
            self._nodes.setdefault(where.volume, set()).add(node)
            self._volumes.setdefault(node, set()).add(where.volume)
        return where

    def forget(self, where: VolumeOnNode) -> None:
        """Forget a volume that is detached and not wanted."""
        name = self._names.pop(where, None)
        self.remember(where, BLANK)
        self._used.discard(where)
        if name is not None:
            del self._by_attachment[name]
            _discard(self._nodes, where.volume, where.node)
            _discard(self._volumes, where.node, where.volume)

    def find_by_attachment(self, attachment: str) -> VolumeOnNode | None:
        return self._by_attachment.get(attachment)

    def nodes_of(self, volume: str) -> Iterable[str]:
        return self._nodes.get(volume, ())

    def volumes_on(self, node: str) -> Iterable[str]:
        return self._volumes.get(node, ())

    def attachment(self, where: VolumeOnNode) -> Attachment | None:
        name = self._names.get(where)
        return None if name is None else self._find(name)

    def use(self, where: VolumeOnNode) -> None:
        """A pod has the volume there: from now on its attachment is ours, if not by birth."""
        self._used.add(where)

    def is_ours(self, where: VolumeOnNode) -> bool:
        """Whether its attachment may be deleted when no pod wants it.

        Backup tools and populators attach volumes too, under whatever name.
        """
        if where in self._used:
            return True
        attachment = self.attachment(where)
        return attachment is not None and attachment.is_made_by_controller

    def memory(self, where: VolumeOnNode) -> Memory:
        return self._memories.get(where, BLANK)

    def remember(self, where: VolumeOnNode, memory: Memory) -> None:
        was, now = _is_attaching(self.memory(where)), _is_attaching(memory)
        if was is not now:
            self._attaching[where.node] += now - was
            if not self._attaching[where.node]:
                del self._attaching[where.node]
        if memory == BLANK:
            self._memories.pop(where, None)
        else:
            self._memories[where] = memory

    def is_attaching_to(self, node: str) -> bool:
        """Whether an attach is under way there, of whatever volume."""
        return node in self._attaching

    def attached(self) -> Iterator[tuple[VolumeOnNode, VolumeName]]:
        """Every volume that is attached, or may be."""
        for where, name in self._names.items():
            csi = find_volume_name(where.volume)
            if csi is not None and self._find(name) is not None:
                yield where, csi


def _is_attaching(memory: Memory) -> bool:
    return memory.attempt is not None and memory.attempt.act is Act.ATTACH


def _discard(sets: dict[str, set[str]], key: str, value: str) -> None:
    sets[key].discard(value)
    if not sets[key]:
        del sets[key]
