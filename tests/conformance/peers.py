"""A real Kubernetes on a real etcd, on loopback, for as long as somebody needs it.

`kubernetes` is the API server alone; `controller_manager` runs Kubernetes' own controllers on it.
"""

import http.client
import json
import os
import select
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mooring.apiserver.auth.kubeconfig import Kubeconfig
from mooring.apiserver.auth.pki import Pki, open_pki
from mooring.apiserver.auth.tokens import Token
from mooring.apiserver.server import ISSUER
from mooring.clock import RealClock
from tests.conformance.asking import Client
from tests.conformance.obtain import (
    ETCD,
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    Missing,
    Program,
)

LOOPBACK = "127.0.0.1"
ADMIN_TOKEN = "admin-of-the-peer"
START_SECONDS = 120.0
STOP_SECONDS = 30.0
BETWEEN_TRIES = 0.2

FORGETFUL = ("--unsafe-no-fsync",)
"""For an etcd whose data nobody needs: it syncs nothing to the disk."""

VOLUME_CONTROLLERS = (
    "persistentvolume-binder-controller",
    "persistentvolume-expander-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
    "volumeattributesclass-protection-controller",
    "ephemeral-volume-controller",
)
"""Those whose work Mooring's controllers do too."""

HOUSEKEEPING = ("garbage-collector-controller", "serviceaccount-controller")
"""What Mooring's API server does by itself, and kube-apiserver does not."""

UNLIMITED = ("--kube-api-qps=10000", "--kube-api-burst=10000")

Find = Callable[[Program], Path]
"""Where a program is. Raises Missing."""


class Kubernetes(msgspec.Struct, frozen=True):
    """A running kube-apiserver, and how its administrator reaches it."""

    port: int
    ca_file: Path
    kubeconfig: Path
    directory: Path  # for whatever else runs on it
    host: str = LOOPBACK
    token: str = ADMIN_TOKEN

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}"

    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.ca_file))

    def client(self) -> Client:
        return Client("kubernetes", self.host, self.port, self.tls(), self.token)


@contextmanager
def kubernetes(
    directory: Path,
    find: Find,
    etcd_flags: Sequence[str] = FORGETFUL,
    program: Program = KUBE_APISERVER,
) -> Iterator[Kubernetes]:
    """An empty cluster's API; its administrator is in `system:masters`. Raises Missing."""
    etcd, apiserver = find(ETCD), find(program)
    directory.mkdir(parents=True, exist_ok=True)
    pki = open_pki(directory / "pki", now=RealClock().now(), host_name=LOOPBACK)
    with ExitStack() as parts:
        store = parts.enter_context(_etcd(etcd, etcd_flags, directory))
        yield parts.enter_context(kube_apiserver(apiserver, pki, store, directory))


@contextmanager
def kube_apiserver(
    program: Path, pki: Pki, store: str, directory: Path, flags: Sequence[str] = ()
) -> Iterator[Kubernetes]:
    """The API server alone, on the etcd at the address `store`. Raises Missing."""
    directory.mkdir(parents=True, exist_ok=True)
    cluster = _cluster(pki, directory)
    command = [str(program), *_flags(pki, store, cluster), *flags]
    with running(command, directory / "kube") as process:
        wait_until(cluster.client(), process, _is_ready, directory / "kube.log")
        yield cluster


@contextmanager
def controller_manager(
    cluster: Kubernetes,
    find: Find,
    controllers: Sequence[str] = VOLUME_CONTROLLERS,
    flags: Sequence[str] = (),
) -> Iterator[None]:
    """Kubernetes' own controllers on that cluster, awake. Raises Missing."""
    command = [
        str(find(KUBE_CONTROLLER_MANAGER)),
        f"--kubeconfig={cluster.kubeconfig}",
        f"--controllers={','.join(controllers)}",
        "--leader-elect=false",
        "--secure-port=0",
        *flags,
    ]
    name = cluster.directory / "kube-controller-manager"
    with running(command, name) as process:
        awake = binds if VOLUME_CONTROLLERS[0] in controllers else _keeps_house
        wait_until(cluster.client(), process, awake, name.with_suffix(".log"))
        yield


