"""Where the files of pods are that only their containers see, and their logs."""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring.host import tree
from mooring.host.refusal import refusals
from mooring.model.pod import Pod
from mooring.oci.contract import Owner
from mooring.plugins.layout import Layout

LOG_SUFFIX = ".log"


class PodPaths(msgspec.Struct, frozen=True):
    """All but the last two only say where; those two block."""

    layout: Layout

    @property
    def logs(self) -> Path:
        return self.layout.root / "logs"

    def pod_logs(self, namespace: str, pod: str, pod_uid: str) -> Path:
        return self.logs / f"{namespace}_{pod}_{pod_uid}"

    def log(self, owner: Owner) -> Path:
        """What a container writes; older parts have a time behind this name."""
        directory = self.pod_logs(owner.namespace, owner.pod, owner.pod_uid) / owner.container
        return directory / f"{owner.attempt}{LOG_SUFFIX}"

    def hosts(self, pod: Pod) -> Path:
        return self.layout.pod(pod.uid) / "etc-hosts"

    def hostname(self, pod: Pod) -> Path:
        return self.layout.pod(pod.uid) / "etc-hostname"

    def resolver(self, pod: Pod) -> Path:
        return self.layout.pod(pod.uid) / "etc-resolv.conf"

    def termination_message(self, pod: Pod, container: str, id: str) -> Path:
        """Where a container writes its termination message."""
        return self.layout.pod(pod.uid) / "containers" / container / id[:12]

    def image_volumes(self, pod_uid: str) -> Path:
        return self.layout.pod(pod_uid) / "image-volumes"

    def list_pods(self) -> set[str]:
        """The uids of pods that have left anything here. Raises: HostError."""
        return {name.rpartition("_")[2] for name in _names(self.logs)} | {
            name for name in _names(self.layout.pods) if self.image_volumes(name).exists()
        }

    def remove_logs(self, pod_uid: str) -> None:
        """Remove the logs of a pod that is gone. Repeated: nothing. Raises: HostError."""
        for name in _names(self.logs):
            if name.endswith(f"_{pod_uid}"):
                tree.remove_path(self.logs / name)


def _names(directory: Path) -> list[str]:
    with refusals(f"list {directory}"), suppress(FileNotFoundError):
        return os.listdir(directory)
    return []
