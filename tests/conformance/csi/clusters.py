"""Clusters with a node, on which somebody else's driver can register."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import msgspec
import pytest

from mooring.stack.credentials import kubeconfig_for
from tests.clients.containers import nothing_left_after
from tests.clients.csi import server_with_driver, short_directory
from tests.clients.find_kubectl import Age, find_kubectl
from tests.clients.find_kubectl import Missing as NoKubectl
from tests.clients.kubectl import Kubectl
from tests.clients.nodes import NODE, joined_node
from tests.conformance.asking import Client
from tests.conformance.csi.drivers import Peer, Running
from tests.conformance.peers import (
    HOUSEKEEPING,
    UNLIMITED,
    Find,
    Kubernetes,
    binds,
    controller_manager,
    kubernetes,
    running,
    wait_until,
)
from tests.fakes.real_server import RealServer, command

QUIET = ("--log-level", "warning")


class Cluster(msgspec.Struct, frozen=True):
    """With one node, that a driver was offered to."""

    kubectl: Kubectl
    node_root: Path
    driver: Running


Start = Callable[[Find, Peer, Path], AbstractContextManager[Cluster]]


def kubectl_of(kubeconfig: Path, home: Path) -> Kubectl:
    """Skips the test where there is none."""
    try:
        binary = find_kubectl(Age.USUAL)
    except NoKubectl as reason:
        pytest.skip(f"no kubectl: {reason}")
    return Kubectl(binary.path, binary.version, kubeconfig, home, "default")


@contextmanager
def in_one_process(find: Find, peer: Peer, home: Path) -> Iterator[Cluster]:
    """`mooring up`: it has sidecars for whoever registers. Raises Missing."""
    with short_directory() as place, server_with_driver() as server:
        root = server.node_root
        with (
            peer.start(find, place, NODE) as driver,
            peer.offer(find, driver, root / "plugins_registry"),
        ):
            yield Cluster(kubectl_of(server.kubeconfig, home), root, driver)


@contextmanager
def in_processes_apart(find: Find, peer: Peer, home: Path) -> Iterator[Cluster]:
    """API server with controllers and scheduler, a node, sidecars: each alone. Raises Missing."""
    with ExitStack() as parts:
        place = parts.enter_context(short_directory())
        server = RealServer(place / "d").start()
        parts.callback(server.kill)
        driver = parts.enter_context(peer.start(find, place, NODE))
        kubeconfig = place / "sidecars.kubeconfig"
        kubeconfig_for(server.data_dir, "sidecars").write(kubeconfig)
        parts.enter_context(sidecars(kubeconfig, driver, place))
        parts.enter_context(joined_node(server, NODE, place, flags=("--host-rootfs",)))
        root = place / NODE
        parts.enter_context(peer.offer(find, driver, root / "plugins_registry"))
        yield Cluster(kubectl_of(server.kubeconfig, home), root, driver)


@contextmanager
def on_kubernetes(find: Find, peer: Peer, home: Path) -> Iterator[Cluster]:
    """kube-apiserver, and all else is Mooring's. Raises Missing."""
    with ExitStack() as parts:
        place = parts.enter_context(short_directory())
        api = parts.enter_context(kubernetes(place / "k", find))
        parts.enter_context(controller_manager(api, find, HOUSEKEEPING, UNLIMITED))
        parts.enter_context(controllers(api))
        driver = parts.enter_context(peer.start(find, place, NODE))
        parts.enter_context(sidecars(api.kubeconfig, driver, place))
        root = place / "n"
        parts.enter_context(nothing_left_after(root))
        parts.enter_context(node(api, root))
        parts.enter_context(peer.offer(find, driver, root / "plugins_registry"))
        yield Cluster(kubectl_of(api.kubeconfig, home), root, driver)


@contextmanager
def controllers(api: Kubernetes) -> Iterator[None]:
    """`mooring controllers`, at work."""
    run = command("controllers", "--kubeconfig", str(api.kubeconfig), "--no-leader-elect", *QUIET)
    name = api.directory / "controllers"
    with running(run, name) as process:
        wait_until(api.client(), process, binds, name.with_suffix(".log"))
        yield


@contextmanager
def sidecars(kubeconfig: Path, driver: Running, place: Path) -> Iterator[None]:
    """`mooring sidecar provisioner attacher` for one driver, with leases."""
    run = command(
        *("sidecar", "provisioner", "attacher", "--csi-address", str(driver.socket)),
        *("--kubeconfig", str(kubeconfig), *QUIET),
    )
    with running(run, place / "sidecars"):
        yield


@contextmanager
def node(api: Kubernetes, root: Path) -> Iterator[None]:
    """`mooring node`, ready."""
    run = command(
        *("node", "--kubeconfig", str(api.kubeconfig), "--node-name", NODE),
        *("--root-dir", str(root), "--host-rootfs", *QUIET),
    )
    name = api.directory / "node"
    with running(run, name) as process:
        wait_until(api.client(), process, _has_ready_node, name.with_suffix(".log"))
        yield


def _has_ready_node(client: Client) -> bool:
    found = client.ask("GET", f"/api/v1/nodes/{NODE}")
    conditions = found.doc.get("status", {}).get("conditions", ()) if found.code == 200 else ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
