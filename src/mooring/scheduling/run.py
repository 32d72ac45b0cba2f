"""The scheduler at work: pods come to a queue, are looked at one by one, and go on their way.

Looking at a pod takes no time in which anything else could happen: what one pod is given, the next
one sees taken. Writing and waiting is done beside it, for many pods at once.
"""

import asyncio

import msgspec
from msgspec.structs import replace

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.model.keys import Key
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.model.pod import Pod
from mooring.model.volume import Volume
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.ready import Ranked
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, work
from mooring.scheduling.bindings import Bindings
from mooring.scheduling.caches import Caches, Informers
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.decide.schedule import decide
from mooring.scheduling.plan import Assignment, Preemption, Trouble, Unschedulable
from mooring.scheduling.preemptions import Preemptions
from mooring.scheduling.reports import Reason, Reports
from mooring.scheduling.waiting import LONGEST_WAIT, WaitingPods, Woken

_log = log.get("mooring.scheduler")

DEFAULT_SCHEDULER = "default-scheduler"
PREEMPTERS = 8  # pods whose victims are deleted at once


class SchedulerSettings(msgspec.Struct, frozen=True):
    scheduler_name: str = DEFAULT_SCHEDULER  # pods that name another are another's
    release: KubernetesVersion = NEWEST
    binders: int = 32  # pods whose writes are under way at once
    reporters: int = 8


