"""`Cluster` for async tests: the same methods, awaited. Works on any asyncio loop.

    async with AsyncCluster() as c:
        await c.apply(CLAIM)
        await c.wait("pvc/data", "Bound")

Each method runs that of `Cluster` in a thread, so that the loop goes on; `c.sync` is the cluster
itself, for what is quick and for what has no method here.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, overload

from mooring.model.document import Doc
from mooring.model.kubernetes_version import NEWEST
from mooring.testing.cluster import DEFAULT, NO_PAIRS, Cluster, Process
from mooring.testing.errors import ClusterError
from mooring.testing.handles import CsiDriver, Node
from mooring.testing.kube import SECONDS, Kube
from mooring.testing.manifests import Manifest, Several
from mooring.testing.until import Test


class AsyncCluster:
    def __init__(
        self,
        *,
        process: Process = "thread",
        controllers: bool | Collection[str] = True,
        default_class: bool = True,
        kubernetes_version: str = str(NEWEST),
    ) -> None:
        self.sync = Cluster(
            process=process,
            controllers=controllers,
            default_class=default_class,
            kubernetes_version=kubernetes_version,
        )

    async def __aenter__(self) -> Self:
        starting = asyncio.ensure_future(asyncio.to_thread(self.sync.start))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:  # it starts all the same: stop it then
            with suppress(ClusterError):
                await starting
            await asyncio.to_thread(self.sync.stop)
            raise
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        await asyncio.shield(asyncio.to_thread(self.sync.stop))

    @property
    def url(self) -> str:
        return self.sync.url

    @property
    def kubeconfig(self) -> Path:
        return self.sync.kubeconfig

    def token(self, role: str = "admin") -> str:
        return self.sync.token(role)

    @overload
    async def apply(self, manifest: Mapping[str, Any], namespace: str = DEFAULT) -> Doc: ...

    @overload
    async def apply(self, manifest: Several, namespace: str = DEFAULT) -> list[Doc]: ...

    async def apply(self, manifest: Manifest, namespace: str = DEFAULT) -> Doc | list[Doc]:
        return await asyncio.to_thread(self.sync.apply, manifest, namespace)

    async def get(self, reference: str, namespace: str = DEFAULT) -> Doc:
        return await asyncio.to_thread(self.sync.get, reference, namespace)

    async def delete(
        self,
        reference: str,
        namespace: str = DEFAULT,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  the thread's own
    ) -> None:
        await asyncio.to_thread(self.sync.delete, reference, namespace, timeout=timeout)

    async def wait(
        self,
        reference: str,
        goal: str | Test,
        namespace: str = DEFAULT,
        *,
        timeout: float = SECONDS,  # noqa: ASYNC109  the thread's own
    ) -> Doc:
        return await asyncio.to_thread(self.sync.wait, reference, goal, namespace, timeout=timeout)

    @asynccontextmanager
    async def namespace(self, name: str = "") -> AsyncIterator[Kube]:
        kube = await asyncio.to_thread(self.sync.make_namespace, name)
        try:
            yield kube
        finally:
            with suppress(ClusterError):
                await asyncio.to_thread(kube.delete, f"namespace/{kube.name}")

    async def advance(self, seconds: float) -> None:
        """`clock.advance`."""
        await asyncio.to_thread(self.sync.clock.advance, seconds)

    async def add_node(
        self,
        name: str,
        *,
        labels: Mapping[str, str] = NO_PAIRS,
        capacity: Mapping[str, str] = NO_PAIRS,
    ) -> Node:
        return await asyncio.to_thread(self.sync.add_node, name, labels=labels, capacity=capacity)

    async def add_csi_driver(
        self,
        name: str = "fake.csi.mooring.dev",
        *,
        storage_class: str = "fake",
        default: bool = False,
    ) -> CsiDriver:
        return await asyncio.to_thread(
            self.sync.add_csi_driver, name, storage_class=storage_class, default=default
        )
