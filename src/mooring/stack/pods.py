"""The containers of a node's pods, and the server by which others look into them.

A machine without a runtime is a node all the same: its pods get their volumes, and are told why
nothing runs.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from mooring import log
from mooring.errors import HostError
from mooring.host.blocking import in_thread
from mooring.host.directory_watch import DirectoryWatches
from mooring.node.context import NodeContext
from mooring.node.pod_workers import Containers
from mooring.node.pods.container_spec import ContainerSettings
from mooring.node.pods.environment import api_server_variables
from mooring.node.pods.no_runtime import NoRuntime as Without
from mooring.node.pods.run import PodContainers, Runtime
from mooring.node.server.access import Access
from mooring.node.server.certificate import make_certificate
from mooring.node.server.paths import FindPod
from mooring.node.server.reviews import ApiReviews
from mooring.node.server.serving import NodeServer, ServingOptions
from mooring.node.status.hardware import read_identity
from mooring.oci.containers import OciContainers
from mooring.oci.probe import NoRuntime, Probed
from mooring.oci.runc import RuntimeProgram
from mooring.reconcile.worker import lasting
from mooring.stack.config import LOOPBACK
from mooring.stack.images import image_store

HTTPS_PORT = 443

_log = log.get("mooring.node")


class Terms(msgspec.Struct, frozen=True):
    """How this node runs pods, and how it is reached."""

    host_rootfs: bool = False  # an image that is not here is replaced by the host's root
    hidden: tuple[Path, ...] = ()  # what containers never see of the host, wherever it is
    listen: str = LOOPBACK  # where logs, exec and attach are served
    port: int = 0  # 0: any that is free
    authority: bytes = b""  # PEM of the cluster's; who shows a certificate of it is known
    api_server: str = ""  # URL, as pods find it
    seccomp_default: bool = False  # who asks for no seccomp profile gets the default one
    allowed_unsafe_sysctls: tuple[str, ...] = ()  # names, or patterns that end in `*`

    @property
    def listens_everywhere(self) -> bool:
        return self.listen in ("0.0.0.0", "::")  # noqa: S104  compared, not bound


class Pods(Protocol):
    """Containers of pods on this machine, if it can run any. `run` runs them until cancelled."""

    containers: Containers

    def serve(self, find_pod: FindPod) -> NodeServer | None:
        """A server that listens already; None when there is nothing to show. Raises: UsageError."""
        ...

    async def loaded(self) -> None:
        """Returns when the containers from before are known: volumes may be under them."""
        ...

    async def run(self) -> None: ...


def pods_of(context: NodeContext, node_address: str, terms: Terms, probed: Probed) -> Pods:
    if isinstance(probed, NoRuntime):
        return _Waiting(Without(probed.reason, context.recorder))
    return _Running(context, node_address, terms, probed)


class _Waiting:
    """Pods that get their volumes, and are told why they wait."""

    def __init__(self, containers: Containers) -> None:
        self.containers = containers

    def serve(self, find_pod: FindPod) -> None:
        """There is nothing to look into."""

    async def loaded(self) -> None:
        """There is nothing to find."""

    async def run(self) -> None:
        """There is nothing to run."""


class _Running:
    def __init__(
        self, context: NodeContext, node_address: str, terms: Terms, program: RuntimeProgram
    ) -> None:
        self._context = context
        self._terms = terms
        host = context.host
        self._images = host.layout.root / "images"
        self._oci = OciContainers(
            host.layout.root, host.mounts, context.clock, program, own_paths=terms.hidden
        )
        settings = ContainerSettings(
            node_name=context.own_node.name,
            address=node_address,
            host_rootfs=terms.host_rootfs,
            services=_services(terms.api_server),
            can_be_read_only_below=program.has_recursive_read_only,
            seccomp_default=terms.seccomp_default,
        )
        runtime = Runtime(self._oci, image_store(host.layout.root))
        self._runs = PodContainers(context, runtime, settings)
        self.containers: Containers = self._runs

    def serve(self, find_pod: FindPod) -> NodeServer:
        context, terms = self._context, self._terms
        name = context.own_node.name
        certificate = make_certificate(name, (terms.listen,), context.clock.now())
        reviews = ApiReviews(context.client, name)
        access = Access(reviews, reviews, context.clock)
        options = ServingOptions(terms.listen, terms.port, certificate, terms.authority)
        server = NodeServer(self._oci, find_pod, access, context.clock, options)
        server.listen()
        return server

    async def loaded(self) -> None:
        await self._oci.loaded.wait()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            clock = self._context.clock
            tasks.create_task(lasting("containers", clock, self._oci.run))
            tasks.create_task(self._runs.run())
            tasks.create_task(lasting("images", clock, self._watch_images))
            if self._terms.host_rootfs:
                tasks.create_task(self._prepare_host())

    async def _prepare_host(self) -> None:
        try:
            await self._oci.prepare_host()
        except HostError as error:  # the pod that needs it is told
            _log.debug("nothing of the host can be shown to containers yet", error=error)

    async def _watch_images(self) -> None:
        """Pods that wait for an image need not wait longer than until it is here."""
        await in_thread(partial(self._images.mkdir, mode=0o700, exist_ok=True))
        with DirectoryWatches().of(self._images) as watch:
            while True:
                await watch.changed()
                self._runs.images_changed()


def own_address() -> str:
    """Under which other machines find this one; loopback if there is no other."""
    return next(iter(read_identity().addresses), LOOPBACK)


def _services(api_server: str) -> Mapping[str, str]:
    url = urlsplit(api_server)
    return api_server_variables(url.hostname, url.port or HTTPS_PORT) if url.hostname else {}