class PodScheduler:
    """Give it informers that are run elsewhere, then `run` it."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        informers: Informers,
        recorder: Recorder,
        settings: SchedulerSettings = SchedulerSettings(),  # noqa: B008 - immutable
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock, ready=Ranked(self._priority))
        self.reports = Reports(client, clock, recorder, informers.pods)
        self._informers = informers
        self._settings = settings
        self._caches = Caches(informers, settings.release)
        self.bindings = Bindings(client, clock, self._caches, self)
        self.preemptions = Preemptions(client, clock, recorder, self)
        self._waiting = WaitingPods(clock.monotonic, self._caches)
        self._put_off: set[Key] = set()  # to be looked at when their preemption is under way
        self._caches.on_change(self._hear)
        informers.pods.on_change(self._pod_changed)

    async def run(self) -> None:
        """Work until cancelled; if one part dies, all of it stops."""
        sources = self._informers.all()
        bindings, reports, preemptions = self.bindings, self.reports, self.preemptions
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(work(sources, self.queue, self.reconcile, 1))
            tasks.create_task(
                work(sources, bindings.queue, bindings.reconcile, self._settings.binders)
            )
            tasks.create_task(
                work(sources, reports.queue, reports.reconcile, self._settings.reporters)
            )
            tasks.create_task(work(sources, preemptions.queue, preemptions.reconcile, PREEMPTERS))

    async def reconcile(self, key: Key) -> Verdict:
        """Look at one pod. Nothing in here waits: no other pod is looked at meanwhile."""
        self._waiting.take(key)
        try:
            return self._look(key)
        finally:
            self._queue_all(self._waiting.looked(key))

    def _look(self, key: Key) -> Verdict:
        pod = self._informers.pods.get(key)
        if pod is None or not self._is_ours(pod) or self._caches.ledger.is_assumed(key):
            return Settled()
        if pod.is_deleting:
            self.reports.skipped(pod)
            return Settled()
        if key in self.preemptions:
            self._put_off.add(key)
            return Settled()
        match decide(self._caches.picture(pod), self._caches.memory):
            case Assignment() as assignment:
                promised = self._caches.nominations.withdraw(key)
                self._assume(_placed(pod, assignment.node))
                self._keep_no_room(promised, unless_on=assignment.node)
                self.bindings.start(pod, assignment)
                return Settled()
            case Unschedulable() as verdict:
                self._refuse(pod, verdict)
                return Again(LONGEST_WAIT)
            case Trouble(message):
                self.reports.refused(pod, Reason.ERROR, message)
                return Again(self._waiting.fail(key))

    def _assume(self, placed: Pod) -> None:
        """It will be on its node: others may have waited for its company."""
        self._caches.ledger.assume(placed)
        self._queue_all(self._waiting.wake(Change(None, placed)))

    def _refuse(self, pod: Pod, verdict: Unschedulable) -> None:
        self._waiting.put(pod, verdict.rules)
        keeps_node = verdict.waits_for_victims or verdict.preemption is not None
        self.reports.refused(
            pod, Reason.UNSCHEDULABLE, verdict.message, forgets_node=not keeps_node
        )
        if verdict.preemption is not None:
            self._preempt(pod, verdict.preemption)
        elif not keeps_node:
            self._keep_no_room(self._caches.nominations.withdraw(pod.key))

    def _preempt(self, pod: Pod, preemption: Preemption) -> None:
        nominations = self._caches.nominations
        outranked = nominations.outranked(pod, preemption.node)
        for other in outranked:
            nominations.withdraw(other.key)
        nominations.promise(pod, preemption.node)
        self.preemptions.start(pod, preemption, outranked)

    def preempted(self, key: Key, *, promised: bool) -> None:
        if not promised:
            self._keep_no_room(self._caches.nominations.withdraw(key))
        if key in self._put_off:
            self._put_off.discard(key)
            self.queue.add(key)

    def _keep_no_room(self, promised: Pod | None, unless_on: str = "") -> None:
        """A promise has ended: others may have the room, unless the pod itself is there now."""
        if promised is not None and promised.spec.node_name != unless_on:
            self._hear(Change(promised, None))

    def _priority(self, key: Key) -> int:
        """The lowest number comes first."""
        pod = self._informers.pods.get(key)
        return 0 if pod is None else -pod.spec.priority

    def _is_ours(self, pod: Pod) -> bool:
        return (
            not pod.is_scheduled
            and not pod.spec.scheduling_gates
            and pod.spec.scheduler_name == self._settings.scheduler_name
        )

    # how a binding ends

    def placed(self, pod: Pod, node: str) -> None:
        _log.info("pod assigned", pod=pod.key, node=node)
        self._waiting.forget(pod.key)
        self.reports.placed(pod, node)

    def failed(self, pod: Pod, message: str) -> None:
        _log.info("binding failed", pod=pod.key, because=message)
        self._let_go(pod)
        self.reports.refused(pod, Reason.ERROR, message)
        self.queue.add_after(pod.key, self._waiting.fail(pod.key))

    def left(self, pod: Pod) -> None:
        self._let_go(pod)
        self._waiting.forget(pod.key)

    def freed(self, volume: Volume) -> None:
        self._hear(Change(volume, volume))

    def _let_go(self, pod: Pod) -> None:
        """It takes nothing from its node any more, unless it got there by other means."""
        if not self._caches.ledger.is_assumed(pod.key):
            return
        assumed = self._caches.ledger.find_pod(pod.key)
        self._caches.ledger.forget(pod.key)
        self._hear(Change(assumed, None))

    # what happens

    def _hear(self, change: Change) -> None:
        self._queue_all(self._waiting.wake(change))
        self.bindings.hear(change)

    def _queue_all(self, woken: Woken) -> None:
        for key, seconds in woken:
            self._queue_in(key, seconds)

    def _queue_in(self, key: Key, seconds: float) -> None:
        if seconds > 0:
            self.queue.add_after(key, seconds)
        else:
            self.queue.add(key)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        known = new or old
        if known is None:
            return
        key = known.key
        if new is None:
            self.bindings.abandon(key)
        counted = self._caches.ledger.find_pod(key)
        self._caches.ledger.learn_pod(old, new)
        promised = self._caches.nominations.learn(old, new)
        if new is None or new.is_scheduled:
            self._waiting.forget(key)
            if counted and new and counted.spec.node_name != new.spec.node_name:
                self._hear(Change(counted, None))  # somebody else placed it, elsewhere
                counted = None
            if counted is not None or new is not None:
                self._hear(Change(counted, new))
        elif self._is_ours(new) and (old is None or _asks_otherwise(old, new)):
            self._queue_in(key, self._waiting.wake_pod(key))
        self._keep_no_room(promised, unless_on="" if new is None else new.spec.node_name)


def _placed(pod: Pod, node: str) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=node))


def _asks_otherwise(old: Pod, new: Pod) -> bool:
    """Its status is our own doing, mostly; one that lost its promised node may look elsewhere."""
    is_let_down = old.status.nominated_node_name and not new.status.nominated_node_name
    is_other = old.spec != new.spec or old.metadata.labels != new.metadata.labels
    return bool(is_let_down) or is_other
