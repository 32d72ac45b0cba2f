"""A node without a container runtime: pods get their volumes, and an event says why they wait."""

from collections.abc import Callable, Collection

from mooring.model.pod import Pod
from mooring.node.pods.contract import PodVolumes
from mooring.node.pods.events import PodEvents
from mooring.node.pods.storage import NO_STORAGE, PodStorage
from mooring.reconcile.recorder import Recorder

FAILED = "FailedCreatePodSandBox"


class NoContainers:
    """`PodContainers` that run none: pods get their volumes, and wait."""

    def on_written(self, handler: Callable[[Pod], None]) -> None:
        pass

    async def start(self, pod: Pod, volumes: PodVolumes) -> None:
        pass

    def update(self, pod: Pod) -> None:
        pass

    def vanished(self, pod: Pod) -> None:
        pass

    async def stop(self, pod: Pod) -> None:
        pass

    def are_gone(self, pod_uid: str) -> bool:
        return True

    async def storage(self, pod: Pod) -> PodStorage:
        return NO_STORAGE

    async def forget(self, pod: Pod) -> None:
        pass

    async def keep_only(self, pod_uids: Collection[str]) -> None:
        pass


class WithoutRuntime(NoContainers):
    """`reason` names what is missing, and the remedy."""

    def __init__(self, reason: str, recorder: Recorder) -> None:
        self._reason = reason
        self._events = PodEvents(recorder)
        self._told: set[str] = set()  # uids of pods

    async def start(self, pod: Pod, volumes: PodVolumes) -> None:
        if pod.uid not in self._told:
            self._told.add(pod.uid)
            text = f"Failed to create pod sandbox: {self._reason}"
            self._events.warning(pod, None, FAILED, text)

    async def forget(self, pod: Pod) -> None:
        self._told.discard(pod.uid)
