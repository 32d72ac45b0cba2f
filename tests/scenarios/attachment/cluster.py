"""The AttachDetach controller against a whole API in this process, and an attacher beside it.

`Cluster.controller()` runs it as a process of its own would; leaving it kills it. With `writes` it
dies before it can write once more. The attacher is the driver's: `there` holds what is really
attached. Nodes are objects; what a kubelet says of itself, the tests say.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from prometheus_client import CollectorRegistry

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.contract import EVERYTHING, Change, Client, Part, Scope, T
from mooring.client.local import LocalClient
from mooring.controllers.attachment.run import (
    AS_KUBERNETES,
    AttachDetach,
    add_controller,
)
from mooring.controllers.attachment.view import Policy
from mooring.errors import ConnectionLost, MooringError
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.plugins.csi.attachment_name import CsiName, attachment_name
from mooring.plugins.flex.drivers import Drivers
from mooring.reconcile.loops import Loops
from mooring.reconcile.reflector import Reflector
from tests.fakes.api import ApiUnderTest
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    DRIVERS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    VOLUMES,
    a_claim,
    a_driver,
    a_namespace,
    a_node,
    a_pod,
    a_volume,
)
from tests.scenarios.neighbours import FOREVER, Mortal

DRIVER = "d.example.com"
FINALIZER = "external-attacher/d-example-com"
MANAGED = "volumes.kubernetes.io/controller-managed-attach-detach"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
TURNS = 400  # of the event loop; more than any of this takes


def unique(volume: str) -> str:
    """How nodes call the volume of this name; its handle is the same."""
    return CsiName(DRIVER, volume).unique


def name_of(volume: str, node: str) -> str:
    return attachment_name(volume, DRIVER, node)


class Asked(Mortal):
    """A client that writes down what it was asked for, and refuses as told."""

    def __init__(self, client: Client, writes: int, clock: VirtualClock) -> None:
        super().__init__(client, writes)
        self._clock = clock
        self.seconds: dict[str, float] = {}  # by call: how long it takes; else no time
        self.calls: list[str] = []
        self.refusals: dict[str, list[MooringError]] = {}  # by call, as in `get Node n1`
        self._held: set[type[ApiObject]] = set()
        self._free = asyncio.Event()
        self.losses: dict[str, int] = {}  # by call: answers that get lost when the deed is done

    def hold(self, kind: type[ApiObject]) -> None:
        """Watches of this kind bring nothing until they are let go."""
        self._held.add(kind)
        self._free.clear()

    def hold_all(self) -> None:
        for kind in (Pod, Node, Claim, Volume, CsiDriver, Attachment):
            self.hold(kind)

    def let_go(self, *, but_nodes: bool = False) -> None:
        self._held = {Node} if but_nodes else set()
        self._free.set()
        if but_nodes:
            self._free = asyncio.Event()

    @asynccontextmanager
    async def watch(
        self, kind: type[T], version: str, scope: Scope = EVERYTHING
    ) -> AsyncIterator[AsyncIterator[Change[T]]]:
        async with super().watch(kind, version, scope) as changes:
            yield self._let_through(kind, changes)

    async def _let_through(
        self, kind: type[T], changes: AsyncIterator[Change[T]]
    ) -> AsyncIterator[Change[T]]:
        async for change in changes:
            while kind in self._held:
                await self._free.wait()
            yield change

    async def get(self, kind: type[T], key: Key) -> T:
        self._ask("get", kind, key.name)
        return await super().get(kind, key)

    async def create(self, kind: type[T], doc: Doc) -> T:
        if kind.resource.kind == "Event":  # its process does not live by these
            return await self._client.create(kind, doc)
        self._ask("create", kind, doc["metadata"]["name"])
        return self._answer("create", await super().create(kind, doc))

    async def patch(self, seen: T, change: Doc, part: Part = Part.MAIN) -> T:
        if seen.resource.kind == "Event":
            return await self._client.patch(seen, change, part)
        self._ask("patch", type(seen), seen.name)
        written = self._answer("patch", await super().patch(seen, change, part))
        if seconds := self.seconds.get(f"patch {seen.resource.kind} {seen.name}"):
            await self._clock.sleep(seconds)
        return written

    async def delete(self, seen: ApiObject, *, grace_seconds: int | None = None) -> None:
        self._ask("delete", type(seen), seen.name)
        await super().delete(seen, grace_seconds=grace_seconds)

    def _ask(self, verb: str, kind: type[ApiObject], name: str) -> None:
        call = f"{verb} {kind.resource.kind} {name}"
        self.calls.append(call)
        if self.refusals.get(call):
            raise self.refusals[call].pop(0)

    def _answer(self, verb: str, answer: T) -> T:
        call = f"{verb} {answer.resource.kind} {answer.name}"
        if self.losses.get(call):
            self.losses[call] -= 1
            raise ConnectionLost("the answer got lost")
        return answer


class Attacher:
    """A driver's attacher: finalizer, then the deed, then the status; the finalizer goes last."""

    def __init__(self, cluster: "Cluster") -> None:
        self.there: set[tuple[str, str]] = set()  # handle and node: what is really attached
        self.worst = 0  # the most nodes that one volume was on at a time
        self.is_silent = False  # answers nothing
        self.never: set[str] = set()  # handles of volumes of which it says nothing
        self.attach_error = ""  # says so instead
        self.detach_error = ""
        self.deeds: list[str] = []  # in order, as in `attach pv1 n1`
        self._cluster = cluster
        self._client = LocalClient(InProcessApi(cluster.api.parts.backend, CONTROLLERS))
        rng = Random(2)  # noqa: S311  not for secrets
        self._known = Reflector(self._client, Attachment, EVERYTHING, cluster.clock, rng)
        self._news = asyncio.Event()
        self._known.on_change(lambda _before, _after: self._news.set())

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._known.run())
            while True:
                await self._news.wait()
                self._news.clear()
                for attachment in list(self._known.all()):
                    await self._serve(attachment)

    def look(self) -> None:
        """It was told to behave otherwise."""
        self._news.set()

    async def _serve(self, attachment: Attachment) -> None:
        volume = self._cluster.handles.get(attachment.volume_name, "")
        if self.is_silent or volume in self.never:
            return
        pair = (volume, attachment.spec.node_name)
        if attachment.is_deleting:
            await self._detach(attachment, pair)
        elif not attachment.is_attached:
            await self._attach(attachment, pair)

    async def _attach(self, attachment: Attachment, pair: tuple[str, str]) -> None:
        if FINALIZER not in attachment.metadata.finalizers:
            attachment = await self._client.patch(
                attachment, {"metadata": {"finalizers": [FINALIZER]}}
            )
            self._known.fold(attachment)
        error: Doc | None = {"message": self.attach_error} if self.attach_error else None
        if error is None:
            self.deeds.append(f"attach {pair[0]} {pair[1]}")
            self.there.add(pair)
            self.worst = max(self.worst, sum(handle == pair[0] for handle, _ in self.there))
        change = {"attached": error is None, "attachError": error}
        await self._status(attachment, change)

    async def _detach(self, attachment: Attachment, pair: tuple[str, str]) -> None:
        if self.detach_error:
            await self._status(attachment, {"detachError": {"message": self.detach_error}})
            return
        self.deeds.append(f"detach {pair[0]} {pair[1]}")
        self.there.discard(pair)
        if attachment.metadata.finalizers:
            await self._client.patch(attachment, {"metadata": {"finalizers": None}})

    async def _status(self, attachment: Attachment, change: Doc) -> None:
        kept = {"attached": attachment.status.attached}
        if attachment.status.attach_error is not None:
            kept["attachError"] = {"message": attachment.status.attach_error.message}  # type: ignore[assignment]  # a document
        if attachment.status.detach_error is not None:
            kept["detachError"] = {"message": attachment.status.detach_error.message}  # type: ignore[assignment]  # a document
        if {**kept, **{k: v for k, v in change.items() if v is not None}} != kept:
            written = await self._client.patch(attachment, {"status": change}, Part.STATUS)
            self._known.fold(written)


