"""`mooring timeline`: reads the picture of a pod or a claim, with the caller's own rights."""

import asyncio
import os
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec
import uvloop

from mooring.client.connect import connect_to
from mooring.client.http import HttpClient
from mooring.client.kubeconfig import Surroundings, find_endpoint
from mooring.clock import Clock, RealClock
from mooring.csi.call_record import CsiCall
from mooring.errors import ApiError, ConnectionLost, MooringError, NotFound, ServerError, UsageError
from mooring.stack.csi_trace import Wanted, read_calls
from mooring.timeline.decide import decide_timeline
from mooring.timeline.picture import Attachment, Bound, Claim, Event, Picture, Pod, Volume
from mooring.timeline.steps import Timeline

T = TypeVar("T")

KINDS = {
    **dict.fromkeys(("pod", "pods", "po"), "pod"),
    **dict.fromkeys(("pvc", "persistentvolumeclaim", "persistentvolumeclaims"), "pvc"),
}


class Subject(msgspec.Struct, frozen=True):
    kind: str  # pod or pvc
    name: str
    namespace: str  # empty: that of the kubeconfig


class _Items(msgspec.Struct, frozen=True):
    items: list[msgspec.Raw] | None = None


def read_subject(text: str, namespace: str) -> Subject:
    """Of `pod/web`, `pvc/data`. Raises: UsageError."""
    kind, slash, name = text.partition("/")
    found = KINDS.get(kind.lower())
    if not slash or not name or "/" in name or found is None:
        raise UsageError(f"{text!r}: give pod/NAME or pvc/NAME")
    return Subject(found, name, namespace)


def run_timeline(kubeconfig: Path | None, subject: Subject) -> Timeline:
    """Raises: MooringError."""

    async def run() -> Timeline:
        clock = RealClock()
        endpoint = find_endpoint(kubeconfig, Surroundings(os.environ, clock))
        namespace = subject.namespace or endpoint.namespace
        async with connect_to(endpoint, clock) as client:
            asked = msgspec.structs.replace(subject, namespace=namespace)
            return decide_timeline(await read_picture(client, asked, clock))

    return uvloop.run(run())


async def read_picture(client: HttpClient, subject: Subject, clock: Clock) -> Picture:
    """Raises: MooringError when the pod or the claim itself cannot be read."""
    reading = _Reading(client, subject.namespace)
    pod: Pod | None = None
    names: tuple[str, ...] = (subject.name,)
    if subject.kind == "pod":
        pod = await reading.get(Pod, f"{reading.core}/pods/{quote(subject.name)}")
        names = pod.claim_names()
    claims = [await reading.claim(name, must=pod is None) for name in names]
    node = pod.spec.node_name if pod is not None else ""
    attachments = await reading.attachments() if any(claims) else []
    bound = [await reading.bound(claim, attachments, node) for claim in claims if claim]
    uids = {one.claim.metadata.uid for one in bound} | ({pod.metadata.uid} if pod else set())
    events = await reading.events(uids)
    calls = await reading.calls()
    return Picture(clock.now(), tuple(bound), pod, events, calls, tuple(reading.unseen))


class _Reading:
    """What cannot be read is kept in `unseen`."""

    def __init__(self, client: HttpClient, namespace: str) -> None:
        self._client = client
        self.core = f"/api/v1/namespaces/{quote(namespace)}"
        self.unseen: list[str] = []

    async def get(self, kind: type[T], path: str) -> T:
        return _decoded(await self._client.read(path, {}), kind)

    async def claim(self, name: str, *, must: bool) -> Claim | None:
        try:
            return await self.get(Claim, f"{self.core}/persistentvolumeclaims/{quote(name)}")
        except (ApiError, ConnectionLost) as error:
            if must:
                raise
            self.unseen.append(f"pvc/{name}: {error}")
            return None

    async def bound(self, claim: Claim, attachments: list[Attachment], node: str) -> Bound:
        name = claim.spec.volume_name
        volume: Volume | None = None
        if name:
            try:
                volume = await self.get(Volume, f"/api/v1/persistentvolumes/{quote(name)}")
            except (ApiError, ConnectionLost) as error:
                self.unseen.append(f"pv/{name}: {error}")
        found = [
            one
            for one in attachments
            if name
            and one.spec.source.persistent_volume_name == name
            and (not node or one.spec.node_name == node)
        ]
        return Bound(claim, volume, found[0] if found else None)

    async def attachments(self) -> list[Attachment]:
        path = "/apis/storage.k8s.io/v1/volumeattachments"
        return await self._list(Attachment, path, "volumeattachments")

    async def events(self, uids: set[str]) -> tuple[Event, ...]:
        wanted = sorted(uid for uid in uids if uid)
        read = [
            self._list(
                Event, f"{self.core}/events", "events", fieldSelector=f"involvedObject.uid={uid}"
            )
            for uid in wanted
        ]
        return tuple(event for some in await asyncio.gather(*read) for event in some)

    async def calls(self) -> tuple[CsiCall, ...]:
        try:
            traced = await read_calls(self._client, Wanted())
        except MooringError as error:
            self.unseen.append(f"CSI calls: {error}")
            return ()
        self.unseen += traced.unseen
        return tuple(call for _, call in traced.calls())

    async def _list(self, kind: type[T], path: str, what: str, **query: str) -> list[T]:
        try:
            data = await self._client.read(path, query)
        except (ApiError, ConnectionLost) as error:
            if not isinstance(error, NotFound):
                self.unseen.append(f"{what}: {error}")
            return []
        return [_decoded(item, kind) for item in _decoded(data, _Items).items or ()]


def _decoded(data: bytes | msgspec.Raw, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise ServerError(f"a {kind.__name__.lower()} cannot be read: {error}") from error
