"""Which ids on the host the users of a pod are: 65,536 of them, and no other pod's.

What runs is the memory of it: a container's record says which ids it has, also after a restart. A
pod keeps its range while it is here, for its containers see each other's files and processes.
"""

from collections.abc import Iterable
from typing import Final

from mooring.host.user_namespace import LENGTH
from mooring.node.pods.waiting_reason import Misconfigured
from mooring.oci.contract import Containers, Found

USERS_NOTE: Final = "mooring.dev/first-host-id"
FIRST: Final = LENGTH  # what is below belongs to the machine's own users
MOST: Final = 1024  # ranges; a node has 110 pods, and those that ended hold theirs until they go


class UserRanges:
    def __init__(self, containers: Containers) -> None:
        self._containers = containers
        self._given: dict[str, int] = {}  # by pod, since this process runs

    def of(self, pod_uid: str) -> int:
        """The host's id of the pod's root.

        Repeated: the same, until `forget`. Raises: Misconfigured when there is none left.
        """
        if pod_uid not in self._given:
            self._given[pod_uid] = self._choose(pod_uid, self._containers.list())
        return self._given[pod_uid]

    def forget(self, pod_uid: str) -> None:
        self._given.pop(pod_uid, None)

    def _choose(self, pod_uid: str, containers: Iterable[Found]) -> int:
        taken = set(self._given.values())
        for found in containers:
            first = int(found.notes.get(USERS_NOTE) or 0)
            if first and found.owner.pod_uid == pod_uid:
                return first
            taken.add(first)
        free = (first for first in range(FIRST, FIRST + MOST * LENGTH, LENGTH))
        chosen = next((first for first in free if first not in taken), None)
        if chosen is None:
            raise Misconfigured(f"all {MOST} ranges of user ids are taken by pods of this node")
        return chosen
