"""Two API servers on one etcd charge one quota, while clients of both create and delete."""

import random
import threading
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from tests.conformance.etcd.members import etcd_cluster
from tests.conformance.etcd.servers import Client, NoAnswer, api_servers
from tests.conformance.etcd.test_faults import MAPS, a_map
from tests.conformance.etcd.test_random_kills import pause
from tests.conformance.obtain import Say
from tests.conformance.peers import FORGETFUL
from tests.fakes.real_server import ApiServer

QUOTAS = "/api/v1/namespaces/default/resourcequotas"
MOST = 6
SECONDS = 20.0
CLIENTS = 8


class Greedy(threading.Thread):
    """Creates what it may, and deletes it again soon."""

    def __init__(self, servers: list[ApiServer], number: int) -> None:
        super().__init__(daemon=True)
        self.granted = 0
        self._client = Client(servers, number % len(servers))
        self._number = number
        self._rng = random.Random(number)  # noqa: S311  a course of events, no secret

    def run(self) -> None:
        end = monotonic() + SECONDS
        mine: list[str] = []
        while monotonic() < end:
            with suppress(NoAnswer):
                name = f"greedy-{self._number}-{self.granted}"
                code, _ = self._client.ask("POST", MAPS, a_map(name))
                if code == 201:
                    self.granted += 1
                    mine.append(name)
                elif mine and self._rng.random() < 0.3:
                    self._client.ask("DELETE", f"{MAPS}/{mine.pop()}")
        self._client.close()


@pytest.mark.timeout(180)
def test_two_servers_grant_no_more_than_there_is(
    etcd_program: Path, tmp_path: Path, say: Say
) -> None:
    with (
        etcd_cluster(etcd_program, tmp_path / "etcd", 1, FORGETFUL) as members,
        api_servers(tmp_path / "api", members, 2) as servers,
    ):
        client = Client(servers, 0)
        doc = {"metadata": {"name": "few"}, "spec": {"hard": {"count/configmaps": str(MOST)}}}
        assert client.ask("POST", QUOTAS, doc)[0] == 201
        pause(2)
        greedy = [Greedy(servers, number) for number in range(CLIENTS)]
        for thread in greedy:
            thread.start()
        looks, most = 0, 0
        while any(thread.is_alive() for thread in greedy):
            code, listed = client.ask("GET", MAPS)
            assert code == 200, listed
            most = max(most, len(listed["items"]))
            looks += 1
        client.close()
    granted = sum(thread.granted for thread in greedy)
    say(f"{granted} granted, {most} at once of {MOST} in {looks} looks")
    assert most <= MOST
    assert granted > MOST
