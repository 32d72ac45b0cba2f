"""Clusters whose sidecars are upstream's, Mooring's, or some of each."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import msgspec

from mooring.stack.credentials import kubeconfig_for
from mooring.stack.sidecar_rbac import NAME as OUR_ACCOUNT
from tests.clients.containers import nothing_left_after
from tests.clients.csi import short_directory
from tests.clients.kubectl import Kubectl
from tests.clients.nodes import NODE, joined_node
from tests.conformance.asking import Client
from tests.conformance.csi.accounts import NAMESPACE, kubeconfig_of
from tests.conformance.csi.clusters import QUIET, Cluster, kubectl_of, node
from tests.conformance.csi.drivers import HOST_PATH, Running
from tests.conformance.csi.upstream import Api, Process, Sidecar, upstream
from tests.conformance.obtain import SNAPSHOT_KINDS, files
from tests.conformance.peers import (
    HOUSEKEEPING,
    UNLIMITED,
    VOLUME_CONTROLLERS,
    Find,
    binds,
    controller_manager,
    kubernetes,
    running,
    wait_until,
)
from tests.fakes.real_server import ApiServer, command

ATTACHING = "persistentvolume-attach-detach-controller"


class Share(msgspec.Struct, frozen=True):
    """Which sidecars are upstream's, and which are Mooring's."""

    upstream: tuple[Sidecar, ...] = ()
    sidecars: tuple[str, ...] = ()
    has_snapshot_controller: bool = False  # Mooring's


class SidecarCluster(Cluster, frozen=True):
    """With the sidecars' processes by their logs."""

    sidecars: dict[Path, Process]


Start = Callable[[Find, Share, Path], AbstractContextManager[SidecarCluster]]


@contextmanager
def on_mooring(find: Find, share: Share, home: Path) -> Iterator[SidecarCluster]:
    """`mooring apiserver`, `controllers`, `scheduler`, `node`. Raises Missing."""
    chosen = "*,snapshots" if share.has_snapshot_controller else "*"
    with ExitStack() as parts:
        place = parts.enter_context(short_directory())
        server = ApiServer(place / "d").start()
        parts.callback(server.kill)
        api = Api(server.url, server.data_dir / "pki" / "ca.crt", server.kubeconfig)
        for role in ("controllers", "scheduler"):
            kubeconfig = place / f"{role}.kubeconfig"
            kubeconfig_for(server.data_dir, role).write(kubeconfig)
            flags = ("--controllers", chosen) if role == "controllers" else ()
            started = parts.enter_context(_ours(place, role, kubeconfig, *flags))
            if role == "controllers":
                client = Client("mooring", server.host, server.port, server.tls(), server.token())
                wait_until(client, started, binds, place / "controllers.log")
        parts.enter_context(joined_node(server, NODE, place, flags=("--host-rootfs",)))
        root, kubectl = place / NODE, kubectl_of(server.kubeconfig, home)
        yield parts.enter_context(_divided(share, find, api, kubectl, root))


@contextmanager
def on_kubernetes(find: Find, share: Share, home: Path) -> Iterator[SidecarCluster]:
    """kube-apiserver, kube-controller-manager, and `mooring node`. Raises Missing."""
    kinds = files(SNAPSHOT_KINDS)
    with ExitStack() as parts:
        place = parts.enter_context(short_directory())
        cluster = parts.enter_context(kubernetes(place / "k", find))
        kubectl = kubectl_of(cluster.kubeconfig, home)
        for kind in sorted(kinds.glob("*snapshot*.yaml")):
            kubectl("apply", "--server-side", "-f", str(kind))
        kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=15s")
        theirs = (*VOLUME_CONTROLLERS, ATTACHING, *HOUSEKEEPING)
        parts.enter_context(controller_manager(cluster, find, theirs, UNLIMITED))
        root = place / "n"
        parts.enter_context(nothing_left_after(root))
        parts.enter_context(node(cluster, root))
        if share.has_snapshot_controller:
            flags = ("--controllers", "snapshots")
            parts.enter_context(_ours(place, "controllers", cluster.kubeconfig, *flags))
        api = Api(cluster.url, cluster.ca_file, cluster.kubeconfig)
        yield parts.enter_context(_divided(share, find, api, kubectl, root))


@contextmanager
def _divided(
    share: Share, find: Find, api: Api, kubectl: Kubectl, root: Path
) -> Iterator[SidecarCluster]:
    """The driver, and whoever serves it."""
    with ExitStack() as parts:
        place = root.parent
        driver = parts.enter_context(HOST_PATH.start(find, place, NODE))
        parts.enter_context(HOST_PATH.offer(find, driver, root / "plugins_registry"))
        going = parts.enter_context(upstream(share.upstream, find, api, kubectl, driver))
        if share.sidecars:
            ours = parts.enter_context(_sidecars(share.sidecars, api, kubectl, driver))
            going = going | {place / "sidecar.log": ours}
        yield SidecarCluster(kubectl, root, driver, going)


@contextmanager
def _sidecars(
    roles: Sequence[str], api: Api, kubectl: Kubectl, driver: Running
) -> Iterator[Process]:
    """`mooring sidecar`, with the account and the rules that it prints itself."""
    place = driver.socket.parent.parent
    wanted = [word for role in roles for word in ("--for", role)]
    printed = subprocess.run(  # noqa: S603  our own program
        command("sidecar", "rbac", *wanted), check=True, capture_output=True, text=True
    )
    kubectl("apply", "-f-", given=printed.stdout)
    kubeconfig = place / "sidecar.kubeconfig"
    kubeconfig_of(OUR_ACCOUNT, NAMESPACE, kubectl, api.url, api.ca_file).write(kubeconfig)
    address = ("--csi-address", str(driver.socket), "--leader-election-namespace", NAMESPACE)
    with _ours(place, "sidecar", kubeconfig, *roles, *address) as process:
        yield process


def _ours(place: Path, word: str, kubeconfig: Path, *flags: str) -> AbstractContextManager[Process]:
    """A role of Mooring as a process of its own."""
    run = command(word, *flags, "--kubeconfig", str(kubeconfig), *QUIET)
    return running(run, place / word)
