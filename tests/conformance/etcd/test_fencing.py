"""A leader sleeps until another has its role, and wakes in the middle of its work.

Real processes on two API servers of one etcd. Every write of theirs goes through a relay that
remembers it, every call to the driver is in its ledger: whoever did something without the lease is
found, and so is what was done twice.
"""

import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic

import pytest

from tests.clients.manifests import STORAGE, a_claim, a_class, a_node
from tests.conformance.etcd.candidates import (
    CONTROLLERS,
    SCHEDULER,
    Candidate,
    Candidates,
    Holders,
    Role,
    acted_beside_a_leader,
    another_leads,
    find_leader,
    two_of_each,
)
from tests.conformance.etcd.ledger_driver import NAME, read_ledger
from tests.conformance.etcd.members import etcd_cluster
from tests.conformance.etcd.role_load import CLAIMS, NODES, VOLUMES, Work, done_twice
from tests.conformance.etcd.servers import Client, Doc, NoAnswer, api_servers
from tests.conformance.etcd.test_random_kills import pause
from tests.conformance.obtain import Say
from tests.conformance.peers import FORGETFUL, START_SECONDS, running
from tests.fakes.leaders import called_beside_a_leader
from tests.fakes.real_server import ApiServer

ATTACHMENTS = f"/apis/{STORAGE}/volumeattachments"
CSI_NODES = f"/apis/{STORAGE}/csinodes"
NODE = "node-0"
CLASSES = f"/apis/{STORAGE}/storageclasses"
DRIVERS = f"/apis/{STORAGE}/csidrivers"
PROVISIONER = Role(
    "provisioner", f"default/{NAME.replace('.', '-')}", "sidecars", ("sidecar", "provisioner")
)
ATTACHER = Role(
    "attacher",
    f"default/external-attacher-leader-{NAME.replace('.', '-')}",
    "sidecars",
    ("sidecar", "attacher"),
)
SETTLE_SECONDS = 90.0
SLEEPS = 2  # of each role
Servers = list[ApiServer]


@pytest.fixture
def servers(etcd_program: Path, tmp_path: Path) -> Iterator[Servers]:
    with (
        etcd_cluster(etcd_program, tmp_path / "etcd", 1, FORGETFUL) as members,
        api_servers(tmp_path / "api", members, 2) as both,
    ):
        yield both


@contextmanager
def followed(servers: Servers, roles: Sequence[Role]) -> Iterator[Holders]:
    holders = Holders(servers, roles)
    holders.start()
    try:
        yield holders
    finally:
        holders.stop()
        holders.join(SETTLE_SECONDS)


def leader_of(candidates: Candidates, holders: Holders, role: Role) -> Candidate:
    give_up = monotonic() + SETTLE_SECONDS
    while monotonic() < give_up:
        if leader := find_leader(candidates, holders, role):
            return leader
        pause(0.1)
    raise AssertionError(f"nobody leads {role.name}")


def sleep_through_a_change(candidates: Candidates, holders: Holders, role: Role) -> None:
    leader = leader_of(candidates, holders, role)
    leader.send(signal.SIGSTOP)
    assert another_leads(leader, holders, pause), "nobody takes over"
    pause(1)
    leader.send(signal.SIGCONT)
    pause(3)
    leader.keep_running()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("role", [CONTROLLERS, SCHEDULER], ids=lambda role: role.name)
def test_who_wakes_behind_another_leader_writes_nothing(
    role: Role, servers: Servers, tmp_path: Path, say: Say
) -> None:
    roles = (CONTROLLERS, SCHEDULER)
    with (
        followed(servers, roles) as holders,
        two_of_each(roles, servers, tmp_path / "roles") as candidates,
    ):
        work = Work(servers)
        work.start()
        for _ in range(SLEEPS):
            sleep_through_a_change(candidates, holders, role)
        work.stop()
        work.join(SETTLE_SECONDS)
        pause(2)
        for both in candidates.values():
            for each in both:
                each.kill()
        pause(2)
        assert done_twice(candidates, holders, servers) == []
    say(f"{role.name}: {work.made} sets, writes {counted(candidates)}")
    assert all(len(each.relay.acted) > 10 for each in candidates[role]), "both have led"


def counted(candidates: Candidates) -> dict[str, int]:
    return {each.name: len(each.relay.acted) for both in candidates.values() for each in both}


def listens(path: Path) -> bool:
    with suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(path))
        return True
    return False


