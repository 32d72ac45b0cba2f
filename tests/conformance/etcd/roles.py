"""Two controllers and two schedulers on several API servers, work for them, and their deaths."""

import json
import random
import select
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from tests.clients.manifests import a_claim, a_node, a_pod, a_volume
from tests.clients.mooring_command import done
from tests.conformance.etcd.relay import Relay
from tests.conformance.etcd.servers import Client, Doc, NoAnswer
from tests.fakes.leaders import Held, of_two_leaders
from tests.fakes.real_server import ApiServer, command

ROLES = ("controllers", "scheduler")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
NODE_NAMES = [f"node-{number}" for number in range(3)]
TAKEN_OVER_SECONDS = 60.0
KEPT = 20  # sets of a volume, a claim and a pod before the oldest is deleted
_NO_CODE = 0


def lease_path(role: str) -> str:
    return f"{LEASES}/mooring-{role}"


class RoleProcess:
    """One candidate of a role, behind a relay of its own."""

    def __init__(self, role: str, number: int, relay: Relay, directory: Path) -> None:
        self.role = role
        self.name = f"{role}-{number}"
        self.relay = relay
        self._kubeconfig = directory / f"{self.name}.kubeconfig"
        self._log = directory / f"{self.name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self, server: ApiServer) -> None:
        at = ("--data-dir", server.data_dir, "--role", self.role, "--server", self.relay.url)
        done("kubeconfig", *at, "-o", self._kubeconfig)

    def start(self) -> None:
        run = command(self.role, "--kubeconfig", str(self._kubeconfig))
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
        return {write.holder for write in tuple(self.relay.acted) if write.holder}


@contextmanager
def role_processes(
    servers: Sequence[ApiServer], directory: Path
) -> Iterator[dict[str, list[RoleProcess]]]:
    """Two candidates of each role."""
    directory.mkdir()
    processes: dict[str, list[RoleProcess]] = {}
    with ExitStack() as stack:
        for role in ROLES:
            for number in range(2):
                relay = stack.enter_context(Relay(servers, number))
                process = RoleProcess(role, number, relay, directory)
                process.prepare(servers[0])
                stack.callback(process.kill)
                process.start()
                processes.setdefault(role, []).append(process)
        yield processes


class Holders(threading.Thread):
    """Follows the leases: every version of each."""

    def __init__(self, servers: Sequence[ApiServer]) -> None:
        super().__init__(name="holders", daemon=True)
        self.held: dict[str, list[Held]] = {role: [] for role in ROLES}
        self.flaws: list[str] = []
        self._client = Client(servers, 0)
        self._after = 1
        self._stopping = threading.Event()

    def holder(self, role: str) -> str:
        held = self.held[role]
        return held[-1].holder if held else ""

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        code, doc = self._client.ask("GET", LEASES)
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
        path = f"{LEASES}?watch=true&resourceVersion={self._after}&timeoutSeconds=10"
        with closing(self._client.stream(path)) as stream:
            while not self._stopping.is_set() and (line := stream.readline()):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    self.flaws.append(f"the watch of leases was told {event['object']}")
                    return
                self._after = int(event["object"]["metadata"]["resourceVersion"])
                self._take(event["object"])

    def _take(self, doc: Doc) -> None:
        role = doc["metadata"]["name"].removeprefix("mooring-")
        if role in self.held:
            revision = int(doc["metadata"]["resourceVersion"])
            self.held[role].append(Held(revision, doc["spec"].get("holderIdentity") or ""))


