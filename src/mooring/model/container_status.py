"""Containers in a pod's status, as the kubelet reports them."""

from collections.abc import Mapping

import msgspec

from mooring.model.wire import Wire


class Waiting(Wire, frozen=True):
    reason: str = ""
    message: str = ""


class Running(Wire, frozen=True):
    started_at: str | None = None


class Terminated(Wire, frozen=True):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    container_id: str = msgspec.field(name="containerID", default="")


class ContainerState(Wire, frozen=True):
    """One of these is set; none means waiting, as in Kubernetes."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


UNKNOWN_STATE = ContainerState()


class ContainerStatus(Wire, frozen=True):
    name: str = ""
    state: ContainerState = UNKNOWN_STATE
    last_state: ContainerState = UNKNOWN_STATE
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    image: str = ""
    image_id: str = msgspec.field(name="imageID", default="")
    container_id: str = msgspec.field(name="containerID", default="")
    resources: Mapping[str, Mapping[str, str]] | None = None
