"""What an API server does when its etcd has no quorum, is full, went back, or is not the one."""

import json
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Timer
from time import monotonic

import pytest

from mooring.apiserver.auth.pki import open_pki
from mooring.clock import RealClock
from tests.clients.mooring_command import mooring, refused
from tests.conformance.etcd import gateway
from tests.conformance.etcd.members import EtcdMember, etcd_cluster
from tests.conformance.etcd.servers import Client, NoAnswer, api_servers
from tests.conformance.etcd.test_random_kills import pause
from tests.conformance.peers import FORGETFUL, LOOPBACK, free_port, running
from tests.fakes.real_server import ApiServer

MAPS = "/api/v1/namespaces/default/configmaps"
SOON = 60.0  # seconds


def until(condition: Callable[[], bool], what: str) -> None:
    give_up = monotonic() + SOON
    while not condition():
        assert monotonic() < give_up, what
        pause(0.2)


def a_map(name: str, text: str = "x") -> dict[str, object]:
    return {"metadata": {"name": name}, "data": {"text": text}}


def code_of(client: Client, path: str) -> int:
    try:
        return client.ask("GET", path)[0]
    except (NoAnswer, ValueError):
        return 0


def test_without_a_quorum_nothing_is_acknowledged_and_caches_are_read(
    etcd_program: Path, tmp_path: Path
) -> None:
    with (
        etcd_cluster(etcd_program, tmp_path / "etcd", 3, FORGETFUL) as members,
        api_servers(tmp_path / "api", members, 1) as servers,
    ):
        client = Client(servers, 0)
        assert client.ask("POST", MAPS, a_map("before"))[0] == 201
        for member in members[:2]:
            member.kill()
        code, doc = client.ask("POST", MAPS, a_map("during"))
        assert code == 500, doc
        code, doc = client.ask("GET", f"{MAPS}/before")
        assert code == 500, doc
        code, doc = client.ask("GET", f"{MAPS}?resourceVersion=0")
        assert code == 200, doc
        until(lambda: servers[0].ask("GET", "/readyz/etcd").code == 500, "it says it is ready")
        for member in members[:2]:
            member.start()
        until(lambda: code_of(client, f"{MAPS}/before") == 200, "it does not recover")
        until(lambda: servers[0].ask("GET", "/readyz/etcd").code == 200, "it is not ready")
        assert client.ask("POST", MAPS, a_map("after"))[0] == 201
        client.close()


def test_a_full_etcd_is_read_takes_deletions_and_recovers(
    etcd_program: Path, tmp_path: Path
) -> None:
    flags = (*FORGETFUL, f"--quota-backend-bytes={8 << 20}")
    with (
        etcd_cluster(etcd_program, tmp_path / "etcd", 1, flags) as members,
        api_servers(tmp_path / "api", members, 1) as servers,
    ):
        client = Client(servers, 0)
        code, doc, made = 0, {"message": ""}, 0
        for number in range(40):
            code, doc = client.ask("POST", MAPS, a_map(f"m{number}", "x" * 900_000))
            if code != 201:
                break
            made += 1
        assert (code, doc["message"]) == (500, "etcdserver: mvcc: database space exceeded"), doc
        assert code_of(client, f"{MAPS}/m0") == 200
        assert code_of(client, MAPS) == 200
        for number in range(made - 1):
            code, doc = client.ask("DELETE", f"{MAPS}/m{number}")
            assert code == 200, doc
        gateway.compact(members[0])
        gateway.disarm(members[0])
        code, doc = client.ask("POST", MAPS, a_map("room", "x" * 900_000))
        assert code == 201, doc
        client.close()


def test_a_slow_etcd_makes_writes_slow_and_none_is_made_twice(
    etcd_program: Path, tmp_path: Path
) -> None:
    with (
        etcd_cluster(etcd_program, tmp_path / "etcd", 1, FORGETFUL) as members,
        api_servers(tmp_path / "api", members, 1) as servers,
    ):
        client = Client(servers, 0)
        assert client.ask("POST", MAPS, a_map("slow", "0"))[0] == 201
        revisions = []
        for number in range(1, 4):
            members[0].pause()
            wake = Timer(3, members[0].go_on)
            wake.start()
            began = monotonic()
            code, doc = client.ask("PUT", f"{MAPS}/slow", a_map("slow", str(number)))
            wake.join()
            assert (code, doc.get("data")) == (200, {"text": str(number)}), doc
            assert monotonic() - began > 2
            revisions.append(int(doc["metadata"]["resourceVersion"]))
        stored = gateway.read_kv(members[0], "/registry/configmaps/default/slow")
        assert int(stored["version"]) == 4, "each of the writes happened once"
        assert int(stored["mod_revision"]) == revisions[-1]
        client.close()


