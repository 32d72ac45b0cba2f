"""The laws of jobs, in a world of values: plans are carried out in part, pods end by chance."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.controllers.job.decide.job import decide
from mooring.controllers.job.plan import Decision, DropPod, Remember, SaveStatus, Step, Untrack
from mooring.controllers.job.view import Backoff, JobView
from mooring.controllers.owned_pods.plan import CreatePods, DeletePod
from mooring.model import job_indexes
from mooring.model.document import Doc
from mooring.model.job import COMPLETE, FAILED, TRACKING, Job, JobStatus
from mooring.model.pod import Pod, PodPhase
from mooring.model.steps import Emit
from mooring.model.timestamp import to_seconds
from mooring.model.wire import read_document

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def a_job(**spec: Any) -> Job:
    template = {
        "metadata": {"labels": {"job": "once"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main"}]},
    }
    whole = {"selector": {"matchLabels": {"job": "once"}}, "template": template, **spec}
    metadata = {"name": "once", "namespace": "default", "uid": "j", "generation": 1}
    return read_document({"metadata": metadata, "spec": whole}, Job)


class World:
    """A job and its pods, as the API would have them; the controller may die at any step."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.pods: dict[str, Pod] = {}
        self.ends: dict[str, PodPhase] = {}  # of pods that ended by themselves, by uid
        self.made = 0
        self.backoff = Backoff()
        self.now = START
        self.events: list[str] = []

    def decision(self) -> Decision:
        pods = tuple(self.pods.values())
        return decide(JobView(self.job, pods, frozenset(), self.backoff, self.now))

    def look(self, steps: int = 1000) -> bool:
        """Carry out so many steps of the plan; whether there were any."""
        plan = self.decision().plan
        for step in plan.steps[:steps]:
            self.perform(step)
            self.check()
        return bool(plan.steps)

    def restart(self) -> None:
        self.backoff = Backoff()

    def perform(self, step: Step) -> None:
        match step:
            case SaveStatus(_, status):
                self.job = replace(self.job, status=status)
            case Untrack(pod) | DropPod(_, pod):
                self._untrack(pod.uid)
                if isinstance(step, DropPod):
                    self._delete(pod.uid)
            case DeletePod(_, pod):
                self._delete(pod.uid)
            case CreatePods(_, documents):
                for document in documents:
                    self._create(document)
            case Remember(_, backoff):
                self.backoff = backoff
            case Emit():
                self.events.append(step.reason)
            case other:
                raise AssertionError(other)

    def _create(self, document: Doc) -> None:
        self.made += 1
        uid = f"p{self.made:04}"
        metadata = {**document["metadata"], "name": uid, "uid": uid}
        metadata["creationTimestamp"] = to_seconds(self.now)
        self.pods[uid] = read_document({**document, "metadata": metadata}, Pod)

    def _untrack(self, uid: str) -> None:
        pod = self.pods.get(uid)
        if pod is not None:
            names = tuple(name for name in pod.metadata.finalizers if name != TRACKING)
            self.pods[uid] = replace(pod, metadata=replace(pod.metadata, finalizers=names))
            self._collect(uid)

    def _delete(self, uid: str) -> None:
        pod = self.pods.get(uid)
        if pod is not None and not pod.is_deleting:
            moment = to_seconds(self.now)
            self.pods[uid] = replace(pod, metadata=replace(pod.metadata, deletion_timestamp=moment))
            self._collect(uid)

    def _collect(self, uid: str) -> None:
        """A pod that is deleted, and held by nothing, is gone; the kubelet is quick here."""
        pod = self.pods[uid]
        if pod.is_deleting and TRACKING not in pod.metadata.finalizers:
            del self.pods[uid]

    def end(self, number: int, phase: PodPhase) -> None:
        running = [p for p in self.pods.values() if not p.is_finished and not p.is_deleting]
        if running:
            pod = sorted(running, key=lambda pod: pod.uid)[number % len(running)]
            self.pods[pod.uid] = replace(pod, status=replace(pod.status, phase=phase))
            self.ends[pod.uid] = phase

    def check(self) -> None:
        status, spec = self.job.status, self.job.spec
        succeeded = [uid for uid, phase in self.ends.items() if phase is PodPhase.SUCCEEDED]
        if not self.job.is_indexed:
            listed = [uid for uid in status.uncounted.succeeded if uid in self.pods]
            assert status.succeeded + len(listed) <= len(succeeded), "a pod was counted twice"
        active = [p for p in self.pods.values() if not p.is_finished and not p.is_deleting]
        assert len(active) <= spec.parallelism, "more pods than wanted run"
        if self.job.is_finished:
            assert not active
            assert status.uncounted.succeeded == status.uncounted.failed == ()

    def settle(self) -> None:
        """Everything goes well from now on."""
        for number in range(200):
            self.now += timedelta(seconds=600)
            while self.look():
                pass
            if self.job.is_finished:
                return
            self.end(number, PodPhase.SUCCEEDED)
        raise AssertionError(f"it never ends: {self.job.status}")


