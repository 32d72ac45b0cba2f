"""Two API servers on one etcd, which is a fake: `tests/conformance/etcd` has a real one."""

import shutil
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from tests.clients.mooring_command import done, mooring, refused
from tests.fakes.etcd.serve import etcd_process
from tests.fakes.real_server import ApiServer

SHARED = ("pki/ca.crt", "pki/ca.key", "pki/service-account.key", "tokens.json")
MAPS = "/api/v1/namespaces/default/configmaps"
BOATS = "/apis/harbor.example.com/v1/namespaces/default/boats"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "boats.harbor.example.com"},
    "spec": {
        "group": "harbor.example.com",
        "names": {"plural": "boats", "kind": "Boat"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


@pytest.fixture
def etcd() -> Iterator[str]:
    with etcd_process() as url:
        yield url


def share_keys(source: Path, target: Path) -> None:
    (target / "pki").mkdir(parents=True, mode=0o700)
    target.chmod(0o700)
    for name in SHARED:
        shutil.copy2(source / name, target / name)


def test_what_one_server_wrote_the_other_has(etcd: str, tmp_path: Path) -> None:
    one = ApiServer(tmp_path / "one", "--etcd-servers", etcd)
    two = ApiServer(tmp_path / "two", "--etcd-servers", etcd)
    try:
        one.start()
        share_keys(one.data_dir, two.data_dir)
        two.start()
        for number in range(20):
            body = {"metadata": {"name": f"m{number}"}, "data": {"n": str(number)}}
            writer, reader = (one, two) if number % 2 else (two, one)
            written = writer.ask("POST", MAPS, body)
            assert written.code == 201, written.body
            found = reader.ask("GET", f"{MAPS}/m{number}")
            assert found.code == 200, found.body
            assert found.doc["metadata"] == written.doc["metadata"]
        defined = one.ask(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION
        )
        assert defined.code == 201, defined.body
        boat = {"apiVersion": "harbor.example.com/v1", "kind": "Boat", "metadata": {"name": "b"}}
        sailed = two.ask("POST", BOATS, boat)
        assert sailed.code in (201, 404), sailed.body  # established a moment after it was created
        ready = two.ask("GET", "/readyz?verbose")
        assert (ready.code, b"[+]etcd ok" in ready.body) == (200, True), ready.body
        stale = one.ask("GET", f"{MAPS}/m0").doc
        assert two.ask("PUT", f"{MAPS}/m0", {**stale, "data": {"n": "new"}}).code == 200
        conflict = one.ask("PUT", f"{MAPS}/m0", {**stale, "data": {"n": "other"}})
        assert conflict.code == 409, conflict.body
        one.kill()
        assert two.ask("GET", f"{MAPS}/m0").doc["data"] == {"n": "new"}
    finally:
        one.kill()
        two.kill()


def test_a_server_without_the_keys_of_the_others_does_not_start(etcd: str, tmp_path: Path) -> None:
    one = ApiServer(tmp_path / "one", "--etcd-servers", etcd)
    stranger, flags = tmp_path / "two", ("--port", "0", "--etcd-servers", etcd)
    try:
        one.start()
        ended = mooring("apiserver", *flags, "--data-dir", stranger)
        told = ended.stderr.splitlines()[-1]  # after it has said that it read etcd
        holds = f"mooring: etcd holds the objects of other API servers, and {stranger} lacks"
        assert (ended.returncode, told.startswith(holds)) == (1, True), ended.stderr
        assert "copy pki/ca.crt, pki/ca.key, pki/service-account.key, tokens.json from" in told
        assert not (stranger / "pki").exists()
    finally:
        one.kill()


def test_of_two_first_servers_one_gives_way(etcd: str, tmp_path: Path) -> None:
    servers = [ApiServer(tmp_path / name, "--etcd-servers", etcd) for name in ("one", "two")]
    try:
        with ThreadPoolExecutor(len(servers)) as pool:
            running = {pool.submit(one.launch().wait, 30): one for one in servers}
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for one in servers:
                one.kill()
    finally:
        for one in servers:
            one.kill()
    (loser,) = ended
    assert loser.result() == 1
    told = running[loser].log.read_text().splitlines()[-1]
    assert "etcd holds the objects of other API servers" in told


def test_objects_move_from_sqlite_to_etcd(etcd: str, tmp_path: Path) -> None:
    server = ApiServer(tmp_path / "data").start()
    try:
        made = server.ask("POST", MAPS, {"metadata": {"name": "mine"}, "data": {"a": "b"}})
        assert made.code == 201, made.body
    finally:
        server.stop()
    flags = ("--data-dir", str(server.data_dir), "--etcd-servers", etcd)
    told = done("migrate", "--from", "sqlite", "--to", "etcd", *flags)
    assert "objects are in etcd under /registry now" in told
    without = refused("apiserver", "--port", "0", "--data-dir", server.data_dir)
    assert without.startswith(f"the objects of {server.data_dir} are in etcd: run `mooring")
    moved = ApiServer(server.data_dir, "--etcd-servers", etcd).start()
    try:
        found = moved.ask("GET", f"{MAPS}/mine")
        assert found.code == 200, found.body
        assert found.doc["metadata"]["uid"] == made.doc["metadata"]["uid"]
    finally:
        moved.kill()
