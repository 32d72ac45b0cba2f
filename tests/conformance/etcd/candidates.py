"""Several processes that stand for the lease of a role, on several API servers."""

import json
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import msgspec

from tests.clients.mooring_command import done
from tests.conformance.etcd.relay import Relay
from tests.conformance.etcd.servers import Client, Doc, NoAnswer
from tests.fakes.leaders import Held, of_two_leaders
from tests.fakes.real_server import ApiServer, command

LEASES = "/apis/coordination.k8s.io/v1/namespaces"
_EVERYWHERE = "/apis/coordination.k8s.io/v1/leases"
TAKEN_OVER_SECONDS = 60.0


class Role(msgspec.Struct, frozen=True):
    name: str
    lease: str  # namespace/name
    account: str  # whose rights it has
    arguments: tuple[str, ...]  # the command

    @property
    def lease_path(self) -> str:
        namespace, _, name = self.lease.partition("/")
        return f"{LEASES}/{namespace}/leases/{name}"


CONTROLLERS = Role(
    "controllers", "kube-system/mooring-controllers", "controllers", ("controllers",)
)
SCHEDULER = Role("scheduler", "kube-system/mooring-scheduler", "scheduler", ("scheduler",))


class Candidate:
    """One process of a role, behind a relay of its own."""

    def __init__(
        self, role: Role, number: int, relay: Relay, directory: Path, extra: Sequence[str] = ()
    ) -> None:
        self.role = role
        self.name = f"{role.name}-{number}"
        self.relay = relay
        self._extra = extra
        self._kubeconfig = directory / f"{self.name}.kubeconfig"
        self._log = directory / f"{self.name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self, server: ApiServer) -> None:
        at = ("--data-dir", server.data_dir, "--role", self.role.account)
        done("kubeconfig", *at, "--server", self.relay.url, "-o", self._kubeconfig)

    def start(self) -> None:
        kubeconfig = ("--kubeconfig", str(self._kubeconfig))
        run = command(*self.role.arguments, *self._extra, *kubeconfig)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(run, stdout=log, stderr=log)  # noqa: S603  our own

    def keep_running(self) -> None:
        """As a service manager does: a leader that lost its lease and hangs leaves."""
        if self._process is not None and self._process.poll() is not None:
            self.start()

    def send(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def identities(self) -> set[str]:
        """What it called itself, in all its lives."""
        return {write.holder for write in tuple(self.relay.acted) if write.holder}


Candidates = dict[Role, list[Candidate]]


@contextmanager
def two_of_each(
    roles: Sequence[Role],
    servers: Sequence[ApiServer],
    directory: Path,
    extra: Sequence[Sequence[str]] = ((), ()),
) -> Iterator[Candidates]:
    """Each begins at another server; `extra` are arguments of the first ones, and the second."""
    directory.mkdir()
    candidates: Candidates = {role: [] for role in roles}
    with ExitStack() as stack:
        for role in roles:
            for number in range(2):
                relay = stack.enter_context(Relay(servers, number))
                candidate = Candidate(role, number, relay, directory, extra[number])
                candidate.prepare(servers[0])
                stack.callback(candidate.kill)
                candidate.start()
                candidates[role].append(candidate)
        yield candidates


class Holders(threading.Thread):
    """Follows the leases: every version of each."""

    def __init__(self, servers: Sequence[ApiServer], roles: Sequence[Role]) -> None:
        super().__init__(name="holders", daemon=True)
        self.held: dict[Role, list[Held]] = {role: [] for role in roles}
        self.flaws: list[str] = []
        self._client = Client(servers, 0)
        self._after = 1
        self._stopping = threading.Event()

    def holder(self, role: Role) -> str:
        held = self.held[role]
        return held[-1].holder if held else ""

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        code, doc = self._client.ask("GET", _EVERYWHERE)
        assert code == 200, doc
        for item in doc["items"]:
            self._take(item)
        self._after = int(doc["metadata"]["resourceVersion"])
        while not self._stopping.is_set():
            with suppress(NoAnswer, OSError, ValueError, AttributeError):
                self._follow()
            self._client.change_server()
            select.select([], [], [], 0.05)
        self._client.close()

    def _follow(self) -> None:
        path = f"{_EVERYWHERE}?watch=true&resourceVersion={self._after}&timeoutSeconds=10"
        with closing(self._client.stream(path)) as stream:
            while not self._stopping.is_set() and (line := stream.readline()):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    self.flaws.append(f"the watch of leases was told {event['object']}")
                    return
                self._after = int(event["object"]["metadata"]["resourceVersion"])
                self._take(event["object"])

    def _take(self, doc: Doc) -> None:
        metadata = doc["metadata"]
        for role, held in self.held.items():
            if role.lease == f"{metadata['namespace']}/{metadata['name']}":
                holder = doc["spec"].get("holderIdentity") or ""
                held.append(Held(int(metadata["resourceVersion"]), holder))


def find_leader(candidates: Candidates, holders: Holders, role: Role) -> Candidate | None:
    holder = holders.holder(role)
    return next((each for each in candidates[role] if holder in each.identities), None)


def another_leads(leader: Candidate, holders: Holders, pause: Callable[[float], object]) -> bool:
    """Whether, after a while, somebody else holds the lease; or the same one, in a new life."""
    before = leader.identities
    for _ in range(int(TAKEN_OVER_SECONDS / 0.2)):
        if holders.holder(leader.role) not in {"", *before}:
            return True
        pause(0.2)
    return False


def acted_beside_a_leader(candidates: Candidates, holders: Holders) -> list[str]:
    """What was written by those who did not hold the lease; empty: nothing."""
    flaws = list(holders.flaws)
    for role, both in candidates.items():
        acted = {each.name: each.relay.acted for each in both}
        flaws += of_two_leaders(holders.held[role], acted, role.lease_path)
    return flaws