ACTIONS = st.one_of(
    st.tuples(st.just("look"), st.integers(0, 6)),
    st.tuples(st.just("succeed"), st.integers(0, 5)),
    st.tuples(st.just("fail"), st.integers(0, 5)),
    st.tuples(st.just("restart"), st.just(0)),
    st.tuples(st.just("wait"), st.integers(1, 700)),
    st.tuples(st.just("suspend"), st.integers(0, 1)),
)


def act(world: World, action: str, number: int) -> None:
    match action:
        case "look":
            world.look(number)
        case "succeed":
            world.end(number, PodPhase.SUCCEEDED)
        case "fail":
            world.end(number, PodPhase.FAILED)
        case "restart":
            world.restart()
        case "wait":
            world.now += timedelta(seconds=number)
        case "suspend":
            world.job = replace(world.job, spec=replace(world.job.spec, suspend=bool(number)))
        case _:
            raise AssertionError(action)


@settings(max_examples=150, deadline=None)
@given(
    actions=st.lists(ACTIONS, max_size=40),
    completions=st.one_of(st.none(), st.integers(0, 4)),
    parallelism=st.integers(1, 3),
    indexed=st.booleans(),
)
def test_each_pod_is_counted_once_from_any_cut(
    actions: list[tuple[str, int]], completions: int | None, parallelism: int, *, indexed: bool
) -> None:
    spec: dict[str, Any] = {"parallelism": parallelism, "backoffLimit": 100}
    if completions is not None:
        spec |= {"completions": completions}
    if indexed and completions is not None:
        spec |= {"completionMode": "Indexed"}
    world = World(a_job(**spec))
    for action, number in actions:
        act(world, action, number)
    world.job = replace(world.job, spec=replace(world.job.spec, suspend=False))
    world.settle()
    status = world.job.status
    assert status.has(COMPLETE)
    check_counts(world, status, completions)
    assert all(TRACKING not in pod.metadata.finalizers for pod in world.pods.values())


def check_counts(world: World, status: JobStatus, completions: int | None) -> None:
    ended = list(world.ends.values())
    if world.job.is_indexed:
        assert status.completed_indexes == job_indexes.spelled(range(completions or 0))
        assert status.succeeded == completions
    else:
        assert status.succeeded == ended.count(PodPhase.SUCCEEDED)
    assert status.failed == ended.count(PodPhase.FAILED)


@settings(max_examples=80, deadline=None)
@given(cuts=st.lists(st.integers(0, 5), max_size=30), limit=st.integers(0, 3))
def test_a_job_fails_after_one_failure_more_than_its_limit(cuts: list[int], limit: int) -> None:
    world = World(a_job(completions=1, backoffLimit=limit))
    for cut in [*cuts, *[1000] * 60]:
        world.look(cut)
        world.now += timedelta(seconds=601)
        world.end(0, PodPhase.FAILED)
        if world.job.is_finished:
            break
    assert world.job.status.has(FAILED)
    assert world.job.status.failed == limit + 1
    assert world.events in ([], ["BackoffLimitExceeded"]), "told at most once"