@contextmanager
def _etcd(program: Path, flags: Sequence[str], directory: Path) -> Iterator[str]:
    """The URL of an etcd."""
    clients, peers = (f"http://{LOOPBACK}:{free_port()}" for _ in range(2))
    command = [
        str(program),
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        *flags,
    ]
    with running(command, directory / "etcd-process"):
        yield clients


def _cluster(pki: Pki, directory: Path) -> Kubernetes:
    cluster = Kubernetes(free_port(), pki.ca_file, directory / "kubeconfig", directory)
    how = Kubeconfig(cluster.url, pki.ca_certificate, Token(cluster.token))
    how.write(cluster.kubeconfig)
    return cluster


def _flags(pki: Pki, store: str, cluster: Kubernetes) -> Sequence[str]:
    tokens = cluster.directory / "tokens.csv"
    tokens.write_text(f'{cluster.token},admin,,"system:masters"\n')
    signing = pki.ca_file.with_name("service-account.key")
    checking = cluster.directory / "service-account.pub"
    public = pki.service_account_key.public_key()
    checking.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return (
        f"--etcd-servers={store}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={cluster.port}",
        f"--tls-cert-file={pki.server_file}",
        f"--tls-private-key-file={pki.server_file}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={checking}",
        f"--service-account-signing-key-file={signing}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--endpoint-reconciler-type=none",
        "--allow-privileged=true",
    )


@contextmanager
def running(
    command: Sequence[str], name: Path, variables: Mapping[str, str] = {}
) -> Iterator[subprocess.Popen[bytes]]:
    """A process with its output in `<name>.log`; it is gone afterwards."""
    environment = {**os.environ, **variables}
    with name.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)  # noqa: S603
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_until(
    client: Client,
    process: subprocess.Popen[bytes],
    condition: Callable[[Client], bool],
    log: Path,
) -> None:
    """None of these programs tells when it is ready, so they are asked again and again.

    After: `client` is closed. Raises Missing when the process ends, or takes too long.
    """
    clock = RealClock()
    give_up = clock.monotonic() + START_SECONDS
    with closing(client):
        while clock.monotonic() < give_up:
            if process.poll() is not None:
                raise Missing(f"{log.stem} ended: {_tail(log)}")
            try:
                if condition(client):
                    return
            except (OSError, http.client.HTTPException):
                client.close()
            select.select([], [], [], BETWEEN_TRIES)
    raise Missing(f"{log.stem} was not ready in time: {_tail(log)}")


def _is_ready(client: Client) -> bool:
    return client.ask("GET", "/readyz").code == 200


def _keeps_house(client: Client) -> bool:
    return client.ask("GET", "/api/v1/namespaces/default/serviceaccounts/default").code == 200


def binds(client: Client) -> bool:
    """Whether a volume of nobody is looked at; it is gone afterwards."""
    path = "/api/v1/persistentvolumes"
    probe = {
        "metadata": {"name": "probe"},
        "spec": {
            "capacity": {"storage": "1"},
            "accessModes": ["ReadOnlyMany"],
            "storageClassName": "probe",
            "hostPath": {"path": "/nowhere"},
        },
    }
    as_json = {"Content-Type": "application/json"}
    found = client.ask("GET", f"{path}/probe")
    if found.code == 404:
        client.ask("POST", path, json.dumps(probe).encode(), as_json)
        return False
    if found.doc["status"]["phase"] != "Available":
        return False
    client.ask("DELETE", f"{path}/probe")
    return True


def _tail(log: Path) -> str:
    return "\n".join(log.read_text().splitlines()[-5:])


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        return int(taken.getsockname()[1])
