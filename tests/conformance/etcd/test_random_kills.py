"""Three members, three API servers, two of each role, and somebody who kills and stops them at
random under load.

Every answer is remembered and judged afterwards. Half a minute by default;
MOORING_ETCD_SECONDS=1800 for half an hour, MOORING_ETCD_SEED for another course of events.
"""

import os
import random
import select
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

import msgspec
import pytest

from tests.conformance.etcd.candidates import (
    CONTROLLERS,
    SCHEDULER,
    Candidates,
    Holders,
    two_of_each,
)
from tests.conformance.etcd.load import (
    PATH,
    Watcher,
    Worker,
    create_registers,
    gaps,
)
from tests.conformance.etcd.members import EtcdMember, etcd_cluster
from tests.conformance.etcd.role_load import Fate, Work, done_twice
from tests.conformance.etcd.servers import Client, api_servers
from tests.conformance.obtain import Say
from tests.conformance.peers import FORGETFUL
from tests.fakes.real_server import ApiServer
from tests.fakes.versions import Operation, Read, Write, flaws

SECONDS = float(os.environ.get("MOORING_ETCD_SECONDS", "30"))
SEED = int(os.environ.get("MOORING_ETCD_SEED", "1"))
REGISTERS = [f"register-{number}" for number in range(5)]
ROLES = (CONTROLLERS, SCHEDULER)
WORKERS = 6
SETTLE_SECONDS = 60.0


def pause(seconds: float) -> None:
    select.select([], [], [], seconds)


class Chaos:
    """One member at most is down at a time, and one server: a majority and an answer remain."""

    def __init__(
        self, members: Sequence[EtcdMember], servers: Sequence[ApiServer], seed: int
    ) -> None:
        self._members = members
        self._servers = servers
        self._rng = random.Random(seed)  # noqa: S311  a course of events, no secret
        self.done: list[str] = []

    def step(self) -> None:
        faults: list[Callable[[], str]] = [
            self._kill_member,
            self._pause_member,
            self._kill_server,
            self._pause_server,
        ]
        self.done.append(self._rng.choice(faults)())

    def _kill_member(self) -> str:
        member = self._rng.choice(self._members)
        member.kill()
        pause(self._rng.uniform(0.2, 3))
        member.start()
        member.wait_until_it_answers()
        return f"{member.name} killed"

    def _pause_member(self) -> str:
        member = self._rng.choice(self._members)
        member.pause()
        pause(self._rng.uniform(0.2, 4))
        member.go_on()
        member.wait_until_it_answers()
        return f"{member.name} paused"

    def _kill_server(self) -> str:
        server = self._rng.choice(self._servers)
        server.kill()
        pause(self._rng.uniform(0, 1))
        server.start()
        return f"{server.data_dir.name} killed"

    def _pause_server(self) -> str:
        server = self._rng.choice(self._servers)
        server.send(signal.SIGSTOP)
        pause(self._rng.uniform(0.2, 4))
        server.send(signal.SIGCONT)
        return f"{server.data_dir.name} paused"


class Outcome(msgspec.Struct, frozen=True):
    """Everything that happened; by then all is well again and all watchers came to the end."""

    history: list[Operation]
    workers: list[Worker]
    watchers: list[Watcher]
    done: list[str]
    sets: int  # of a volume, a claim and a pod
    of_roles: list[str]  # flaws


