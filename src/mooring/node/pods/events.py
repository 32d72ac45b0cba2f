"""Events about pods and their containers."""

from msgspec.structs import replace

from mooring.model.container import Container
from mooring.model.event import EventType
from mooring.model.pod import Pod
from mooring.reconcile.recorder import Recorder, reference_to


class PodEvents:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def normal(self, pod: Pod, container: Container | None, reason: str, message: str) -> None:
        self.record(EventType.NORMAL, pod, container, reason, message)

    def warning(self, pod: Pod, container: Container | None, reason: str, message: str) -> None:
        self.record(EventType.WARNING, pod, container, reason, message)

    def record(
        self, type: EventType, pod: Pod, container: Container | None, reason: str, message: str
    ) -> None:
        path = "" if container is None else _field_path(pod, container)
        self._recorder.record(replace(reference_to(pod), field_path=path), type, reason, message)


def _field_path(pod: Pod, container: Container) -> str:
    """Where in the pod the container stands."""
    groups = {
        "initContainers": pod.spec.init_containers,
        "ephemeralContainers": pod.spec.ephemeral_containers,
    }
    for field, group in groups.items():
        if any(each.name == container.name for each in group):
            return f"spec.{field}{{{container.name}}}"
    return f"spec.containers{{{container.name}}}"
