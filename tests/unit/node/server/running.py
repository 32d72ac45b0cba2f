"""A node's server that really listens, over containers in memory."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from mooring.clock import Clock, RealClock
from mooring.model.container import Container
from mooring.model.keys import Key
from mooring.model.meta import ObjectMeta
from mooring.model.pod import Pod, PodSpec, PodStatus
from mooring.model.review import UserInfo
from mooring.node.server.access import Access, RequestAttributes
from mooring.node.server.certificate import make_certificate
from mooring.node.server.paths import FindPod
from mooring.node.server.serving import NodeServer, ServingOptions
from mooring.oci.contract import Containers, ContainerSpec, ExecOptions, Owner, RunAsUser
from tests.fakes.clock import VirtualClock
from tests.fakes.containers import FakeContainers, FakeSession
from tests.unit.client.certificates import Authority

HOST = "127.0.0.1"
POD = Key("team", "web")
UID = "11111111-2222-3333-4444-555555555555"
API_SERVER, MASTERS = "system:kube-apiserver", "system:masters"


@cache
def authority() -> Authority:
    return Authority()


def a_pod(uid: str = UID, **status: Any) -> Pod:
    containers = (Container(name="main"), Container(name="side"))
    return Pod(
        metadata=ObjectMeta(name=POD.name, namespace=POD.namespace, uid=uid),
        spec=PodSpec(containers=containers),
        status=PodStatus(**status),
    )


class Echo(FakeSession):
    """Says what it hears, and ends when that ends."""

    async def write(self, data: bytes) -> None:
        await super().write(data)
        self.say(data)

    async def end_input(self) -> None:
        await super().end_input()
        self.end()


class Stuck(FakeSession):
    """Never reads."""

    async def write(self, data: bytes) -> None:
        self.written += data[:1]
        await asyncio.get_running_loop().create_future()


class Programs(FakeContainers):
    """`programs` says which session a command gets."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.programs: dict[str, Callable[[ExecOptions], FakeSession]] = {
            "cat": Echo,
            "stuck": Stuck,
        }

    async def exec(self, id: str, wish: ExecOptions) -> FakeSession:
        program = self.programs.get(wish.args[0])
        if program is None:
            return await super().exec(id, wish)
        session = program(wish)
        self.sessions.append(session)
        return session


class Book:
    """`Identities` and `Rights`, from a list."""

    def __init__(self) -> None:
        self.users: dict[str, UserInfo] = {}
        self.rights: set[tuple[str, str, str]] = set()
        self.asked: list[str] = []

    async def find_user(self, token: str) -> UserInfo | None:
        self.asked.append(token)
        return self.users.get(token)

    async def may(self, user: UserInfo, attributes: RequestAttributes) -> bool:
        self.asked.append(f"{user.username} {attributes.verb} {attributes.subresource}")
        return (user.username, attributes.verb, attributes.subresource) in self.rights


class Served:
    """A server, and what its clients need."""

    def __init__(self, containers: Containers, find_pod: FindPod, book: Book, clock: Clock) -> None:
        certificate = make_certificate("n1", [HOST], RealClock().now())
        options = ServingOptions(HOST, 0, certificate, authority().pem)
        self.server = NodeServer(containers, find_pod, Access(book, book, clock), clock, options)

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.server.port}"

    def tls(self, name: str = API_SERVER, *groups: str) -> ssl.SSLContext:
        """Of a client; an empty name: without a certificate."""
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if name:
            shown = authority().certificate(name, groups=groups or (MASTERS,))
            with TemporaryDirectory() as directory:
                pem = Path(directory, "client.pem")
                pem.write_bytes(shown.pem + shown.key)
                context.load_cert_chain(pem)
        return context

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.server.listen()
        task = asyncio.create_task(self.server.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


class Node(Served):
    """A server over containers in memory."""

    def __init__(self, logs: Path) -> None:
        self.clock = VirtualClock()
        self.containers = Programs(self.clock)
        self.pods: dict[Key, Pod] = {POD: a_pod()}
        self.book = Book()
        self.logs = logs
        super().__init__(self.containers, self.pods.get, self.book, self.clock)

    async def run_container(self, name: str = "main", attempt: int = 0) -> str:
        """Its id; its log is empty."""
        log = self.logs / name / f"{attempt}.log"
        log.parent.mkdir(exist_ok=True)
        log.touch()
        spec = ContainerSpec(
            id=f"{attempt}{name}".encode().hex().ljust(64, "0"),
            owner=Owner(POD.namespace, POD.name, UID, name, attempt),
            image=None,
            args=("sleep",),
            environment=(),
            working_dir="/",
            user=RunAsUser(),
            hostname="web",
            log_path=log,
        )
        await self.containers.create(spec)
        await self.containers.start(spec.id)
        return spec.id

    @property
    def session(self) -> FakeSession:
        return self.containers.sessions[-1]


@asynccontextmanager
async def client_of(
    node: Served, tls: ssl.SSLContext | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=tls or node.tls())
    async with aiohttp.ClientSession(node.url, connector=connector) as session:
        yield session


def saying(out: bytes, error: bytes, code: int) -> Callable[[FakeSession], None]:
    """A command that writes to both of its streams, and ends."""

    def answer(session: FakeSession) -> None:
        session.say(out)
        session.say(error, 2)
        session.end(code)

    return answer
