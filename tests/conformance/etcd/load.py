"""Clients that read and write registers and watch them, and remember everything that they saw."""

import http.client
import json
import random
import select
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from time import monotonic

from tests.conformance.etcd.servers import Client, Doc, NoAnswer
from tests.fakes.real_server import ApiServer
from tests.fakes.versions import Operation, Read, Write

PATH = "/api/v1/namespaces/default/configmaps"
NO_VERSION = 0


class Worker(threading.Thread):
    """Reads, and writes what it has read with its number raised by one, if that is still there."""

    def __init__(
        self, servers: Sequence[ApiServer], registers: Sequence[str], number: int, seed: int
    ) -> None:
        super().__init__(name=f"worker-{number}", daemon=True)
        self.history: list[Operation] = []
        self.unexpected: list[str] = []
        self.unanswered = 0
        self._registers = registers
        self._client = Client(servers, number % len(servers))
        self._rng = random.Random(seed + number)  # noqa: S311  a course of events, no secret
        self._stopping = threading.Event()
        self._writes = 0

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        while not self._stopping.is_set():
            register = self._rng.choice(self._registers)
            try:
                found = self._read(register)
                if found is not None and self._rng.random() < 0.6:
                    self._write(register, found)
            except NoAnswer:
                self.unanswered += 1
                select.select([], [], [], 0.05)
            if self._rng.random() < 0.02:
                self._client.change_server()
        self._client.close()

    def _read(self, register: str) -> Doc | None:
        began = monotonic()
        code, doc = self._client.ask("GET", f"{PATH}/{register}")
        ended = monotonic()
        if code != 200:
            self._note_refusal("GET", code, doc)
            return None
        revision, data = int(doc["metadata"]["resourceVersion"]), doc["data"]
        number = int(data["number"])
        self.history.append(Read(register, began, ended, revision, number, data["value"]))
        return doc

    def _write(self, register: str, doc: Doc) -> None:
        expected = int(doc["metadata"]["resourceVersion"])
        self._writes += 1
        number, value = int(doc["data"]["number"]) + 1, f"{self.name}/{self._writes}"
        doc["data"] = {"number": str(number), "value": value}
        began = monotonic()
        revision = NO_VERSION
        try:
            code, answer = self._client.ask("PUT", f"{PATH}/{register}", doc)
        except NoAnswer:
            self.unanswered += 1
        else:
            if code == 200:
                revision = int(answer["metadata"]["resourceVersion"])
            elif code == 409:
                return  # certainly not written
            else:
                self._note_refusal("PUT", code, answer)
        self.history.append(Write(register, began, monotonic(), expected, number, value, revision))

    def _note_refusal(self, method: str, code: int, doc: Doc) -> None:
        """While a leader is elected etcd refuses; any other refusal is out of order."""
        if code not in (500, 503, 504):
            self.unexpected.append(f"{method}: {code} {doc.get('message')}")


class Watcher(threading.Thread):
    """Watches all registers, at another server when one breaks, from where it was."""

    def __init__(self, servers: Sequence[ApiServer], number: int, after: int) -> None:
        super().__init__(name=f"watcher-{number}", daemon=True)
        self.seen: list[tuple[str, int, int, str]] = []  # register, revision, number, value
        self.flaws: list[str] = []
        self.resumed = 0
        self.expired = 0
        self._after = after
        self._client = Client(servers, number % len(servers))
        self._stopping = threading.Event()

    @property
    def after(self) -> int:
        return self._after

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        while not self._stopping.is_set():
            with suppress(NoAnswer, OSError, ValueError, http.client.HTTPException):
                self._follow()
            self.resumed += 1
            self._client.change_server()
            select.select([], [], [], 0.05)
        self._client.close()

    def _follow(self) -> None:
        query = f"watch=true&resourceVersion={self._after}&labelSelector=register%3Dyes"
        stream = self._client.stream(f"{PATH}?{query}&timeoutSeconds=20&allowWatchBookmarks=true")
        with closing(stream):
            if stream.status != 200:
                return
            while not self._stopping.is_set() and (line := stream.readline()):
                self._take(json.loads(line))

    def _take(self, event: Doc) -> None:
        if event["type"] == "ERROR":
            if event["object"].get("code") == 410:
                self.expired += 1
                self.flaws.append(f"{self.name} was told 410 behind {self._after}")
            return
        metadata = event["object"]["metadata"]
        revision = int(metadata["resourceVersion"])
        if event["type"] == "BOOKMARK":
            if revision < self._after:
                self.flaws.append(f"a bookmark goes back from {self._after} to {revision}")
            self._after = max(self._after, revision)
            return
        if revision <= self._after:
            self.flaws.append(f"an event at {revision} came behind {self._after}")
        self._after = revision
        data = event["object"]["data"]
        self.seen.append((metadata["name"], revision, int(data["number"]), data["value"]))


def gaps(watcher: Watcher) -> list[str]:
    """Each version of a register has a number: none may be missing, none may come twice."""
    newest: dict[str, int] = {}
    found = []
    for register, revision, number, _ in watcher.seen:
        if register in newest and number != newest[register] + 1:
            found.append(
                f"{watcher.name}: {register} goes from {newest[register]} to {number} at {revision}"
            )
        newest[register] = number
    return found


def create_registers(client: Client, names: Sequence[str]) -> list[Operation]:
    history: list[Operation] = []
    for name in names:
        began = monotonic()
        data = {"number": "0", "value": "first"}
        metadata = {"name": name, "labels": {"register": "yes"}}
        code, doc = client.ask("POST", PATH, {"metadata": metadata, "data": data})
        assert code == 201, doc
        revision = int(doc["metadata"]["resourceVersion"])
        history.append(Write(name, began, monotonic(), 0, 0, "first", revision))
    return history
