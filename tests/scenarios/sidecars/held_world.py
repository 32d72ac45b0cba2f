"""Sidecars whose every watch can be held back, cut and lost, and people who edit at any moment.

No binder: what it would write is an action too, so that it happens at any moment as well. An edit
may be due before any call that a sidecar makes, so also between two reads of the gate. The driver
looks at the objects, as they are then, before it destroys anything.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mooring.client.contract import EVERYTHING, Scope
from mooring.csi.outcome import Code, Outcome
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.volume import Volume as Made
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.may_destroy import handle_of
from mooring.model.node import Node
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.reconcile.loops import Loops
from mooring.reconcile.shared_informer import SharedInformers
from mooring.sidecars.options import SidecarOptions
from mooring.sidecars.role import SIDECARS
from tests.fakes.client import FakeClient
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.fake_server import FakeServer
from tests.fakes.objects import a_class, a_volume, an_attachment
from tests.scenarios.sidecars.driver import NAME, After, Fails, FakeDriver

Doc = dict[str, Any]

KINDS: tuple[Any, ...] = (Claim, Volume, StorageClass, Node, CsiNode, Attachment)
TURNS = 120  # of the event loop; enough for a few reconciles in a row
NODES = ("n0", "n1")
DOUBT = (Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE, Code.ABORTED)
REFUSAL = (Code.UNAUTHENTICATED, Code.INTERNAL, Code.PERMISSION_DENIED)


@dataclass
class WatchfulDriver(FakeDriver):
    """Asks `objects` what they say before it destroys anything."""

    objects: Callable[[str, str], None] = field(default=lambda _volume, _node: None)

    async def delete(
        self, volume_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        if volume_id in self.volumes:
            self.objects(volume_id, "")
        return await super().delete(volume_id, secrets, within=within)

    async def detach(
        self, volume_id: str, node_id: str, secrets: Secrets = NO_SECRETS, *, within: float
    ) -> Outcome[None]:
        if (volume_id, node_id) in self.attachments:
            self.objects(volume_id, node_id)
        return await super().detach(volume_id, node_id, secrets, within=within)


class EditedClient(FakeClient):
    """Before each call is served, `edit` may change anything."""

    def __init__(self, server: FakeServer, clock: VirtualClock, edit: Callable[[], None]) -> None:
        super().__init__(server, clock)
        self._edit = edit

    async def _call(self, verb: str, resource: Any, key: Any, act: Callable[[], Any]) -> Any:
        def served() -> Any:
            self._edit()
            return act()

        return await super()._call(verb, resource, key, served)


class WatchPerKind(FakeClient):
    """Each kind is listed and watched by a client of its own, which can be held back or cut."""

    def __init__(
        self, server: FakeServer, clock: VirtualClock, watches: Mapping[Any, FakeClient]
    ) -> None:
        super().__init__(server, clock)
        self._watches = watches
        self._others = FakeClient(server, clock)

    async def list(self, kind: Any, scope: Scope = EVERYTHING) -> Any:
        return await self._of(kind).list(kind, scope)

    def watch(self, kind: Any, version: str, scope: Scope = EVERYTHING) -> Any:
        return self._of(kind).watch(kind, version, scope)

    def _of(self, kind: Any) -> FakeClient:
        return self._watches.get(kind) or self._others


class World:
    def __init__(self, volumes: int) -> None:
        self.clock = VirtualClock()
        self.server = FakeServer(self.clock)
        self.driver = WatchfulDriver(objects=self._look)
        self.broken: list[str] = []  # what was destroyed although an object said to keep it
        self.left_by_hand: set[str] = set()  # handles whose object was taken away to keep them
        self.planned: deque[tuple[int, Callable[[], None]]] = deque()
        self._watches: dict[Any, FakeClient] = {}
        self._numbers = iter(range(1, 10**6))
        self.server.create(StorageClass, a_class())
        for name in NODES:
            self._register(name, f"id-{name}")
        self.names = [f"pv{number}" for number in range(volumes)]
        for name in self.names:
            self._create_volume(name, f"h-{name}", ReclaimPolicy.DELETE, self._create_claim(name))
        for name in self.names[-1:]:
            self.server.create(Attachment, an_attachment(f"link-{name}-n0", "n0", name))

    # running

    @asynccontextmanager
    async def sidecars(self) -> AsyncIterator[None]:
        """A provisioner and an attacher, as one process; leaving kills it."""
        rng = Random(1)  # noqa: S311  no secret
        self._watches = {kind: FakeClient(self.server, self.clock) for kind in KINDS}
        watching = WatchPerKind(self.server, self.clock, self._watches)
        informers = SharedInformers(watching, self.clock, rng)
        role = Loops("sidecars", self.client(), self.clock, rng, informers)
        parts = [role.part(self.client()) for _ in SIDECARS]
        for part, sidecar in zip(parts, SIDECARS.values(), strict=True):
            sidecar.build(part, self.driver.driver, SidecarOptions())
        async with asyncio.TaskGroup() as tasks:
            owned = [tasks.create_task(informers.run())]
            owned += [tasks.create_task(part.run()) for part in parts]
            await settle(TURNS)
            yield
            for task in owned:
                task.cancel()

    def client(self) -> EditedClient:
        return EditedClient(self.server, self.clock, self._edit)

    async def passes(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await settle(TURNS)

    async def calm_down(self) -> None:
        """Everything comes through, nobody edits, and there is time."""
        self.planned.clear()
        for watch in self._watches.values():
            watch.go_on()
        for _ in range(2):
            await self.passes(320)  # more than the longest pause

    def _edit(self) -> None:
        if not self.planned:
            return
        calls, action = self.planned.popleft()
        if calls > 0:
            self.planned.appendleft((calls - 1, action))
        else:
            action()

    # what can happen to watches

    def hold(self, kind: int) -> None:
        self._watch(kind).is_held = True

    def let_through(self, kind: int) -> None:
        self._watch(kind).go_on()

    def cut(self, kind: int) -> None:
        self._watch(kind).cut()

    def lose_history(self) -> None:
        """Watches that are behind have to list again."""
        self.server.forget_history()

    def _watch(self, kind: int) -> FakeClient:
        return self._watches.get(KINDS[kind % len(KINDS)]) or FakeClient(self.server, self.clock)

    # what the binder does

    def leave(self, which: int) -> None:
        """The claim of a volume is deleted, and the volume released."""
        volume = self._find_volume(which)
        claim = self._claim_of(volume)
        if volume is None or claim is None:
            return
        self.server.delete(claim)
        if self._claim_of(volume) is None:
            self._patch(volume, {}, {"phase": "Released"})

    def bind(self, _which: int) -> None:
        """Whatever volumes are made for claims, and were not bound."""
        for volume in self.server.list(Volume).items:
            claim = self._claim_of(volume)
            if claim is not None and not claim.spec.volume_name and not claim.is_deleting:
                self._patch(volume, {}, {"phase": "Bound"})
                self._patch(claim, _bound(volume.name), {"phase": "Bound"})

    # what people do

    def retain(self, which: int) -> None:
        self._set_policy(which, "Retain")

    def condemn(self, which: int) -> None:
        self._set_policy(which, "Delete")

    def free(self, which: int) -> None:
        volume = self._find_volume(which)
        if volume is not None and self._claim_of(volume) is None:
            self._patch(volume, {"spec": {"claimRef": None}}, {"phase": "Available"})

    def bind_again(self, which: int) -> None:
        volume = self._find_volume(which)
        if volume is None or self._claim_of(volume) is not None:
            return
        claim = self._create_claim(volume.name)
        self._patch(volume, {"spec": {"claimRef": None}}, {})
        reference = {"claimRef": _reference(claim)}
        self._patch(self.server.get(Volume, volume.key), {"spec": reference}, {"phase": "Bound"})

    def take_away(self, which: int) -> None:
        """By force: what is behind it is to be kept."""
        volume = self._find_volume(which)
        if volume is None:
            return
        handle = handle_of(volume)
        self._remove(volume)
        if handle is not None:
            self.left_by_hand.add(handle[1])

    def make_anew(self, which: int) -> None:
        """Under the same name: for the same storage, or for another, by turns."""
        volume = self._find_volume(which)
        handle = None if volume is None else handle_of(volume)
        if volume is None or handle is None:
            return
        self.take_away(which)
        is_same = next(self._numbers) % 2
        claim = self._create_claim(volume.name)
        now = handle[1] if is_same else f"h-{next(self._numbers)}"
        self._create_volume(volume.name, now, ReclaimPolicy.DELETE, claim)
        self.left_by_hand.discard(now)

    def attach(self, which: int) -> None:
        volume = self.names[which % len(self.names)]
        node = NODES[which // len(self.names) % len(NODES)]
        name = f"link-{volume}-{node}"
        if self.server.find(Attachment, Key("", name)) is None:
            self.server.create(Attachment, an_attachment(name, node, volume))

    def attach_too(self, which: int) -> None:
        """What is attached already, under another name: as a tool for backups does."""
        link = self._find_link(which)
        if link is not None:
            name = f"extra-{next(self._numbers)}"
            self.server.create(Attachment, an_attachment(name, *_ends(link)))

    def detach(self, which: int) -> None:
        link = self._find_link(which)
        if link is not None:
            self.server.delete(link)

    def forget_link(self, which: int) -> None:
        """By force; and it is made anew at once."""
        link = self._find_link(which)
        if link is not None:
            self._remove(link)
            self.server.create(Attachment, an_attachment(link.name, *_ends(link)))

    def rename_node(self, which: int) -> None:
        name = NODES[which % len(NODES)]
        self.server.delete(self.server.get(CsiNode, Key("", name)))
        self._register(name, f"id-{name}-{next(self._numbers)}")

    def ask(self, which: int) -> None:
        """A claim, whose volume is made or not, and nobody hears clearly which."""
        doubt, refusal = Fails(DOUBT[which % 3]), Fails(REFUSAL[which % 3])
        self.driver.next("create", After(doubt) if which % 2 else doubt, refusal)
        spec = {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}
        meta = {
            "name": f"asked-{next(self._numbers)}",
            "namespace": "default",
            "annotations": {Annotation.PROVISIONER: NAME},
        }
        requests = {"requests": {"storage": "1Gi"}}
        self.server.create(Claim, {"metadata": meta, "spec": {**spec, "resources": requests}})

    def give_up(self, which: int) -> None:
        claim = self._find_asked(which)
        if claim is not None:
            self.server.delete(claim)

    def adopt(self, which: int) -> None:
        """An administrator finds what was made for a claim, and tells of it."""
        claim = self._find_asked(which)
        handle = "" if claim is None else f"id-of-pvc-{claim.uid}"
        if claim is None or claim.spec.volume_name or handle not in self.driver.volumes:
            return
        name = f"adopted-{next(self._numbers)}"
        self._create_volume(name, handle, ReclaimPolicy.RETAIN, claim)
        self._patch(claim, _bound(name), {"phase": "Bound"})

    def break_down(self, which: int) -> None:
        """The driver fails the next time it is to destroy something, and is asked again later."""
        self.driver.next(("delete", "detach")[which % 2], Fails(Code.INTERNAL))

    # the law

    def _look(self, volume_id: str, node_id: str) -> None:
        keepers = self._who_keeps(volume_id, node_id)
        if keepers:
            self.broken.append(f"{volume_id} {node_id}: {', '.join(keepers)}")

    def _who_keeps(self, volume_id: str, node_id: str) -> list[str]:
        if node_id:
            return [
                link.name
                for link in self.server.list(Attachment).items
                if link.is_attached
                and not link.is_deleting
                and link.metadata.annotations.get(Annotation.HANDLE_AT_ATTACH) == volume_id
                and link.metadata.annotations.get(Annotation.NODE_ID_AT_ATTACH) == node_id
            ]
        told = [
            volume
            for volume in self.server.list(Volume).items
            if handle_of(volume) == (NAME, volume_id)
        ]
        keepers = [volume.name for volume in told if not self.is_condemned(volume)]
        if not told and volume_id in self.left_by_hand:
            keepers.append("whoever took its object away")
        for claim in self.server.list(Claim).items:
            is_wanted = not claim.is_deleting and not claim.spec.volume_name
            if is_wanted and volume_id == f"id-of-pvc-{claim.uid}":
                keepers.append(claim.name)
        return keepers

    def is_condemned(self, volume: Volume) -> bool:
        is_asked = volume.spec.reclaim_policy is ReclaimPolicy.DELETE and volume.is_released
        return is_asked and self._claim_of(volume) is None

    # hands

    def _find_volume(self, which: int) -> Volume | None:
        return self.server.find(Volume, Key("", self.names[which % len(self.names)]))

    def _find_link(self, which: int) -> Attachment | None:
        links = self.server.list(Attachment).items
        return links[which % len(links)] if links else None

    def _find_asked(self, which: int) -> Claim | None:
        asked = [each for each in self.server.list(Claim).items if each.name.startswith("asked")]
        return asked[which % len(asked)] if asked else None

    def _claim_of(self, volume: Volume | None) -> Claim | None:
        reference = None if volume is None else volume.spec.claim_ref
        found = None if reference is None else self.server.find(Claim, reference.key)
        is_it = found is not None and reference is not None and found.uid == reference.uid
        return found if is_it else None

    def _set_policy(self, which: int, policy: str) -> None:
        volume = self._find_volume(which)
        if volume is not None:
            self._patch(volume, {"spec": {"persistentVolumeReclaimPolicy": policy}}, {})

    def _create_claim(self, volume: str) -> Claim:
        meta = {
            "name": f"claim-{next(self._numbers)}",
            "namespace": "default",
            "annotations": {Annotation.BIND_COMPLETED: "yes"},
        }
        doc = {"metadata": meta, "spec": {"volumeName": volume}, "status": {"phase": "Bound"}}
        return self.server.create(Claim, doc)

    def _create_volume(self, name: str, handle: str, policy: ReclaimPolicy, claim: Claim) -> None:
        doc = a_volume(
            name,
            csi={"driver": NAME, "volumeHandle": handle},
            persistentVolumeReclaimPolicy=policy.value,
            claimRef=_reference(claim),
        )
        self.server.create(Volume, {**doc, "status": {"phase": "Bound"}})
        self.driver.volumes.setdefault(handle, Made(handle))

    def _register(self, node: str, node_id: str) -> None:
        entry = {"name": NAME, "nodeID": node_id, "topologyKeys": []}
        self.server.create(CsiNode, {"metadata": {"name": node}, "spec": {"drivers": [entry]}})

    def _patch(self, seen: Any, main: Doc, status: Doc) -> None:
        self.server.patch(self.server.get(type(seen), seen.key), main, status)

    def _remove(self, seen: Any) -> None:
        self._patch(seen, {"metadata": {"finalizers": None}}, {})
        left = self.server.find(type(seen), seen.key)
        if left is not None:
            self.server.delete(left)


def _reference(claim: Claim) -> Doc:
    return {"namespace": claim.namespace, "name": claim.name, "uid": claim.uid}


def _bound(volume: str) -> Doc:
    notes = {Annotation.BIND_COMPLETED: "yes"}
    return {"metadata": {"annotations": notes}, "spec": {"volumeName": volume}}


def _ends(link: Attachment) -> tuple[str, str]:
    return link.spec.node_name, link.volume_name
