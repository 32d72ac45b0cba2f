"""Work for controllers and schedulers, and the deaths of those that lead."""

import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

from tests.clients.manifests import a_claim, a_node, a_pod, a_volume
from tests.conformance.etcd.candidates import (
    TAKEN_OVER_SECONDS,
    Candidate,
    Candidates,
    Holders,
    acted_beside_a_leader,
    another_leads,
    find_leader,
)
from tests.conformance.etcd.servers import Client, Doc, NoAnswer
from tests.fakes.real_server import ApiServer

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
NODE_NAMES = [f"node-{number}" for number in range(3)]
KEPT = 20  # sets of a volume, a claim and a pod before the oldest is deleted
_NO_CODE = 0


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

    def __init__(self, candidates: Candidates, holders: Holders, seed: int) -> None:
        super().__init__(name="fate", daemon=True)
        self.done: list[str] = []
        self.flaws: list[str] = []
        self._candidates = candidates
        self._holders = holders
        self._rng = random.Random(seed)  # noqa: S311  a course of events, no secret
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        while not self._stopping.wait(self._rng.uniform(1, 4)):
            role = self._rng.choice(list(self._candidates))
            for candidate in self._candidates[role]:
                candidate.keep_running()
            leader = find_leader(self._candidates, self._holders, role)
            if leader is not None:
                self.done.append(self._rng.choice((self._kill, self._sleep))(leader))

    def _kill(self, leader: Candidate) -> str:
        leader.kill()
        self._stopping.wait(self._rng.uniform(0, 2))
        leader.start()
        self._see_another_lead(leader)
        return f"leader of {leader.role.name} killed"

    def _sleep(self, leader: Candidate) -> str:
        leader.send(signal.SIGSTOP)
        self._see_another_lead(leader)
        self._stopping.wait(self._rng.uniform(0, 2))
        leader.send(signal.SIGCONT)
        return f"leader of {leader.role.name} slept"

    def _see_another_lead(self, leader: Candidate) -> None:
        is_so = another_leads(leader, self._holders, self._stopping.wait)
        if not is_so and not self._stopping.is_set():
            self.flaws.append(f"nobody took over from {leader.name} in {TAKEN_OVER_SECONDS} s")


def done_twice(candidates: Candidates, holders: Holders, servers: Sequence[ApiServer]) -> list[str]:
    """What two leaders of a role did; empty: nothing."""
    bindings: Counter[str] = Counter()
    for both in candidates.values():
        for each in both:
            bindings.update(w.path for w in each.relay.acted if w.path.endswith("/binding"))
    twice = [f"{path} was done {times} times" for path, times in bindings.items() if times > 1]
    client = Client(servers, 0)
    claims, volumes = (client.ask("GET", path)[1]["items"] for path in (CLAIMS, VOLUMES))
    client.close()
    return [*acted_beside_a_leader(candidates, holders), *twice, *crossed(claims, volumes)]


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
