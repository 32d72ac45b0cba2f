"""The clusters that stories are played on."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from mooring.stack.credentials import kubeconfig_for
from tests.conformance.asking import Client
from tests.conformance.controllers.play import RESYNC
from tests.conformance.controllers.stage import Cluster
from tests.conformance.peers import (
    HOUSEKEEPING,
    UNLIMITED,
    VOLUME_CONTROLLERS,
    Find,
    Kubernetes,
    binds,
    controller_manager,
    kubernetes,
    running,
    wait_until,
)
from tests.fakes.real_server import ApiServer, command

THEIRS = "kubernetes"
OURS = "mooring"
OURS_ON_THEIRS = "mooring's controllers on kubernetes"

_FLAGS = (
    *UNLIMITED,
    f"--pvclaimbinder-sync-period={RESYNC}",
    "--enable-hostpath-provisioner",
)


RELEASE = ("--kubernetes-version", "1.35")
"""Of kube-controller-manager, for Mooring to follow."""


@contextmanager
def kubernetes_alone(directory: Path, find: Find) -> Iterator[Cluster]:
    """Kubernetes with its own controllers. Raises Missing."""
    with kubernetes(directory, find) as api:
        controllers = (*VOLUME_CONTROLLERS, *HOUSEKEEPING)
        with controller_manager(api, find, controllers, _FLAGS):
            yield _cluster(THEIRS, api)


@contextmanager
def kubernetes_with_ours(directory: Path, find: Find) -> Iterator[Cluster]:
    """kube-apiserver, and Mooring's controllers in place of Kubernetes' own. Raises Missing."""
    with (
        kubernetes(directory, find) as api,
        controller_manager(api, find, HOUSEKEEPING, UNLIMITED),
        _mooring_controllers(api.kubeconfig, api.client(), directory / "mooring.log"),
    ):
        yield _cluster(OURS_ON_THEIRS, api)


@contextmanager
def mooring_alone(directory: Path) -> Iterator[Cluster]:
    """Mooring's API server and, in a process of their own, its controllers. Raises Missing."""
    server = ApiServer(directory / "data", *RELEASE).start()
    with ExitStack() as parts:
        parts.callback(server.stop)
        kubeconfig = directory / "controllers.kubeconfig"
        kubeconfig_for(server.data_dir, "controllers").write(kubeconfig)
        client = Client(OURS, server.host, server.port, server.tls(), server.token())
        log = directory / "mooring.log"
        parts.enter_context(_mooring_controllers(kubeconfig, client, log))
        yield Cluster(OURS, server.url, server.tls(), server.token())


def _cluster(name: str, api: Kubernetes) -> Cluster:
    return Cluster(name, api.url, api.tls(), api.token)


@contextmanager
def _mooring_controllers(kubeconfig: Path, client: Client, log: Path) -> Iterator[None]:
    """`mooring controllers`, at work; directories are made where Kubernetes makes them."""
    flags = ("--no-leader-elect", "--enable-hostpath-provisioner", "--log-level", "info", *RELEASE)
    run = command("controllers", "--kubeconfig", str(kubeconfig), *flags)
    with running(run, log.with_suffix(""), {"TMPDIR": "/tmp"}) as process:  # noqa: S108
        wait_until(client, process, binds, log)
        yield
