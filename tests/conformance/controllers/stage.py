"""A cluster with its controllers, watched as a whole, and the parts of it that single plays use."""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import aiohttp
import msgspec

from tests.conformance.controllers.story import MERGE, Act, Doc

KINDS: Final[Mapping[str, str]] = {
    "volume": "/api/v1/persistentvolumes",
    "claim": "/api/v1/persistentvolumeclaims",
    "pod": "/api/v1/pods",
    "attributes class": "/apis/storage.k8s.io/v1/volumeattributesclasses",
    "event": "/api/v1/events",
}
"""What is watched."""

RESTLESS_SECONDS = 30.0
MOST_CHANGES = 150  # in one step; whoever makes more runs hot

_UID = re.compile(r"\$uid\[([\w-]+)\]")


class Restless(Exception):
    """The controllers did not come to rest."""


class Seen(msgspec.Struct):
    """An object as it was last seen, and which of its name it is."""

    kind: str
    label: str  # kind, short name, and the number of its life if it is not the first
    doc: Doc


class Stage:
    """What one play sees of a cluster."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.present: dict[str, Seen] = {}  # by uid
        self.labels: dict[str, str] = {}  # by uid, of all that ever were
        self.paths: set[str] = set()  # directories that were made for volumes
        self._lives: dict[str, int] = {}
        self._changed = asyncio.Event()
        self._changes = 0

    def owns(self, kind: str, doc: Doc) -> bool:
        metadata = doc["metadata"]
        if kind == "event":
            return doc["involvedObject"].get("uid", "") in self.labels
        return (
            metadata.get("namespace") == self.name
            or re.match(rf"(recycler-for-)?{self.name}-", metadata["name"]) is not None
            or doc.get("spec", {}).get("claimRef", {}).get("namespace") == self.name
        )

    def take(self, kind: str, doc: Doc, *, is_gone: bool) -> None:
        uid = doc["metadata"]["uid"]
        if is_gone:
            self.present.pop(uid, None)
        else:
            self.present[uid] = Seen(kind, self._label(kind, doc), doc)
            if path := doc.get("spec", {}).get("hostPath", {}).get("path"):
                self.paths.add(path)
        self.stir()

    def stir(self) -> None:
        """Something happened."""
        self._changes += 1
        self._changed.set()

    def _label(self, kind: str, doc: Doc) -> str:
        uid = doc["metadata"]["uid"]
        if uid not in self.labels:
            name = f"{kind} {self.blur(doc['metadata']['name']).removeprefix('$s-')}"
            self._lives[name] = life = self._lives.get(name, 0) + 1
            self.labels[uid] = name if life == 1 else f"{name} #{life}"
        return self.labels[uid]

    def blur(self, text: str) -> str:
        """Without what this play has to itself: uids are the names of their objects."""
        for uid, label in self.labels.items():
            text = text.replace(uid, f"<{label}>")
        return re.sub(rf"\b{self.name}\b", "$s", text)

    def fill(self, text: str) -> str:
        """With what the story left open."""
        text = _UID.sub(lambda found: self._uid_of(f"claim {found[1]}"), text)
        return text.replace("$s", self.name)

    def _uid_of(self, name: str) -> str:
        """Of the object of that name that came last."""
        uids = [uid for uid, label in self.labels.items() if label.partition(" #")[0] == name]
        return uids[-1] if uids else "nobody"

    def find(self, label: str) -> Doc | None:
        return next((seen.doc for seen in self.present.values() if seen.label == label), None)

    async def settle(self, quiet: float) -> None:
        """Wait until nothing has changed for so many seconds. Raises: Restless.

        A volume that nobody has looked at is no rest: Mooring takes its time with those while it
        has anything else to do.
        """
        self._changes = 0
        try:
            async with asyncio.timeout(RESTLESS_SECONDS):
                while await self._is_stirred_within(quiet) or self._has_new_volume():
                    if self._changes > MOST_CHANGES:
                        raise Restless(f"{self._changes} changes in one step")
        except TimeoutError:
            raise Restless(f"{self._changes} changes, and no end in sight") from None

    def _has_new_volume(self) -> bool:
        """One that is on offer, or reserved by name: those that name a uid may stay as they are."""
        volumes = (seen.doc for seen in self.present.values() if seen.kind == "volume")
        return any(
            doc["status"]["phase"] == "Pending" and not doc["spec"].get("claimRef", {}).get("uid")
            for doc in volumes
        )

    async def _is_stirred_within(self, seconds: float) -> bool:
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True


class Cluster:
    """An API server, asked as its administrator and watched."""

    def __init__(self, name: str, url: str, tls: ssl.SSLContext, token: str) -> None:
        self.name = name
        self.events: dict[str, Doc] = {}  # by uid
        self._url = url
        self._tls = tls
        self._token = token
        self._stages: dict[str, Stage] = {}
        self._session: aiohttp.ClientSession

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Begin to look; everything until then has been seen when this is entered."""
        headers = {"Authorization": f"Bearer {self._token}"}
        async with (
            aiohttp.ClientSession(headers=headers, read_bufsize=2**23) as self._session,
            asyncio.TaskGroup() as tasks,
        ):
            watching = []
            for kind, path in KINDS.items():
                _, listed = await self.ask("GET", path)
                version = listed["metadata"]["resourceVersion"]
                watching.append(tasks.create_task(self._watch(kind, path, version)))
            yield
            for task in watching:
                task.cancel()

    @asynccontextmanager
    async def stage(self, name: str) -> AsyncIterator[Stage]:
        stage = self._stages[name] = Stage(name)
        try:
            yield stage
        finally:
            del self._stages[name]

    async def do(self, act: Act, stage: Stage) -> tuple[int, Doc]:
        path = stage.fill(act.path)
        body = None if act.body is None else json.loads(stage.fill(json.dumps(act.body)))
        return await self.ask(act.method, path, body)

    async def ask(self, method: str, path: str, body: Doc | None = None) -> tuple[int, Doc]:
        media = MERGE if method == "PATCH" else "application/json"
        async with self._session.request(
            method,
            self._url + path,
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": media},
            ssl=self._tls,
        ) as answer:
            return answer.status, await answer.json()

    async def _watch(self, kind: str, path: str, version: str) -> None:
        while True:
            query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "3000"}
            async with self._session.get(
                self._url + path, params=query, ssl=self._tls, timeout=aiohttp.ClientTimeout()
            ) as answer:
                assert answer.status == 200, await answer.text()
                try:
                    async for line in answer.content:
                        change = json.loads(line)
                        assert change["type"] != "ERROR", change
                        version = change["object"]["metadata"]["resourceVersion"]
                        self._take(kind, change["type"], change["object"])
                finally:  # at once: a TLS shutdown would outlive the watch
                    if answer.connection is not None and answer.connection.transport is not None:
                        answer.connection.transport.abort()
                    answer.close()

    def _take(self, kind: str, change: str, doc: Doc) -> None:
        if kind == "event":
            self._hear(doc)
            return
        for stage in self._stages.values():
            if stage.owns(kind, doc):
                stage.take(kind, doc, is_gone=change == "DELETED")
                return

    def _hear(self, doc: Doc) -> None:
        """Only what was not told before is a change: some repeat themselves for ever."""
        uid = doc["metadata"]["uid"]
        before = self.events.get(uid)
        self.events[uid] = doc
        if before is None or before["message"] != doc["message"]:
            for stage in self._stages.values():
                if stage.owns("event", doc):
                    stage.stir()

    def heard(self, stage: Stage) -> list[Doc]:
        """All that was told about what this play has."""
        return [doc for doc in self.events.values() if stage.owns("event", doc)]
