"""Calls of etcd itself by its JSON gateway, as an operator makes them with etcdctl."""

import base64
import http.client
import json
import select
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from mooring.clock import RealClock
from tests.conformance.etcd.members import EtcdMember
from tests.conformance.peers import BETWEEN_TRIES, LOOPBACK

_PATIENCE = 30.0  # seconds

Doc = dict[str, Any]


def ask(member: EtcdMember, path: str, body: Doc) -> Doc:
    port = int(member.client_url.rpartition(":")[2])
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=_PATIENCE)
    try:
        connection.request("POST", f"/v3/{path}", json.dumps(body))
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        return dict(json.loads(content))
    finally:
        connection.close()


def leader(members: Sequence[EtcdMember]) -> EtcdMember:
    """Waits while there is none."""
    for _ in range(100):
        for member in members:
            status = ask(member, "maintenance/status", {})
            if status.get("leader", "0") == status["header"]["member_id"]:
                return member
        select.select([], [], [], BETWEEN_TRIES)
    raise AssertionError("no member leads")


def seconds_ahead(member: EtcdMember) -> float:
    """How much later than here it takes it for."""
    port = int(member.client_url.rpartition(":")[2])
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=_PATIENCE)
    try:
        connection.request("GET", "/health")
        told = connection.getresponse().getheader("Date")
        return (parsedate_to_datetime(told or "") - RealClock().now()).total_seconds()
    finally:
        connection.close()


def read_kv(member: EtcdMember, key: str) -> Doc:
    """Numbers in it are written as texts."""
    (kv,) = ask(member, "kv/range", {"key": _encoded(key.encode())})["kvs"]
    return dict(kv)


def read(member: EtcdMember, key: str) -> bytes:
    return base64.b64decode(read_kv(member, key)["value"])


def put(member: EtcdMember, key: str, value: bytes) -> None:
    ask(member, "kv/put", {"key": _encoded(key.encode()), "value": _encoded(value)})


def revision(member: EtcdMember) -> int:
    return int(ask(member, "kv/range", {"key": _encoded(b"none")})["header"]["revision"])


def compact(member: EtcdMember) -> None:
    """To the newest revision, and the space is given back."""
    ask(member, "kv/compaction", {"revision": str(revision(member)), "physical": True})
    ask(member, "maintenance/defragment", {})


def disarm(member: EtcdMember) -> None:
    alarms = ask(member, "maintenance/alarm", {"action": "GET"}).get("alarms", [])
    assert alarms, "there is no alarm"
    for alarm in alarms:
        ask(member, "maintenance/alarm", {"action": "DEACTIVATE", **alarm})


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
