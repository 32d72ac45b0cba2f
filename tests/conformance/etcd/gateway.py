"""Calls of etcd itself by its JSON gateway, as an operator makes them with etcdctl."""

import base64
import http.client
import json
from typing import Any

from tests.conformance.etcd.members import EtcdMember
from tests.conformance.peers import LOOPBACK

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
