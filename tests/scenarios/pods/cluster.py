"""A node that runs pods, against a whole API in this process, with containers in memory."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mooring.model.document import Doc
from mooring.node.context import NodeContext
from mooring.node.pod_runtime import PodRuntime
from mooring.node.pods.container_spec import ContainerSettings
from mooring.node.pods.environment import api_server_variables
from mooring.node.pods.run import PodRuns, Runtime
from mooring.oci.contract import ContainerSpec, Found, ImageConfig, StoredImage
from mooring.oci.reference import Reference
from mooring.oci.registry.errors import PullFailed
from mooring.oci.registry.logins import Keyring, Login
from mooring.oci.registry.pull import Progress
from mooring.oci.registry.pulls import PulledImage
from tests.fakes.api import ApiUnderTest
from tests.fakes.containers import FakeContainers
from tests.fakes.objects import PODS
from tests.scenarios.node import cluster as node
from tests.scenarios.node.cluster import ADDRESS, NODE, FakePodRuntime

BUSYBOX = StoredImage(
    "sha256:" + "b" * 64,
    ("docker.io/library/busybox:1",),
    (Path("/images/busybox"),),
    ImageConfig(command=("sh",), environment=("PATH=/bin",)),
    1000,
)


class FakeImages:
    """By the way pods write their names."""

    def __init__(self) -> None:
        self.there = {"busybox:1": BUSYBOX}

    def find(self, reference: str) -> StoredImage | None:
        return self.there.get(reference)

    def list(self) -> Sequence[StoredImage]:
        return tuple(self.there.values())


class FakePulls:
    """A registry that a test fills, and what was asked of it."""

    def __init__(self, images: FakeImages) -> None:
        self._images = images
        self.has: dict[str, StoredImage] = {}  # by full name
        self.asked: list[str] = []
        self.logins: list[Sequence[Login]] = []  # of each that was asked for
        self.refusal = "registry.example/tool: not found"
        self.gate = asyncio.Event()
        self.gate.set()
        self.given_up = 0

    async def pull(
        self, reference: Reference, keyring: Keyring, tell: Callable[[Progress], None]
    ) -> PulledImage:
        self.asked.append(str(reference))
        host, _, path = reference.repository.partition("/")
        self.logins.append(keyring.find(host, path))
        progress = Progress()
        progress.total, progress.came, progress.layers = 4000, 1000, 2
        tell(progress)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        found = self.has.get(str(reference))
        if found is None:
            raise PullFailed(self.refusal)
        names = (str(reference),)
        image = msgspec.structs.replace(found, names=names, pulled_names=names)
        self._images.there[str(reference)] = image
        return PulledImage(image, 1.5)


class Cluster(node.Cluster):
    def __init__(self, api: ApiUnderTest, root: Path) -> None:
        super().__init__(api, root)
        self.runtime = FakeContainers(self.clock)
        self.images = FakeImages()
        self.pulls: FakePulls | None = None
        self.pod_settings = ContainerSettings(
            NODE, ADDRESS, services=api_server_variables("10.0.0.1", 6443)
        )

    def pod_runtime(self, context: NodeContext) -> PodRuntime:
        runtime = Runtime(self.runtime, self.images, self.pulls)
        self.pods = PodRuns(context, runtime, self.pod_settings)
        return FakePodRuntime(self.pods, self.pods.run)

    def registry(self, *names: str) -> FakePulls:
        """One with these images, by their full names."""
        self.pulls = FakePulls(self.images)
        self.pulls.has = dict.fromkeys(names, BUSYBOX)
        return self.pulls

    def host_rootfs(self) -> None:
        self.pod_settings = msgspec.structs.replace(self.pod_settings, host_rootfs=True)

    # what can be seen

    async def status(self, pod: str = "web") -> Doc:
        doc = await self.find(PODS, pod)
        assert doc is not None, f"{pod} is gone"
        status: Doc = doc["status"]
        return status

    async def phase(self, pod: str = "web") -> str:
        return str((await self.status(pod))["phase"])

    async def container(self, name: str = "main", pod: str = "web") -> Doc:
        """What is said of a container."""
        status = await self.status(pod)
        every = (
            status.get("initContainerStatuses", [])
            + status.get("containerStatuses", [])
            + status.get("ephemeralContainerStatuses", [])
        )
        return next(one for one in every if one["name"] == name)

    async def condition(self, type: str, pod: str = "web") -> str:
        conditions = (await self.status(pod))["conditions"]
        return next(str(one["status"]) for one in conditions if one["type"] == type)

    def spec(self, name: str = "main") -> ContainerSpec:
        return self.runtime.specs[self.runtime.id_of(name)]

    def found(self, name: str = "main") -> Found:
        found = self.runtime.find(self.runtime.id_of(name))
        assert found is not None
        return found

    def asked(self, *verbs: str) -> list[str]:
        """What was asked of the runtime, such as `kill main SIGTERM`; all, or these verbs."""
        return [
            f"{call.verb} {call.container} {call.detail}".strip()
            for call in self.runtime.calls
            if not verbs or call.verb in verbs
        ]

    async def events(self, *reasons: str) -> list[str]:
        """Reason and message of events about pods; all, or of these reasons."""
        return [f"{reason}: {text}" for _, reason, text in await self.said(*reasons)]

    # what happens

    async def finish(self, name: str = "main", code: int = 0, **how: bool) -> None:
        self.runtime.finish(self.runtime.id_of(name), code, **how)
        await self.settle()


def a_pod(name: str = "web", *containers: Doc, **spec: Any) -> Doc:
    """A pod on the node, with one container unless others are given."""
    has = {
        "nodeName": NODE,
        "containers": list(containers) or [a_container()],
        "automountServiceAccountToken": False,
    }
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": has | spec}


def a_container(name: str = "main", **body: Any) -> Doc:
    return {"name": name, "image": "busybox:1", "command": ["run", name]} | body


def a_sidecar(name: str = "proxy", **body: Any) -> Doc:
    return a_container(name, restartPolicy="Always", **body)
