"""A node that cannot run containers: pods get their volumes, and are told why they wait."""

from mooring.model.pod import Pod
from mooring.node.pod_workers import NoContainers
from mooring.node.pods.container_spec import PodVolumes
from mooring.node.pods.events import PodEvents
from mooring.reconcile.recorder import Recorder

FAILED = "FailedCreatePodSandBox"


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