class Work(threading.Thread):
    """Makes volumes, claims and pods that use them, and deletes them again, until it is stopped."""

    def __init__(self, servers: Sequence[ApiServer]) -> None:
        super().__init__(name="work", daemon=True)
        self.made = 0
        self._client = Client(servers, 0)
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        allocatable = {"cpu": "1000", "memory": "1Ti", "pods": "1000"}
        for name in NODE_NAMES:
            self._ask("POST", NODES, a_node(name) | {"status": {"allocatable": allocatable}})
        while not self._stopping.is_set():
            self._make(f"w-{self.made}")
            self.made += 1
            if self.made > KEPT:
                self._unmake(f"w-{self.made - KEPT - 1}")
            self._stopping.wait(0.5)
        self._client.close()

    def _make(self, name: str) -> None:
        self._ask("POST", VOLUMES, a_volume(name))
        self._ask("POST", CLAIMS, a_claim(name))
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]
        self._ask("POST", PODS, a_pod(name, volumes=volumes))

    def _unmake(self, name: str) -> None:
        self._ask("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})
        self._ask("DELETE", f"{CLAIMS}/{name}")
        self._ask("DELETE", f"{VOLUMES}/{name}")

    def _ask(self, method: str, path: str, body: Doc | None = None) -> int:
        """Until there is an answer that stands; a repeated creation finds what it made."""
        while not self._stopping.is_set():
            with suppress(NoAnswer):
                code, _ = self._client.ask(method, path, body)
                if code not in (500, 503, 504):
                    return code
            self._stopping.wait(0.2)
        return _NO_CODE


class Fate(threading.Thread):
    """Kills leaders, and has them sleep until after another has taken over, at random."""

    def __init__(
        self, processes: dict[str, list[RoleProcess]], holders: Holders, seed: int
    ) -> None:
        super().__init__(name="fate", daemon=True)
        self.done: list[str] = []
        self.flaws: list[str] = []
        self._processes = processes
        self._holders = holders
        self._rng = random.Random(seed)  # noqa: S311  a course of events, no secret
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        while not self._stopping.wait(self._rng.uniform(1, 4)):
            role = self._rng.choice(ROLES)
            for process in self._processes[role]:
                process.keep_running()
            leader = self._leader(role)
            if leader is not None:
                self.done.append(self._rng.choice((self._kill, self._sleep))(leader))

    def _leader(self, role: str) -> RoleProcess | None:
        holder = self._holders.holder(role)
        return next((p for p in self._processes[role] if holder in p.identities), None)

    def _kill(self, leader: RoleProcess) -> str:
        leader.kill()
        self._stopping.wait(self._rng.uniform(0, 2))
        leader.start()
        self._until_another_leads(leader)
        return f"leader of {leader.role} killed"

    def _sleep(self, leader: RoleProcess) -> str:
        leader.send(signal.SIGSTOP)
        self._until_another_leads(leader)
        self._stopping.wait(self._rng.uniform(0, 2))
        leader.send(signal.SIGCONT)
        return f"leader of {leader.role} slept"

    def _until_another_leads(self, leader: RoleProcess) -> None:
        before = leader.identities
        for _ in range(int(TAKEN_OVER_SECONDS / 0.2)):
            if self._holders.holder(leader.role) not in {"", *before}:
                return
            if self._stopping.wait(0.2):
                return
        self.flaws.append(f"nobody took over from {leader.name} in {TAKEN_OVER_SECONDS} s")


def done_twice(
    processes: dict[str, list[RoleProcess]], holders: Holders, servers: Sequence[ApiServer]
) -> list[str]:
    """What two leaders of a role did; empty: nothing."""
    flaws = list(holders.flaws)
    bindings: Counter[str] = Counter()
    for role, candidates in processes.items():
        acted = {candidate.name: candidate.relay.acted for candidate in candidates}
        flaws += of_two_leaders(holders.held[role], acted, lease_path(role))
        for writes in acted.values():
            bindings.update(w.path for w in writes if w.path.endswith("/binding"))
    flaws += [f"{path} was done {times} times" for path, times in bindings.items() if times > 1]
    client = Client(servers, 0)
    claims, volumes = (client.ask("GET", path)[1]["items"] for path in (CLAIMS, VOLUMES))
    client.close()
    return [*flaws, *crossed(claims, volumes)]


def crossed(claims: Sequence[Doc], volumes: Sequence[Doc]) -> Iterator[str]:
    """Claims and volumes that do not belong to one another."""
    bound = {doc["metadata"]["uid"]: doc["spec"].get("volumeName") for doc in claims}
    owners = {doc["metadata"]["name"]: doc["spec"].get("claimRef") or {} for doc in volumes}
    for uid, name in bound.items():
        if name and owners.get(name, {}).get("uid") != uid:
            yield f"the claim {uid} has {name}, which belongs to {owners.get(name)}"
    for name, owner in owners.items():
        if bound.get(owner.get("uid", ""), name) not in (None, name):
            yield f"{name} is for {owner}, who has {bound[owner['uid']]}"
