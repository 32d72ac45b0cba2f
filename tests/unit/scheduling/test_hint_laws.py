"""Who is woken and what is remembered, held against waking everybody and remembering nothing."""

from hypothesis import given

from mooring.model.keys import Key
from mooring.scheduling.decide import schedule
from mooring.scheduling.decide.schedule import decide
from mooring.scheduling.decide.score import best_of, merits_of
from mooring.scheduling.plan import Assignment, Unschedulable
from mooring.scheduling.waiting import WaitingPods
from tests.unit.scheduling.drawn import PODS, World, changes, clusters

BY_KEY = {pod.key: pod for pod in PODS}


class _Queue:
    """Looks at pods as the scheduler does, but for giving them what they are assigned."""

    def __init__(self, world: World) -> None:
        self.now = 0.0
        self.world = world
        self.waiting = WaitingPods(lambda: self.now, world)
        self.looks = 0

    def look(self, key: Key) -> None:
        due = [key]
        while due:
            key = due.pop(0)
            self.looks += 1
            self.waiting.take(key)
            verdict = self.world.decide(BY_KEY[key])
            if isinstance(verdict, Unschedulable):
                self.waiting.put(BY_KEY[key], verdict.rules)
            due += [woken for woken, _ in self.waiting.looked(key)]

    def check(self, happened: str) -> None:
        """Ask everybody. Who fitted and does not any more waits from now on."""
        for pod in PODS:
            verdict = decide(self.world.picture(pod))
            if isinstance(verdict, Assignment):
                assert pod.key not in self.waiting, f"{pod.name} sleeps although {happened}"
            elif isinstance(verdict, Unschedulable) and pod.key not in self.waiting:
                self.waiting.put(pod, verdict.rules)


@given(drawn=clusters, steps=changes)
def test_a_pod_that_would_fit_now_is_never_left_asleep(
    drawn: dict[str, int], steps: list[tuple[str, int]]
) -> None:
    world = World(drawn)
    queue = _Queue(world)
    for pod in PODS:
        queue.look(pod.key)
    for name, place in steps:
        for change in world.change(name, place):
            queue.now += 100.0
            for key, _ in queue.waiting.wake(change):
                queue.look(key)
            queue.check(f"{name} became {place}")


@given(drawn=clusters, steps=changes)
def test_what_is_remembered_changes_no_verdict(
    drawn: dict[str, int], steps: list[tuple[str, int]]
) -> None:
    world = World(drawn)
    for name, place in (*steps, *steps[:1]):
        for pod in PODS:
            assert world.decide(pod) == decide(world.picture(pod))
        list(world.change(name, place))


@given(drawn=clusters)
def test_the_node_is_the_best_of_all_that_every_rule_accepts(drawn: dict[str, int]) -> None:
    world = World(drawn)
    for pod in PODS:
        picture = world.picture(pod)
        verdict = world.decide(pod)
        opinions = schedule._gather(picture)
        feasible = [
            (node, merits_of(pod, node))
            for node in picture.nodes
            if isinstance(opinions, schedule._Opinions) and not schedule._judge(opinions, node)
        ]
        assert isinstance(verdict, Assignment) == bool(feasible)
        if isinstance(verdict, Assignment):
            assert verdict.node == best_of(feasible).name