class Running:
    """A controller at work, and what it was seen to do."""

    def __init__(self, client: Asked, controller: AttachDetach) -> None:
        self.client = client
        self.controller = controller
        self._registry = CollectorRegistry()
        self._registry.register(controller.metrics)

    @property
    def calls(self) -> list[str]:
        return self.client.calls

    def count(self, name: str, **labels: str) -> float:
        return self._registry.get_sample_value(name, labels) or 0.0

    def forced(self, reason: str) -> float:
        name = "attach_detach_controller_attachdetach_controller_forced_detaches_total"
        return self.count(name, reason=reason)


class Cluster:
    def __init__(self, api: ApiUnderTest) -> None:
        self.api = api
        self.clock = api.clock
        self.handles: dict[str, str] = {}  # of volumes, by name
        self.attacher = Attacher(self)

    @asynccontextmanager
    async def controller(
        self,
        writes: int = FOREVER,
        policy: Policy = AS_KUBERNETES,
        flex: Drivers | None = None,
    ) -> AsyncIterator[Running]:
        clock, rng = self.clock, Random(1)  # noqa: S311  not for secrets
        local = LocalClient(InProcessApi(self.api.parts.backend, CONTROLLERS))
        client = Asked(local, writes, clock)
        loops = Loops("controllers", client, clock, rng)
        working = add_controller(loops, policy, flex)
        async with asyncio.TaskGroup() as tasks:
            owned = [tasks.create_task(part) for part in (loops.run(), self.attacher.run())]
            await self.settle()
            yield Running(client, working)
            for task in owned:
                task.cancel()

    async def settle(self) -> None:
        await settle(TURNS)

    async def passes(self, seconds: float) -> None:
        await self.clock.advance(seconds)
        await self.settle()

    # what is there

    async def find(self, path: str) -> Doc | None:
        answer = await self.api.get(path)
        return answer.doc if answer.code == 200 else None

    async def reported(self, node: str) -> list[str]:
        """What the node is told to be attached, as handles."""
        found = await self.find(f"{NODES}/{node}")
        assert found is not None
        listed = found.get("status", {}).get("volumesAttached", [])
        return [one["name"].removeprefix(f"kubernetes.io/csi/{DRIVER}^") for one in listed]

    async def attachments(self) -> list[str]:
        """Every attachment, as in `pv1 n1 attached`."""
        words = []
        for item in (await self.api.get(ATTACHMENTS)).doc["items"]:
            spec, is_deleting = item["spec"], "deletionTimestamp" in item["metadata"]
            state = "attached" if item["status"]["attached"] else "asked for"
            source = spec["source"].get("persistentVolumeName", "inline")
            words.append(f"{source} {spec['nodeName']} {'leaving' if is_deleting else state}")
        return sorted(words)

    async def told(self, *reasons: str, namespace: str = "default") -> list[tuple[str, str, str]]:
        """Object, reason and text of events, once each, in the order of their names."""
        items = (await self.api.get(EVENTS.replace("default", namespace))).doc["items"]
        return [
            (item["involvedObject"]["name"], item["reason"], item["message"])
            for item in items
            if not reasons or item["reason"] in reasons
        ]

    async def counts(self, reason: str) -> list[int]:
        """How often each event with this reason was told."""
        items = (await self.api.get(EVENTS)).doc["items"]
        return [item["count"] for item in items if item["reason"] == reason]

    # what people, nodes and others do

    async def create(self, path: str, doc: Doc) -> Doc:
        answer = await self.api.post(path, doc)
        assert answer.code == 201, answer.text
        return answer.doc

    async def patch(self, path: str, change: Doc) -> None:
        answer = await self.api.patch(path, change)
        assert answer.code == 200, answer.text
        await self.settle()

    async def delete(self, path: str) -> None:
        answer = await self.api.delete(f"{path}?gracePeriodSeconds=0")
        assert answer.code in (200, 202), answer.text
        await self.settle()

    async def node(self, name: str = "n1", *, is_managed: bool = True, **status: Any) -> None:
        doc = a_node(name)
        if is_managed:
            doc["metadata"]["annotations"] = {MANAGED: "true"}
        await self.create(NODES, doc)
        ready = [{"type": "Ready", "status": "True"}]
        await self.patch(f"{NODES}/{name}/status", {"status": {"conditions": ready, **status}})

    async def is_ready(self, node: str, status: str) -> None:
        conditions = [{"type": "Ready", "status": status}]
        await self.patch(f"{NODES}/{node}/status", {"status": {"conditions": conditions}})

    async def uses(self, node: str, *volumes: str) -> None:
        """The node says which volumes it uses."""
        names = [unique(volume) for volume in volumes] or None
        await self.patch(f"{NODES}/{node}/status", {"status": {"volumesInUse": names}})

    async def taint(self, node: str, key: str = OUT_OF_SERVICE, effect: str = "NoExecute") -> None:
        taints = [{"key": key, "effect": effect}]
        await self.patch(f"{NODES}/{node}", {"spec": {"taints": taints}})

    async def driver(self, **spec: Any) -> None:
        await self.create(DRIVERS, a_driver(DRIVER, **spec))
        await self.settle()

    async def volume(self, name: str, *modes: str, namespace: str = "default", **spec: Any) -> None:
        """A volume and a claim of its name, bound to each other."""
        modes = modes or ("ReadWriteOnce",)
        await self.claim(name, *modes, namespace=namespace)
        await self.bind(name, *modes, namespace=namespace, **spec)

    async def claim(self, name: str, *modes: str, namespace: str = "default", **spec: Any) -> None:
        if namespace != "default" and await self.find(f"{NAMESPACES}/{namespace}") is None:
            await self.create(NAMESPACES, a_namespace(namespace))
            await self.settle()
        wanted = {"accessModes": list(modes or ("ReadWriteOnce",)), "storageClassName": "", **spec}
        await self.create(_in(CLAIMS, namespace), a_claim(name, **wanted))

    async def bind(
        self, name: str, *modes: str, namespace: str = "default", uid: str = "", **spec: Any
    ) -> None:
        """Volume first, then claim, as the binder does."""
        self.handles[name] = name
        path = f"{_in(CLAIMS, namespace)}/{name}"
        claim = await self.find(path)
        assert claim is not None
        reference = {
            "namespace": namespace,
            "name": name,
            "uid": uid or claim["metadata"]["uid"],
        }
        source = {"csi": {"driver": DRIVER, "volumeHandle": name}, **spec}
        modes = modes or ("ReadWriteOnce",)
        await self.create(
            VOLUMES, a_volume(name, accessModes=list(modes), claimRef=reference, **source)
        )
        await self.bound(name, namespace)

    async def bound(self, name: str, namespace: str = "default") -> None:
        path = f"{_in(CLAIMS, namespace)}/{name}"
        await self.patch(path, {"spec": {"volumeName": name}})
        await self.patch(f"{path}/status", {"status": {"phase": "Bound"}})

    async def pod(
        self, name: str = "web", node: str = "n1", volume: str = "pv1", namespace: str = "default"
    ) -> None:
        await self.create(_in(PODS, namespace), a_pod(name, node, volume))
        await self.settle()

    async def gone(self, pod: str = "web", namespace: str = "default") -> None:
        await self.delete(f"{_in(PODS, namespace)}/{pod}")

    async def terminate(self, pod: str) -> None:
        """Ask it to end; its node takes its time."""
        answer = await self.api.delete(f"{PODS}/{pod}?gracePeriodSeconds=30")
        assert answer.code in (200, 202), answer.text
        await self.settle()

    async def status(self, pod: str, **status: Any) -> None:
        await self.patch(f"{PODS}/{pod}/status", {"status": status})


def _in(collection: str, namespace: str) -> str:
    return collection.replace("/default/", f"/{namespace}/")
