"""The node's volumes: brought when a pod wants them, taken away when none does.

Nothing here ticks. A pod, an operation that ended, news of the node or of an object that a volume
shows: each puts a name into a queue, and whoever serves it looks at both pictures of that volume.
Once a minute, pods whose volumes follow the API are looked at again, and a net under it all counts
what it finds.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.model.pod import Pod
from mooring.model.selector import find_int64
from mooring.model.wellknown import Annotation
from mooring.node.actual import Actual, PodMount, PodState
from mooring.node.claims import used_names
from mooring.node.context import NodeContext, OwnNode
from mooring.node.decide import decide, is_waiting_for_label
from mooring.node.desired import Desired, WantedVolume
from mooring.node.effects.run import Effects
from mooring.node.in_use import InUse
from mooring.node.operations import Operations, PutOff, Started
from mooring.node.plan import Operation
from mooring.node.populate import Populator
from mooring.node.view import View
from mooring.node.waits import NodeFull, NotMounted, Waits
from mooring.plugins.contract import Host, VolumeError
from mooring.plugins.registry import Registry
from mooring.reconcile.backoff import Backoff
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, lasting, serve

POD_WORKERS = 16
POPULATE_AGAIN = Backoff(first=0.1, cap=10.0)  # a claim that is about to be bound takes no longer
RESYNC_SECONDS = 60.0  # after which claims are read again, and content is brought up to date
RESYNC_JITTER = 0.5  # of it, at most, on top: not all pods at once
NET_SECONDS = 60.0

_log = log.get("mooring.node")


class NodeVolumes:
    """`run` runs them until cancelled; before `may_destroy` nothing is taken away."""

    def __init__(
        self,
        host: Host,
        registry: Registry,
        client: Client,
        recorder: Recorder,
        clock: Clock,
        own_node: OwnNode,
    ) -> None:
        self._desired = Desired(self._wish_changed)
        self._actual = Actual(self._fact_changed)
        self.context = NodeContext(
            host, registry, self._desired, self._actual, client, recorder, clock, own_node
        )
        self.context.metrics.watch(self._desired, self._actual)
        self.volume_queue: KeyedQueue[str] = KeyedQueue(clock)
        self.pod_queue: KeyedQueue[str] = KeyedQueue(clock, POPULATE_AGAIN)
        self._operations = Operations(clock, Effects(self.context).run, self._ended)
        self._populator = Populator(self.context)
        self._waits = Waits(clock, self._desired, self._actual)
        self._in_use = InUse(self._desired, self._actual)
        self._known: dict[str, Pod] = {}  # pods that may have volumes
        self._requested: set[str] = set()  # of them, those that somebody wants looked at
        self._awaited: set[str] = set()  # of them, those whose answer somebody waits for
        self._unsure: set[str] = set()  # of them, those that may want more than is known
        self._unseen: set[str] | None = None  # pods of the first picture, not yet populated
        self._seen_early: set[str] = set()  # populated before there was a first picture
        self._is_reconstructed = asyncio.Event()
        self._is_complete = asyncio.Event()
        self._due: set[str] = set()  # volumes that somebody is going to look at
        self._news: dict[str, set[str]] = {}  # for pods, that came during an operation on a volume

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(serve(self.volume_queue, self._reconcile))
            for _ in range(POD_WORKERS):
                tasks.create_task(serve(self.pod_queue, self._populate))
            tasks.create_task(lasting("net under volumes", self.context.clock, self._net))

    # what pods ask for

    def want(self, pod: Pod) -> None:
        """Bring the pod's volumes; said again, look whether their content is up to date."""
        self._known[pod.uid] = pod
        self._requested.add(pod.uid)
        self.pod_queue.add(pod.uid)

    def refresh(self, pod_uid: str) -> None:
        """An object has changed that volumes of the pod show, or wait for."""
        for wanted in tuple(self._desired.of_pod(pod_uid)):
            if self._follows_the_api(wanted):
                self._operations.forgive(wanted.name)
                self._set_up_again(wanted.name, pod_uid, "change")
                self._look_at(wanted.name)

    def release(self, pod_uid: str) -> None:
        """No container of the pod is left: take its volumes away."""
        self._known.pop(pod_uid, None)
        for group in (self._requested, self._awaited, self._unsure):
            group.discard(pod_uid)
        self._waits.failed(pod_uid, ())
        self._desired.drop_pod(pod_uid)
        self._look_at_all_of(pod_uid)
        self._seen(pod_uid)

    async def mounted(self, pod: Pod) -> None:
        """Want the pod's volumes, and return once it has them all. Raises: NotMounted, NodeFull."""
        self._waits.failed(pod.uid, ())  # what was true a while ago does not count
        self._awaited.add(pod.uid)
        self.want(pod)
        if not used_names(pod):
            return
        try:
            await self._waits.mounted(pod)
        except NotMounted as error:
            if await self._is_full(error.missing.unattached):
                raise NodeFull(error) from error
            raise

    async def unmounted(self, pod_uid: str) -> None:
        """Returns once no volume is certainly mounted for the pod. Raises: StillMounted."""
        await self._waits.unmounted(pod_uid)

    async def all_unmounted(self, pod_uids: Iterable[str]) -> None:
        """The same for many pods. Raises: StillMounted, once all waits have ended."""
        await self._waits.all_unmounted(pod_uids)

    async def gone(self, pod_uid: str) -> None:
        """Returns once nothing of the pod's volumes is left, not even in doubt or on its way."""
        await self._is_reconstructed.wait()  # before, nobody knows what is there
        await self._waits.gone(pod_uid)

    async def complete(self) -> None:
        """Returns once both pictures are whole: from now on things are taken away."""
        await self._is_complete.wait()

    async def let_go(self, pod_uid: str) -> None:
        """Returns once nothing of the pod's volumes is left, and nobody wants any for it."""
        await self.complete()
        await self._waits.gone(pod_uid, lambda: pod_uid not in self._known)

    def reach(self, pod_uid: str) -> Mapping[str, PodMount]:
        """How containers get at the volumes that are mounted, by their name in the pod."""
        found: dict[str, PodMount] = {}
        for wanted in self._desired.of_pod(pod_uid):
            here = self._actual.find(wanted.name)
            mount = None if here is None else here.pods.get(pod_uid)
            if mount is not None and mount.state is PodState.MOUNTED:
                found.update(dict.fromkeys(wanted.pods[pod_uid].outer_names, mount))
        return found

    def has_traces(self, pod_uid: str) -> bool:
        """Whether anything is mounted for the pod, or may be."""
        return any(True for _ in self._actual.of_pod(pod_uid))

    def extra_groups(self, pod: Pod) -> tuple[int, ...]:
        """The groups that persistent volumes ask their users to be in."""
        groups: set[int] = set()
        for here in self._actual.of_pod(pod.uid):
            mount = here.pods[pod.uid]
            if mount.state is PodState.MOUNTED and mount.use.volume is not None:
                asked = mount.use.volume.metadata.annotations.get(Annotation.OWNER_GROUP)
                group = find_int64(asked)
                if group is not None and group >= 0:
                    groups.add(group)
        return tuple(sorted(groups.difference(pod.spec.security_context.supplemental_groups)))

    # what the node's status asks for, and tells

    def in_use(self) -> tuple[str, ...]:
        """The attachable volumes that somebody here wants or has."""
        return self._in_use.names()

    def on_in_use_change(self, handler: Callable[[], None]) -> None:
        """`handler` is called whenever `in_use` answers otherwise than before."""
        self._in_use.on_change(handler)

    def reported_in_use(self, names: Iterable[str]) -> None:
        """The API has acknowledged that this node uses exactly these."""
        self._desired.report_in_use(frozenset(names))

    def attached_changed(self, names: Iterable[str]) -> None:
        """The node's status tells other things about these volumes than before."""
        for name in names:
            self._operations.forgive(name)
            self._look_at(name)

    def attachability_changed(self) -> None:
        """Drivers may have changed their minds: what need not be attached waits for nobody."""
        for wanted in tuple(self._desired.volumes()):
            if not wanted.is_attachable:
                continue
            try:
                is_attachable = self.context.registry.find_attachable(wanted.use) is not None
            except VolumeError:
                continue  # nobody can say
            if not is_attachable:
                _log.info("volume need not be attached any more", volume=wanted.name)
                self._desired.became_unattachable(wanted.name)

    # after a restart

    def reconstructed(self) -> None:
        """The disk has been read back, and the node's status asked about what was found."""
        self._is_reconstructed.set()
        self._maybe_complete()

    def first_picture(self, pod_uids: Iterable[str]) -> None:
        """These pods were here at the start: until each is populated, nothing is taken away."""
        self._unseen = set(pod_uids) - self._seen_early
        self._seen_early.clear()
        self._maybe_complete()

    @property
    def is_synced(self) -> bool:
        """What is on disk is known, and agreed with the API."""
        return self._is_reconstructed.is_set()

    @property
    def may_destroy(self) -> bool:
        return self.is_synced and self._unseen is not None and not self._unseen

    def _seen(self, pod_uid: str) -> None:
        if self._unseen is None:
            self._seen_early.add(pod_uid)
        elif pod_uid in self._unseen:
            self._unseen.discard(pod_uid)
            self._maybe_complete()

    def _maybe_complete(self) -> None:
        if self.may_destroy:
            self._is_complete.set()
            for volume in self._actual.volumes():
                self._look_at(volume.name)

    # pods

    async def _populate(self, pod_uid: str) -> Verdict:
        pod = self._known.get(pod_uid)
        if pod is None:
            return Settled()
        is_requested, is_awaited = pod_uid in self._requested, pod_uid in self._awaited
        self._requested.discard(pod_uid)
        self._awaited.discard(pod_uid)
        populated = await self._populator.populate(pod)
        if pod_uid not in self._known:  # released meanwhile
            return Settled()
        self._populator.want(pod, populated.volumes)
        self._judge(pod_uid, is_sure=not populated.errors)
        self._waits.failed(pod_uid, populated.errors)
        if populated.errors:
            if not is_awaited:
                raise VolumeError("; ".join(populated.errors))
            return Again(self._resync_pause())  # who waited has been told, and will ask again
        following = [one for one in populated.volumes if one.wants_remount]
        for one in following:
            self._set_up_again(one.name, pod_uid, "pod" if is_requested else "resync")
        may_change = following or any(one.wanted.use.volume for one in populated.volumes)
        return Again(self._resync_pause()) if may_change else Settled()

    def _resync_pause(self) -> float:
        return RESYNC_SECONDS * (1 + RESYNC_JITTER * self.context.host.chance.random())

    def _judge(self, pod_uid: str, *, is_sure: bool) -> None:
        """What a pod has, but is not known to want, stays while it may want more than is known."""
        if not is_sure:
            self._unsure.add(pod_uid)
        elif pod_uid in self._unsure:
            self._unsure.discard(pod_uid)
            self._look_at_all_of(pod_uid)
        self._seen(pod_uid)

    def _set_up_again(self, name: str, pod_uid: str, cause: str) -> None:
        """Bring the content up to date; an operation that runs now may have read the old one."""
        here = self._actual.find(name)
        if self._operations.busy(name):
            self._news.setdefault(name, set()).add(pod_uid)
        elif here is None or pod_uid not in here.pods:
            return  # it will be set up for the first time
        else:
            self._actual.remount(name, pod_uid)
        self.context.metrics.refreshed(cause)

    def _follows_the_api(self, wanted: WantedVolume) -> bool:
        try:
            return self.context.registry.find(wanted.use).wants_remount(wanted.use)
        except VolumeError:
            return False

    async def _is_full(self, unattached: Iterable[WantedVolume]) -> bool:
        for wanted in unattached:
            try:
                attachable = self.context.registry.find_attachable(wanted.use)
            except VolumeError:
                continue
            node = self.context.own_node.name
            if attachable is not None and await attachable.is_node_full(wanted.use, node):
                return True
        return False

    # volumes

    async def _reconcile(self, name: str) -> Verdict:
        self._due.discard(name)
        _, soonest = self._start(name)
        if soonest is None:
            return Settled()
        self._due.add(name)
        return Again(soonest)

    def _start(self, name: str) -> tuple[int, float | None]:
        """How many operations began, and after how many seconds one that must wait is due."""
        view = self._view(name)
        if view.wanted is None and view.actual is None:
            self._operations.forgive(name)  # what failed has no meaning any more
        if is_waiting_for_label(view):
            self._tell_label(view)
        begun, waits = 0, []
        for operation in decide(view).operations:
            outcome = self._operations.start(operation, self._tasks)
            if isinstance(outcome, PutOff):
                waits.append(outcome.seconds)
            elif isinstance(outcome, Started):
                begun += 1
                if operation.pod_uid:
                    self._waits.began(operation.pod_uid)
        return begun, min(waits, default=None)

    def _view(self, name: str) -> View:
        wanted, here = self._desired.find(name), self._actual.find(name)
        held = () if here is None else here.pods.keys()
        must_be_attached = wanted is not None and wanted.is_attachable
        return View(
            name,
            wanted,
            here,
            busy=self._operations.busy(name),
            unsure=frozenset(self._unsure.intersection(held)),
            may_destroy=self.may_destroy,
            attaches_itself=self.context.attaches_itself,
            is_attached=not must_be_attached or name in self.context.own_node.attached(),
            grows_on_node=wanted is not None and self._grows(wanted),
        )

    def _grows(self, wanted: WantedVolume) -> bool:
        """Whether somebody writes to it, and its plugin has something to do when it has grown."""
        if wanted.use.volume is None or all(by.use.read_only for by in wanted.pods.values()):
            return False
        try:
            plugin = self.context.registry.find_node_expandable(wanted.use)
        except VolumeError:
            return False
        return plugin is not None and plugin.needs_node_growth(wanted.use)

    def _tell_label(self, view: View) -> None:
        text = (
            f'waiting for unmount of volume "{view.name}", because it is already mounted to a '
            "different pod with a different SELinux label"
        )
        for uid in () if view.wanted is None else view.wanted.pods:
            self._waits.failed(uid, (text,))

    def _ended(self, operation: Operation) -> None:
        if operation.pod_uid:
            self._waits.ended(operation.pod_uid)
        for uid in self._news.pop(operation.volume, ()):
            self._actual.remount(operation.volume, uid)
        self._look_at(operation.volume)

    def _look_at(self, name: str) -> None:
        self._due.add(name)
        self.volume_queue.add(name)

    def _look_at_all_of(self, pod_uid: str) -> None:
        for here in self._actual.of_pod(pod_uid):
            self._look_at(here.name)

    async def _net(self) -> None:
        """Look at everything now and then; whatever starts because of that is a mistake of ours."""
        while True:
            await self.context.clock.sleep(
                NET_SECONDS * (1 + 0.1 * self.context.host.chance.random())
            )
            self.attachability_changed()
            names = {volume.name for volume in self._desired.volumes()}
            names |= {volume.name for volume in self._actual.volumes()}
            for name in sorted(names - self._due):
                begun, soonest = self._start(name)
                if soonest is not None:
                    self._look_at(name)
                if begun or soonest is not None:
                    _log.warning("nobody had looked at a volume", volume=name)
                    self.context.metrics.net_caught()

    # the pictures have changed

    def _wish_changed(self, name: str) -> None:
        self._look_at(name)
        self._in_use.look_at(name)

    def _fact_changed(self, name: str, pod_uid: str) -> None:
        self._look_at(name)
        if pod_uid:
            self._waits.wake(pod_uid)
        self._in_use.look_at(name)