def run_load(
    members: Sequence[EtcdMember],
    servers: Sequence[ApiServer],
    candidates: Candidates,
) -> Outcome:
    client = Client(servers, 0)
    history = create_registers(client, REGISTERS)
    client.close()
    start = max(operation.revision for operation in history)
    workers = [Worker(servers, REGISTERS, number, SEED) for number in range(WORKERS)]
    watchers = [Watcher(servers, number, start) for number in range(len(servers))]
    holders, work = Holders(servers, ROLES), Work(servers)
    fate = Fate(candidates, holders, SEED)
    for thread in (*workers, *watchers, holders, work, fate):
        thread.start()
    chaos = Chaos(members, servers, SEED)
    end = monotonic() + SECONDS
    while monotonic() < end:
        pause(1)
        chaos.step()
    for ending in (fate, work):
        ending.stop()
        ending.join(SETTLE_SECONDS)
    pause(2)
    for worker in workers:
        worker.stop()
    for worker in workers:
        worker.join(SETTLE_SECONDS)
        history += worker.history
    of_roles = [*fate.flaws, *judge_roles(servers, candidates, holders)]
    newest = last_read(servers, history)
    give_up = monotonic() + SETTLE_SECONDS
    while any(watcher.after < newest for watcher in watchers) and monotonic() < give_up:
        pause(0.2)
    for watcher in watchers:
        watcher.stop()
    for watcher in watchers:
        watcher.join(SETTLE_SECONDS)
    return Outcome(history, workers, watchers, chaos.done + fate.done, work.made, of_roles)


def judge_roles(
    servers: Sequence[ApiServer], candidates: Candidates, holders: Holders
) -> list[str]:
    """Nobody acts any more, and the leases were followed to the end."""
    for both in candidates.values():
        for candidate in both:
            candidate.kill()
    pause(2)
    holders.stop()
    holders.join(SETTLE_SECONDS)
    return done_twice(candidates, holders, servers)


def last_read(servers: Sequence[ApiServer], history: list[Operation]) -> int:
    """Each server is asked for each register, one after the other; the newest revision."""
    newest = 0
    for number in range(len(servers)):
        client = Client(servers[number : number + 1], 0)
        for register in REGISTERS:
            began = monotonic()
            code, doc = client.ask("GET", f"{PATH}/{register}")
            assert code == 200, doc
            revision, data = int(doc["metadata"]["resourceVersion"]), doc["data"]
            history.append(
                Read(register, began, monotonic(), revision, int(data["number"]), data["value"])
            )
            newest = max(newest, revision)
        client.close()
    return newest


def _counted(done: list[str]) -> str:
    return ", ".join(f"{fault} {times} times" for fault, times in sorted(Counter(done).items()))


@pytest.mark.timeout(SECONDS + 300)
def test_nothing_is_lost_or_stale_while_members_and_servers_die(
    etcd_program: Path, tmp_path: Path, say: Say
) -> None:
    with (
        etcd_cluster(etcd_program, tmp_path / "etcd", 3, FORGETFUL) as members,
        api_servers(tmp_path / "api", members, 3) as servers,
        two_of_each(ROLES, servers, tmp_path / "roles") as candidates,
    ):
        outcome = run_load(members, servers, candidates)
        acted = {role.name: [len(c.relay.acted) for c in candidates[role]] for role in ROLES}
    history, workers, watchers = outcome.history, outcome.workers, outcome.watchers
    written = [o for o in history if isinstance(o, Write) and o.revision]
    unknown = sum(isinstance(o, Write) and not o.revision for o in history)
    say(
        f"{len(history)} operations, {len(written)} writes acknowledged, {unknown} unknown, "
        f"{sum(worker.unanswered for worker in workers)} unanswered; {_counted(outcome.done)}; "
        f"watches resumed {[watcher.resumed for watcher in watchers]}, "
        f"events {[len(watcher.seen) for watcher in watchers]}; "
        f"{outcome.sets} sets of a volume, a claim and a pod, writes of the roles {acted}"
    )
    assert [flaw for worker in workers for flaw in worker.unexpected] == []
    assert flaws(history) == []
    assert [flaw for watcher in watchers for flaw in (*watcher.flaws, *gaps(watcher))] == []
    acknowledged = {(o.register, o.revision, o.number, o.value) for o in written if o.number}
    for watcher in watchers:
        assert acknowledged <= set(watcher.seen), f"{watcher.name} has not seen all"
    assert outcome.of_roles == []
    assert len(written) > 100
