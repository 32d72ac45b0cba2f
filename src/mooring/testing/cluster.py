"""A Kubernetes cluster inside a test.

    with Cluster() as c:
        c.apply(CLAIM)
        c.wait("pvc/data", "Bound")

It is the API server and the controllers of `mooring up`, with objects in memory. Nothing of it is
left when the block ends: no thread, no process, no file.
"""

import os
import uuid
import warnings
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, overload

from mooring.errors import UsageError
from mooring.model.document import Doc
from mooring.model.kubernetes_version import NEWEST
from mooring.testing.control import Control, ThreadControl
from mooring.testing.errors import ClusterError
from mooring.testing.handles import ClusterClock, CsiDriver, Node
from mooring.testing.home import Home, make_home
from mooring.testing.kinds import ServedKinds
from mooring.testing.kube import SECONDS, Kube
from mooring.testing.manifests import Manifest, Several
from mooring.testing.requests import Requests
from mooring.testing.settings import settings_of
from mooring.testing.until import Test

Process = Literal["thread", "child"]
DEFAULT = "default"  # the namespace
NO_PAIRS: Mapping[str, str] = {}


class Cluster:
    """`process`: on a thread of this process, or a child of it. `controllers`: all, none, or those
    named (`scheduler` is one). `default_class`: claims that name no class are given a directory.
    `kubernetes_version`: the release that is followed, 1.35 or 1.37.

    Usable from any thread. Each method may raise ClusterError.
    """

    def __init__(
        self,
        *,
        process: Process = "thread",
        controllers: bool | Collection[str] = True,
        default_class: bool = True,
        kubernetes_version: str = str(NEWEST),
    ) -> None:
        if process not in ("thread", "child"):
            raise ClusterError(f"process is 'thread' or 'child', not {process!r}")
        self._process = process
        self._settings = settings_of(
            controllers=controllers,
            default_class=default_class,
            kubernetes_version=kubernetes_version,
        )
        self._running: _Running | None = None

    # its life

    def start(self) -> Self:
        """After: the API answers. Controllers are there a moment later."""
        if self._running is not None:
            raise ClusterError("the cluster runs already")
        home = make_home()
        try:
            control: Control
            if self._process == "child":
                from mooring.testing.child import ChildControl

                control = ChildControl(home.path, self._settings)
            else:
                control = ThreadControl(home.data_dir, self._settings)
            self._running = _Running(home, control)
        except BaseException:
            home.remove()
            raise
        self._left = weakref.finalize(self, _leave, self._running)
        return self

    def stop(self) -> None:
        """After: nothing of it is left. Again: nothing."""
        running, self._running = self._running, None
        if running is not None:
            self._left.detach()
            running.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        self.stop()

    # how others reach it

    @property
    def url(self) -> str:
        return self._get().control.url

    @property
    def kubeconfig(self) -> Path:
        """The admin's; only this user can read it."""
        return self._get().home.data_dir / "kubeconfig"

    def kubeconfig_of(self, role: str, namespace: str = "") -> Path:
        """A kubeconfig with the rights of `role`: admin, read-only, controllers, scheduler,
        sidecars, or node:NAME; its default namespace is `namespace`."""
        import msgspec

        from mooring.stack.credentials import kubeconfig_for, write_kubeconfig

        home = self._get().home
        try:
            found = kubeconfig_for(home.data_dir, role)
            name = f"kubeconfig-{role.replace(':', '-')}-{namespace or 'any'}"
            path = home.path / name
            write_kubeconfig(msgspec.structs.replace(found, namespace=namespace), path)
        except UsageError as error:
            raise ClusterError(str(error)) from error
        return path

    def token(self, role: str = "admin") -> str:
        """The bearer token of a role; see `kubeconfig_of`."""
        return _token(self._get().home, role)

    # objects

    @overload
    def apply(self, manifest: Mapping[str, Any], namespace: str = DEFAULT) -> Doc: ...

    @overload
    def apply(self, manifest: Several, namespace: str = DEFAULT) -> list[Doc]: ...

    def apply(self, manifest: Manifest, namespace: str = DEFAULT) -> Doc | list[Doc]:
        """Server-side apply of a document, several, YAML text, or a path. See `Kube.apply`."""
        return self.kube(namespace).apply(manifest)

    def get(self, reference: str, namespace: str = DEFAULT) -> Doc:
        """`get("pvc/data")`. Raises: Refused."""
        return self.kube(namespace).get(reference)

    def list(self, kind: str, namespace: str = "", selector: str = "") -> Sequence[Doc]:
        """`list("pods")`: those of all namespaces, unless told."""
        return self.kube(namespace).list(kind, selector)

    def delete(
        self, reference: str, namespace: str = DEFAULT, *, timeout: float | None = None
    ) -> None:
        """`delete("pvc/data")`; with `timeout`, wait until it is gone."""
        self.kube(namespace).delete(reference, timeout=timeout)

    def wait(
        self,
        reference: str,
        goal: str | Test,
        namespace: str = DEFAULT,
        *,
        timeout: float = SECONDS,
    ) -> Doc:
        """`wait("pvc/data", "Bound")`, `"condition=Ready"`, `"deleted"`, a function of the object.

        `timeout` is in seconds of real time. Raises: NotYet, which shows the object and its events.
        """
        return self.kube(namespace).wait(reference, goal, timeout=timeout)

    def kube(self, namespace: str = DEFAULT) -> Kube:
        """The same verbs, and some more, in one namespace that exists."""
        running = self._get()
        return Kube(running.requests, running.kinds, namespace)

    @contextmanager
    def namespace(self, name: str = "") -> Iterator[Kube]:
        """A new namespace for the block; deleted behind it, without waiting for that."""
        kube = self.make_namespace(name)
        try:
            yield kube
        finally:
            with suppress(ClusterError):
                kube.delete(f"namespace/{kube.name}")

    def make_namespace(self, name: str = "") -> Kube:
        """With a name of its own unless told; pods can be made in it at once."""
        kube = self.kube(name or f"test-{uuid.uuid4().hex[:10]}")
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": kube.name}}
        self._get().requests.send("POST", "/api/v1/namespaces", document)
        kube.wait("serviceaccount/default", "exists")
        return kube

    # the played part

    @property
    def clock(self) -> ClusterClock:
        return ClusterClock(self._get().control)

    def add_node(
        self,
        name: str,
        *,
        labels: Mapping[str, str] = NO_PAIRS,
        capacity: Mapping[str, str] = NO_PAIRS,
    ) -> Node:
        """A fake node, Ready: pods on it become Running, or Succeeded if they have an end."""
        control = self._get().control
        control.call("add_node", name=name, labels=dict(labels), capacity=dict(capacity))
        return Node(control, name)

    def add_csi_driver(
        self,
        name: str = "fake.csi.mooring.dev",
        *,
        storage_class: str = "fake",
        default: bool = False,
    ) -> CsiDriver:
        """A fake CSI driver with a class for its volumes and snapshots; empty: make no class."""
        control = self._get().control
        control.call("add_driver", name=name, storage_class=storage_class, is_default=default)
        return CsiDriver(control, name)

    def __reduce__(self) -> str:
        raise ClusterError(
            "a Cluster stays in its process: give another one its kubeconfig (c.kubeconfig)"
        )

    def _get(self) -> "_Running":
        if self._running is None:
            raise ClusterError("the cluster does not run: use `with Cluster() as c:`, or start()")
        if trouble := self._running.control.trouble():
            raise ClusterError(trouble)
        return self._running


class _Running:
    """What there is of a cluster while it runs."""

    def __init__(self, home: Home, control: Control) -> None:
        self.home = home
        self.control = control
        authority = (home.data_dir / "pki" / "ca.crt").read_text()
        self.requests = Requests(control.url, authority, _token(home, "admin"))
        self.kinds = ServedKinds(self.requests)
        self.owner = os.getpid()

    def stop(self) -> None:
        try:
            self.requests.close()
            self.control.stop()
        finally:
            self.home.remove()


def _token(home: Home, role: str) -> str:
    from mooring.stack.credentials import kubeconfig_for

    try:
        return kubeconfig_for(home.data_dir, role).token.reveal()
    except UsageError as error:
        raise ClusterError(str(error)) from error


def _leave(running: _Running) -> None:
    """A cluster that nobody stopped: its holder is gone, or the interpreter ends."""
    if running.owner != os.getpid():
        return
    try:
        running.control.abandon()
    finally:
        running.home.remove()
    warnings.warn("a Cluster was never stopped: use `with`", ResourceWarning, stacklevel=1)