@contextmanager
def drivers(directory: Path, roles: Sequence[Role]) -> Iterator[dict[str, Path]]:
    """A socket for each candidate, so that the ledger says whose call it was."""
    directory.mkdir()
    sockets: dict[str, Path] = {}
    with ExitStack() as stack:
        for name in [f"{role.name}-{number}" for role in roles for number in range(2)]:
            path = sockets[name] = directory / f"{name}.sock"
            module = "tests.conformance.etcd.ledger_driver"
            arguments = [sys.executable, "-m", module, str(path), name, str(directory / "ledger")]
            stack.enter_context(running(arguments, directory / name))
        give_up = monotonic() + START_SECONDS
        while not all(listens(path) for path in sockets.values()):
            assert monotonic() < give_up, "the driver does not start"
            pause(0.1)
        yield sockets


class Orders:
    """Claims of the driver's class, and attachments of their volumes."""

    def __init__(self, servers: Servers) -> None:
        self._client = Client(servers, 0)
        self.made = 0
        self.attached: set[str] = set()
        attached_by = {"drivers": [{"name": NAME, "nodeID": NODE}]}
        for path, doc in (
            (NODES, a_node(NODE)),
            (CSI_NODES, {"metadata": {"name": NODE}, "spec": attached_by}),
            (DRIVERS, {"metadata": {"name": NAME}}),
            (CLASSES, a_class("ledger") | {"provisioner": NAME}),
        ):
            assert self.ask("POST", path, doc)[0] == 201

    def ask(self, method: str, path: str, body: Doc | None = None) -> tuple[int, Doc]:
        while True:
            with suppress(NoAnswer):
                code, doc = self._client.ask(method, path, body)
                if code < 500:
                    return code, doc
            pause(0.1)

    def make(self, count: int) -> None:
        for _ in range(count):
            claim = a_claim(f"c-{self.made}", storageClassName="ledger")
            assert self.ask("POST", CLAIMS, claim)[0] == 201
            self.made += 1

    def attach(self) -> None:
        """Every volume that is not yet."""
        for volume in self.volumes():
            name = volume["metadata"]["name"]
            if name not in self.attached:
                self.attached.add(name)
                source = {"persistentVolumeName": name}
                spec = {"attacher": NAME, "nodeName": NODE, "source": source}
                doc = {"metadata": {"name": f"a-{name}"}, "spec": spec}
                assert self.ask("POST", ATTACHMENTS, doc)[0] == 201

    def volumes(self) -> list[Doc]:
        return list(self.ask("GET", VOLUMES)[1]["items"])

    def is_done(self) -> bool:
        claims = self.ask("GET", CLAIMS)[1]["items"]
        attachments = self.ask("GET", ATTACHMENTS)[1]["items"]
        return (
            all(claim["status"].get("phase") == "Bound" for claim in claims)
            and len(attachments) == self.made
            and all((doc.get("status") or {}).get("attached") for doc in attachments)
        )

    def close(self) -> None:
        self._client.close()


@pytest.mark.timeout(600)
def test_sidecars_that_wake_behind_another_call_the_driver_no_more(
    servers: Servers, tmp_path: Path, say: Say
) -> None:
    sidecars = (PROVISIONER, ATTACHER)
    roles = (CONTROLLERS, *sidecars)
    with ExitStack() as stack:
        sockets = stack.enter_context(drivers(tmp_path / "csi", sidecars))
        orders = Orders(servers)
        stack.callback(orders.close)
        holders = stack.enter_context(followed(servers, roles))
        candidates = stack.enter_context(
            two_of_each((CONTROLLERS,), servers, tmp_path / "controllers")
        )
        for role in sidecars:
            extra = [("--csi-address", str(sockets[f"{role.name}-{n}"])) for n in range(2)]
            directory = tmp_path / role.name
            candidates |= stack.enter_context(two_of_each((role,), servers, directory, extra))
        for role in (*sidecars, *sidecars):
            leader_of(candidates, holders, role)
            orders.make(25)  # its work has hardly begun when it falls asleep
            orders.attach()
            sleep_through_a_change(candidates, holders, role)
        give_up = monotonic() + SETTLE_SECONDS
        while not orders.is_done():
            assert monotonic() < give_up, "the new leaders do not finish the work"
            orders.attach()
            pause(0.5)
        volumes = orders.volumes()
        called = read_ledger(tmp_path / "csi" / "ledger")
        for both in candidates.values():
            for each in both:
                each.kill()
        pause(2)
        assert acted_beside_a_leader(candidates, holders) == []
    for role in sidecars:
        acted = {each.name: each.relay.acted for each in candidates[role]}
        mine = [call for call in called if call.candidate in acted]
        assert called_beside_a_leader(mine, acted) == []
        say(f"{role.name}: {len(mine)} calls, writes {counted({role: candidates[role]})}")
        assert {call.candidate for call in mine} == set(acted), "both have led"
    asked_for = {call.volume for call in called if call.rpc == "CreateVolume"}
    assert {volume["spec"]["csi"]["volumeHandle"] for volume in volumes} == asked_for
    assert len(volumes) == len(asked_for) == orders.made
    assert not [call for call in called if call.rpc == "DeleteVolume"]
