"""The pods that use a claim, listed from the API server before its finalizer is removed.

A list of a namespace is large, and claims are often deleted by the hundred. So concurrent requests
share the next list that begins after them; a list that began before proves nothing.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence

from mooring.client.contract import Client, Scope
from mooring.model.keys import Key
from mooring.model.pod import Pod


class _Room:
    """The requests that wait for a list of one namespace."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.askers = 0
        self.begun = 0  # lists so far, the present one included
        self.listed = 0  # the number of the one that `pods` comes from
        self.pods: Mapping[Key, Sequence[Pod]] = {}


class LivePods:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._rooms: dict[str, _Room] = {}

    async def naming(self, claim: Key) -> Sequence[Pod]:
        """All pods that name `claim`, from a list that begins after this call. Raises: as `list`"""
        room = self._rooms.setdefault(claim.namespace, _Room())
        room.askers += 1
        asked = room.begun
        try:
            async with room.lock:
                if room.listed <= asked:
                    room.begun += 1
                    number = room.begun
                    room.pods = await self._list(claim.namespace)
                    room.listed = number
                return room.pods.get(claim, ())
        finally:
            room.askers -= 1
            if not room.askers:
                del self._rooms[claim.namespace]  # pods are large: dropped with the last request

    async def _list(self, namespace: str) -> Mapping[Key, Sequence[Pod]]:
        found: defaultdict[Key, list[Pod]] = defaultdict(list)
        for pod in (await self._client.list(Pod, Scope(namespace=namespace))).items:
            for claim in set(pod.claim_keys()):
                found[claim].append(pod)
        return found
