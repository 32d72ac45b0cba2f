"""The loop over volumes: both pictures of one are compared, and operations started.

Nothing here ticks: an operation that ended, a picture that changed, news of the node or a driver
put a volume's name into the queue. A net under it all looks at everything once a minute, and counts
what it finds.
"""

import asyncio
from collections.abc import Iterable

from mooring import log
from mooring.node.actual import Attachability
from mooring.node.context import NodeContext
from mooring.node.decide import decide, is_waiting_for_label
from mooring.node.desired import WantedVolume
from mooring.node.effects.run import Effects
from mooring.node.operations import Operations
from mooring.node.plan import Operation
from mooring.node.reconstruct import needs_no_attaching
from mooring.node.restart_gate import RestartGate
from mooring.node.view import View
from mooring.node.waits import Waits
from mooring.plugins.contract import VolumeError
from mooring.reconcile.operations import PutOff, Started
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.worker import Again, Settled, Verdict, lasting, serve

NET_SECONDS = 60.0

_log = log.get("mooring.node")


class VolumeLoop:
    """`run` runs it until cancelled. `gate` decides what it may unmount."""

    def __init__(self, context: NodeContext, waits: Waits, gate: RestartGate) -> None:
        self.queue: KeyedQueue[str] = KeyedQueue(context.clock)
        self._context = context
        self._waits = waits
        self._gate = gate
        self._operations = Operations(context.clock, Effects(context).run, self._ended)
        self._unsure: set[str] = set()  # pods that may want more than is known
        self._due: set[str] = set()  # volumes with a pending reconcile
        self._news: dict[str, set[str]] = {}  # for pods, that came during an operation on a volume

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            tasks.create_task(serve(self.queue, self._reconcile))
            tasks.create_task(lasting("net under volumes", self._context.clock, self._net))

    # what has changed

    def look_at(self, name: str) -> None:
        self._due.add(name)
        self.queue.add(name)

    def look_at_all(self) -> None:
        """At everything that is here."""
        for volume in self._context.actual.volumes():
            self.look_at(volume.name)

    def look_at_pod(self, pod_uid: str) -> None:
        """At everything that the pod has."""
        for here in self._context.actual.of_pod(pod_uid):
            self.look_at(here.name)

    def retry(self, names: Iterable[str]) -> None:
        """Something has changed that may have been in the way of these volumes."""
        for name in names:
            self._operations.forgive(name)
            self.look_at(name)

    def set_up_again(self, name: str, pod_uid: str, cause: str) -> None:
        """Bring the content up to date; an operation that runs now may have read the old one."""
        here = self._context.actual.find(name)
        if self._operations.busy(name):
            self._news.setdefault(name, set()).add(pod_uid)
        elif here is None or pod_uid not in here.pods:
            return  # it will be set up for the first time
        else:
            self._context.actual.remount(name, pod_uid)
        self._context.metrics.refreshed(cause)

    def unsure(self, pod_uid: str) -> None:
        """The pod may want more than is known: from now on it keeps what it has."""
        self._unsure.add(pod_uid)

    def sure(self, pod_uid: str) -> None:
        """It is known what the pod wants."""
        if pod_uid in self._unsure:
            self._unsure.discard(pod_uid)
            self.look_at_pod(pod_uid)

    def forget(self, pod_uid: str) -> None:
        """The pod was released."""
        self._unsure.discard(pod_uid)

    def attachability_changed(self) -> None:
        """A CSIDriver may have changed: volumes that need no attaching stop waiting for it.

        Those that were found on disk are in use as attachable ones until then.
        """
        for wanted in tuple(self._context.desired.volumes()):
            if not wanted.is_attachable:
                continue
            try:
                is_attachable = self._context.registry.find_attachable(wanted.use) is not None
            except VolumeError:
                continue  # unknown
            if not is_attachable:
                _log.info("volume need not be attached any more", volume=wanted.name)
                self._context.desired.became_unattachable(wanted.name)
        if self._gate.is_synced and not self._context.attaches_itself:
            self._find_unattachable()

    def _find_unattachable(self) -> None:
        context, attached = self._context, self._context.own_node.attached()
        for here in tuple(context.actual.volumes()):
            if here.attachability is not Attachability.UNCERTAIN or here.name in attached:
                continue
            if needs_no_attaching(context.registry, here):
                context.actual.attachability_known(here.name, Attachability.NO, "")

    # one volume

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
            self._fail_for_label(view)
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
        context = self._context
        wanted, here = context.desired.find(name), context.actual.find(name)
        held = () if here is None else here.pods.keys()
        must_be_attached = wanted is not None and wanted.is_attachable
        return View(
            name,
            wanted,
            here,
            busy=self._operations.busy(name),
            unsure=frozenset(self._unsure.intersection(held)),
            may_destroy=self._gate.may_destroy,
            attaches_itself=context.attaches_itself,
            is_attached=not must_be_attached or name in context.own_node.attached(),
            grows_on_node=wanted is not None and self._grows(wanted),
        )

    def _grows(self, wanted: WantedVolume) -> bool:
        """Whether a pod writes to it, and its plugin supports expansion on the node."""
        if wanted.use.volume is None or all(by.use.read_only for by in wanted.pods.values()):
            return False
        try:
            plugin = self._context.registry.find_node_expandable(wanted.use)
        except VolumeError:
            return False
        return plugin is not None and plugin.needs_node_growth(wanted.use)

    def _fail_for_label(self, view: View) -> None:
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
            self._context.actual.remount(operation.volume, uid)
        self.look_at(operation.volume)

    async def _net(self) -> None:
        """Look at everything now and then; whatever starts because of that is a mistake of ours."""
        context = self._context
        while True:
            await context.clock.sleep(NET_SECONDS * (1 + 0.1 * context.host.rng.random()))
            self.attachability_changed()
            names = {volume.name for volume in context.desired.volumes()}
            names |= {volume.name for volume in context.actual.volumes()}
            for name in sorted(names - self._due):
                begun, soonest = self._start(name)
                if soonest is not None:
                    self.look_at(name)
                if begun or soonest is not None:
                    _log.warning("nobody had looked at a volume", volume=name)
                    context.metrics.net_caught()