def test_what_was_compacted_while_a_server_slept_is_read_anew(
    etcd_program: Path, tmp_path: Path
) -> None:
    with (
        etcd_cluster(etcd_program, tmp_path / "etcd", 1, FORGETFUL) as members,
        api_servers(tmp_path / "api", members, 2) as servers,
    ):
        awake, asleep = servers
        client, other = Client(servers, 0), Client(servers[1:], 0)
        assert client.ask("POST", MAPS, a_map("kept"))[0] == 201
        _, before = other.ask("GET", MAPS)
        version = before["metadata"]["resourceVersion"]
        asleep.send(signal.SIGSTOP)
        for number in range(50):
            assert client.ask("POST", MAPS, a_map(f"m{number}"))[0] == 201
            assert client.ask("DELETE", f"{MAPS}/m{number}")[0] == 200
        gateway.compact(members[0])
        pause(15)  # longer than etcd keeps a connection that does not answer
        asleep.send(signal.SIGCONT)
        until(lambda: code_of(other, f"{MAPS}/kept") == 200, "it does not recover")
        code, now = other.ask("GET", MAPS)
        names = {item["metadata"]["name"] for item in now["items"]}
        assert (code, "kept" in names) == (200, True)
        assert not [name for name in names if name.startswith("m")]
        watch = f"{MAPS}?watch=true&resourceVersion={version}&timeoutSeconds=5"
        lines = [json.loads(line) for line in asleep.ask("GET", watch).body.splitlines()]
        gone = [line["object"].get("code") for line in lines if line["type"] == "ERROR"]
        assert gone == [410] or len(lines) == 100, "all that happened, or the news that it is lost"
        client.close()
        other.close()
        assert awake.is_running


def test_after_deletions_compaction_and_a_kill_revisions_go_on(
    etcd_program: Path, tmp_path: Path
) -> None:
    with (
        etcd_cluster(etcd_program, tmp_path / "etcd", 1) as members,
        api_servers(tmp_path / "api", members, 1) as servers,
    ):
        (member,), client = members, Client(servers, 0)
        for number in range(20):
            assert client.ask("POST", MAPS, a_map(f"m{number}"))[0] == 201
        for number in range(20):
            assert client.ask("DELETE", f"{MAPS}/m{number}")[0] == 200
        reached = gateway.revision(member)
        gateway.compact(member)
        member.kill()
        member.start()
        member.wait_until_it_answers()
        assert gateway.revision(member) >= reached
        until(lambda: code_of(client, MAPS) == 200, "it does not recover")
        code, doc = client.ask("POST", MAPS, a_map("next"))
        assert code == 201, doc
        assert int(doc["metadata"]["resourceVersion"]) > reached
        client.close()


def test_kinds_that_only_a_newer_server_knows_are_left_alone(
    etcd_program: Path, tmp_path: Path
) -> None:
    key, value = "/registry/newerthings/default/x", b'{"kind":"NewerThing","metadata":{"name":"x"}}'
    with (
        etcd_cluster(etcd_program, tmp_path / "etcd", 1, FORGETFUL) as members,
        api_servers(tmp_path / "api", members, 1) as servers,
    ):
        (member,), (server,) = members, servers
        gateway.put(member, key, value)
        assert server.ask("POST", MAPS, a_map("beside")).code == 201
        server.stop()
        server.start()
        assert server.ask("GET", "/readyz").code == 200
        assert server.ask("GET", f"{MAPS}/beside").code == 200
        assert gateway.read(member, key) == value


def go_back(member: EtcdMember, saved: Path) -> None:
    """As if a backup had been put in its place."""
    member.stop()
    shutil.rmtree(member.directory)
    shutil.copytree(saved, member.directory)
    member.start()
    member.wait_until_it_answers()


