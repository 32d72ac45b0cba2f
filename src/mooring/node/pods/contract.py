"""What pod workers ask of the containers of pods, and containers of the volumes."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from mooring.model.pod import Pod
from mooring.node.actual import PodMount
from mooring.node.pods.storage import PodStorage


class PodVolumes(Protocol):
    """What a pod's containers see of its volumes, as they are at this moment."""

    def reach(self) -> Mapping[str, PodMount]:
        """The volumes that are mounted, by their names in the pod."""
        ...

    def groups(self) -> Iterable[int]:
        """Those that its volumes want their users to be in."""
        ...


class PodContainers(Protocol):
    """Runs the containers of pods, and writes of them in the pods' status."""

    def on_written(self, handler: Callable[[Pod], None]) -> None:
        """`handler` is given pods whose status has been written."""
        ...

    async def start(self, pod: Pod, volumes: PodVolumes) -> None:
        """The pod's volumes are there: run its containers from now on.

        Repeated: nothing. Cancelled or failed midway, `stop` finds what was begun.
        Raises: MooringError.
        """
        ...

    def update(self, pod: Pod) -> None:
        """The pod is otherwise than before."""
        ...

    def vanished(self, pod: Pod) -> None:
        """The API has forgotten the pod: it may take no time to end."""
        ...

    async def stop(self, pod: Pod) -> None:
        """Returns when no container of the pod runs. Raises: MooringError when one does."""
        ...

    def are_gone(self, pod_uid: str) -> bool:
        """Whether no container of the pod runs, also after a restart of the node."""
        ...

    async def storage(self, pod: Pod) -> PodStorage:
        """What those that run use of the node's disk, counted anew. Raises: HostError."""
        ...

    async def forget(self, pod: Pod) -> None:
        """Remove what is left of its containers, and their logs. Raises: MooringError."""
        ...

    async def keep_only(self, pod_uids: Collection[str]) -> None:
        """After a restart: end and remove containers of all other pods, before their volumes go."""
        ...
