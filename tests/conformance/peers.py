"""A real kube-apiserver on a real etcd, on loopback, for as long as the tests need it."""

import http.client
import select
import socket
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mooring.apiserver.auth.pki import Pki, open_pki
from mooring.apiserver.server import ISSUER
from mooring.clock import RealClock
from tests.conformance.asking import Client
from tests.conformance.obtain import ETCD, KUBE_APISERVER, Missing, Say, obtain

LOOPBACK = "127.0.0.1"
ADMIN_TOKEN = "admin-of-the-peer"
START_SECONDS = 120.0
STOP_SECONDS = 30.0
BETWEEN_TRIES = 0.2


@contextmanager
def kubernetes(directory: Path, say: Say) -> Iterator[Client]:
    """An empty cluster's API, asked as a member of `system:masters`. Raises Missing."""
    programs = obtain(ETCD, say), obtain(KUBE_APISERVER, say)
    directory.mkdir(parents=True, exist_ok=True)
    pki = open_pki(directory / "pki", now=RealClock().now(), host_name=LOOPBACK)
    with ExitStack() as running:
        store = running.enter_context(_etcd(programs[0], directory))
        port = _free_port()
        process = running.enter_context(
            _process([str(programs[1]), *_flags(pki, store, port, directory)], directory / "kube")
        )
        client = Client(
            "kubernetes",
            LOOPBACK,
            port,
            ssl.create_default_context(cafile=str(pki.ca_file)),
            ADMIN_TOKEN,
        )
        running.callback(client.close)
        _wait_until_ready(client, process, directory / "kube.log")
        yield client


@contextmanager
def _etcd(program: Path, directory: Path) -> Iterator[str]:
    """The URL of an etcd that forgets everything: it syncs nothing to the disk."""
    clients, peers = (f"http://{LOOPBACK}:{_free_port()}" for _ in range(2))
    command = [
        str(program),
        f"--data-dir={directory / 'etcd'}",
        "--unsafe-no-fsync",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
    ]
    with _process(command, directory / "etcd-process"):
        yield clients


def _flags(pki: Pki, store: str, port: int, directory: Path) -> Sequence[str]:
    tokens = directory / "tokens.csv"
    tokens.write_text(f'{ADMIN_TOKEN},admin,,"system:masters"\n')
    signing = pki.ca_file.with_name("service-account.key")
    checking = directory / "service-account.pub"
    public = pki.service_account_key.public_key()
    checking.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return (
        f"--etcd-servers={store}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={port}",
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
def _process(command: Sequence[str], name: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with its output in `<name>.log`; it is gone afterwards."""
    with name.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603  ours
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_ready(client: Client, process: subprocess.Popen[bytes], log: Path) -> None:
    clock = RealClock()
    give_up = clock.monotonic() + START_SECONDS
    while clock.monotonic() < give_up:
        if process.poll() is not None:
            raise Missing(f"kube-apiserver ended: {_tail(log)}")
        try:
            if client.ask("GET", "/readyz").code == 200:
                return
        except (OSError, http.client.HTTPException):
            client.close()
        select.select([], [], [], BETWEEN_TRIES)  # it tells nobody when it is ready
    raise Missing(f"kube-apiserver was not ready in time: {_tail(log)}")


def _tail(log: Path) -> str:
    return "\n".join(log.read_text().splitlines()[-5:])


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        return int(taken.getsockname()[1])