def test_an_etcd_that_went_back_is_refused_with_the_way_out(
    etcd_program: Path, tmp_path: Path
) -> None:
    with (
        etcd_cluster(etcd_program, tmp_path / "etcd", 1) as members,
        api_servers(tmp_path / "api", members, 1) as servers,
    ):
        (member,), (server,) = members, servers
        client = Client(servers, 0)
        assert client.ask("POST", MAPS, a_map("kept"))[0] == 201
        member.stop()
        saved = tmp_path / "saved"
        shutil.copytree(member.directory, saved)
        member.start()
        member.wait_until_it_answers()
        until(lambda: code_of(client, f"{MAPS}/kept") == 200, "it does not recover")
        for number in range(5):
            assert client.ask("POST", MAPS, a_map(f"lost-{number}"))[0] == 201
        go_back(member, saved)

        def is_refused() -> bool:
            code, doc = client.ask("POST", MAPS, a_map("other"))
            assert code == 500, doc
            return "restored from an older backup" in doc["message"]

        until(is_refused, "it does not notice")
        client.close()
        server.stop()
        flags = ("--data-dir", server.data_dir, "--etcd-servers", member.client_url)
        told = refused("apiserver", "--port", "0", *flags)
        assert "--bump-revision" in told, told
        (server.data_dir / "etcd-revision").unlink()
        server.start()
        assert server.ask("GET", f"{MAPS}/kept").code == 200


@pytest.mark.parametrize("written", [1, 30], ids=["behind", "overtaken"])
def test_a_backup_restored_under_running_servers_is_refused_by_all(
    written: int, etcd_program: Path, tmp_path: Path
) -> None:
    """What an operator restores may be older, or others may have written to it since."""
    with (
        etcd_cluster(etcd_program, tmp_path / "etcd", 1) as members,
        api_servers(tmp_path / "api", members, 2) as servers,
    ):
        (member,) = members
        clients = [Client([server], 0) for server in servers]
        assert clients[0].ask("POST", MAPS, a_map("kept", "0"))[0] == 201
        member.stop()
        saved = tmp_path / "saved"
        shutil.copytree(member.directory, saved)
        member.start()
        member.wait_until_it_answers()
        until(lambda: all(code_of(one, f"{MAPS}/kept") == 200 for one in clients), "no recovery")
        for number in range(10):
            assert clients[number % 2].ask("POST", MAPS, a_map(f"lost-{number}"))[0] == 201
        reached = gateway.revision(member)
        for server in servers:  # whoever restores does not think of them
            server.send(signal.SIGSTOP)
        go_back(member, saved)
        for number in range(written):
            gateway.put(member, f"/registry/configmaps/default/else-{number}", b"{}")
        assert (gateway.revision(member) > reached) is (written > 10)
        before = gateway.revision(member)
        for server in servers:
            server.send(signal.SIGCONT)
        for client, server in zip(clients, servers, strict=True):
            until(partial(is_refused, client), "it does not notice")
            assert code_of(client, f"{MAPS}/kept") == 500
            assert server.ask("GET", "/readyz/etcd").code == 500
            client.close()
        assert gateway.revision(member) - before <= len(servers), "its versions are given again"


def is_refused(client: Client) -> bool:
    """Whether the server says why nothing can be written. A write may be made before it looks."""
    code, doc = client.ask("POST", MAPS, {"metadata": {"generateName": "after-"}})
    return code == 500 and "restored from an older backup" in doc["message"]


@pytest.mark.timeout(120)
def test_etcd_over_tls_is_reached_by_those_who_know_its_authority(
    etcd_program: Path, tmp_path: Path
) -> None:
    now = RealClock().now()
    pki = open_pki(tmp_path / "pki", now=now, host_name=LOOPBACK)
    other = open_pki(tmp_path / "other", now=now, host_name=LOOPBACK)
    url, peer = (f"{scheme}://{LOOPBACK}:{free_port()}" for scheme in ("https", "http"))
    command = [
        str(etcd_program),
        f"--data-dir={tmp_path / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        f"--cert-file={pki.server_file}",
        f"--key-file={pki.server_file}",
    ]
    with running(command, tmp_path / "etcd-process"):
        known = ApiServer(
            tmp_path / "known", "--etcd-servers", url, "--etcd-cafile", str(pki.ca_file)
        )
        try:
            known.start()
            assert known.ask("POST", MAPS, a_map("mine")).code == 201
        finally:
            known.kill()
        flags = ("--etcd-servers", url, "--etcd-cafile", str(other.ca_file))
        ended = mooring("apiserver", "--data-dir", tmp_path / "unknown", "--port", "0", *flags)
        told = ended.stderr.splitlines()[-1]
        assert "etcd does not answer" in told, ended
        assert "certificate" in told.lower(), ended
