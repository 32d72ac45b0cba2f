"""The containers of a node's pods, and the server for their logs, exec and attach.

A machine without a runtime is a node all the same: its pods get their volumes, and an event says
why no container runs.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Protocol
from urllib.parse import urlsplit

from mooring import log
from mooring.errors import HostError
from mooring.host.blocking import in_thread
from mooring.host.directory_watch import DirectoryWatches
from mooring.model.event import EventType
from mooring.model.reference import ObjectReference
from mooring.node.context import NodeContext
from mooring.node.image_gc import ImageGc, TrackedImages
from mooring.node.images import image_pulls, image_store
from mooring.node.names.run import ClusterNames, own_address
from mooring.node.options import NodeOptions
from mooring.node.pods.container_spec import ContainerSettings
from mooring.node.pods.contract import PodContainers
from mooring.node.pods.environment import api_server_variables
from mooring.node.pods.no_runtime import WithoutRuntime
from mooring.node.pods.run import PodRuns, Runtime
from mooring.node.server.access import Access
from mooring.node.server.certificate import make_certificate
from mooring.node.server.paths import FindPod
from mooring.node.server.reviews import ApiReviews
from mooring.node.server.serving import NodeServer, ServingOptions
from mooring.oci.containers import OciContainers
from mooring.oci.probe import NoRuntime, Probed
from mooring.oci.runc import RuntimeProgram
from mooring.reconcile.worker import lasting

HTTPS_PORT = 443

_log = log.get("mooring.node")


class PodRuntime(Protocol):
    """Containers of pods on this machine, if it can run any. `run` runs them until cancelled."""

    containers: PodContainers

    def serve(self, find_pod: FindPod) -> NodeServer | None:
        """A server that listens already; None when there is nothing to show. Raises: UsageError."""
        ...

    async def loaded(self) -> None:
        """Returns when the containers from before are known: volumes may be under them."""
        ...

    async def run(self) -> None: ...


def pod_runtime(
    context: NodeContext, address: str, options: NodeOptions, probed: Probed
) -> PodRuntime:
    if isinstance(probed, NoRuntime):
        return _NoPodRuntime(WithoutRuntime(probed.reason, context.recorder))
    return _OciPodRuntime(context, address, options, probed)


class _NoPodRuntime:
    """Pods get their volumes, and an event that says why no container runs."""

    def __init__(self, containers: PodContainers) -> None:
        self.containers = containers

    def serve(self, find_pod: FindPod) -> None:
        """There is nothing to look into."""

    async def loaded(self) -> None:
        """There is nothing to find."""

    async def run(self) -> None:
        """There is nothing to run."""


class _OciPodRuntime:
    def __init__(
        self, context: NodeContext, address: str, options: NodeOptions, program: RuntimeProgram
    ) -> None:
        self._context = context
        self._options = options
        host = context.host
        self._images = host.layout.root / "images"
        store, clock = image_store(host.layout.root), context.clock
        images = TrackedImages(store, clock)
        self._gc = ImageGc(store, images, self._images, options.images.gc, clock, self._warn)
        self._pulls = None
        if options.pull_images:
            self._pulls = image_pulls(store, host.layout.root, options.images.pulls, clock)
            self._pulls.on_pulled(self._gc.wake)
        self._oci = OciContainers(
            host.layout.root, host.mounts, context.clock, program, own_paths=options.hidden
        )
        root, client = host.layout.root, context.client
        self._names = ClusterNames(client, context.clock, host.rng, options.dns, own_address(root))
        settings = ContainerSettings(
            node_name=context.own_node.name,
            address=address,
            host_rootfs=options.host_rootfs,
            services=_services(options.api_server),
            can_be_read_only_below=program.has_recursive_read_only,
            seccomp_default=options.seccomp_default,
            dns=options.dns,
            find_dns=self._names.find_dns,
        )
        runtime = Runtime(self._oci, images, self._pulls)
        self._runs = PodRuns(context, runtime, settings)
        self.containers: PodContainers = self._runs

    def serve(self, find_pod: FindPod) -> NodeServer:
        context, options = self._context, self._options
        name = context.own_node.name
        certificate = make_certificate(name, (options.listen,), context.clock.now())
        reviews = ApiReviews(context.client, name)
        access = Access(reviews, reviews, context.clock)
        serving = ServingOptions(options.listen, options.port, certificate, options.authority)
        server = NodeServer(self._oci, find_pod, access, context.clock, serving)
        server.listen()
        self._names.bind()
        return server

    async def loaded(self) -> None:
        await self._oci.loaded.wait()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            clock = self._context.clock
            tasks.create_task(lasting("containers", clock, self._oci.run))
            tasks.create_task(self._runs.run())
            tasks.create_task(self._names.run())
            tasks.create_task(lasting("images", clock, self._watch_images))
            tasks.create_task(lasting("image garbage", clock, self._gc.run))
            if self._pulls is not None:
                tasks.create_task(self._pulls.sweep())
            if self._options.host_rootfs:
                tasks.create_task(self._prepare_host())

    def _warn(self, reason: str, message: str) -> None:
        """An event about this node."""
        name = self._context.own_node.name
        about = ObjectReference(kind="Node", name=name, uid=name, api_version="v1")
        self._context.recorder.record(about, EventType.WARNING, reason, message)

    async def _prepare_host(self) -> None:
        try:
            await self._oci.prepare_host()
        except HostError as error:  # reported by the pod that needs it
            _log.debug("nothing of the host can be shown to containers yet", error=error)

    async def _watch_images(self) -> None:
        """Pods that wait for an image need not wait longer than until it is here."""
        await in_thread(partial(self._images.mkdir, mode=0o700, exist_ok=True))
        with DirectoryWatches().of(self._images) as watch:
            while True:
                await watch.changed()
                self._runs.images_changed()


def _services(api_server: str) -> Mapping[str, str]:
    url = urlsplit(api_server)
    return api_server_variables(url.hostname, url.port or HTTPS_PORT) if url.hostname else {}
