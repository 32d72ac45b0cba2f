"""Laws of a rollout, whatever the order in which controllers, kubelets and news come.

The world: replica sets whose controller follows late, and whose status is behind that. A pod that
is available stays so until its replica set deletes it, which deletes those that are not first.
"""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from mooring.controllers.deployment.decide.deployment import decide
from mooring.controllers.deployment.decide.limits import least_available, most_pods
from mooring.controllers.deployment.plan import (
    AnnotateSet,
    CreateSet,
    DeleteSet,
    SaveStatus,
    ScaleSet,
    Step,
)
from mooring.controllers.deployment.view import DeploymentView
from mooring.model.deployment import Deployment, StrategyType
from mooring.model.replica_set import ReplicaSet
from mooring.model.wire import read_document
from tests.unit.controllers.deployment.deployments import NOW, a_deployment, a_template

ENOUGH = 300  # passes; more than any rollout of so few pods takes


class World:
    """One deployment, and what becomes of it."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.sets: dict[str, ReplicaSet] = {}
        self.pods: dict[str, list[bool]] = {}  # of each replica set: whether it is available
        self._born = 0

    def decide(self, cut: int = 100) -> bool:
        """A pass of the controller, killed after `cut` writes; whether it did anything."""
        unfinished = {self.sets[name].uid: len(pods) for name, pods in self.pods.items()}
        seen = DeploymentView(self.deployment, tuple(self.sets.values()), unfinished, NOW)
        steps = decide(seen).steps[:cut]
        for step in steps:
            self._write(step)
        return bool(steps)

    def _write(self, step: Step) -> None:
        match step:
            case CreateSet(_, document):
                self._born += 1
                stamp = f"2026-01-01T00:{self._born // 60:02}:{self._born % 60:02}Z"
                told = {"uid": f"u-{step.name}", "creationTimestamp": stamp, "generation": 1}
                made = {**document, "metadata": {**document["metadata"], **told}}
                assert step.name not in self.sets
                self.sets[step.name] = read_document(made, ReplicaSet)
                self.pods[step.name] = []
            case ScaleSet(_, each, replicas, annotations):
                self._change(each.name, annotations, replicas=replicas)
            case AnnotateSet(each, annotations, least):
                self._change(each.name, annotations, min_ready_seconds=least)
            case DeleteSet(each):
                assert not self.pods.pop(each.name)
                del self.sets[each.name]
            case SaveStatus(_, status, revision):
                noted = {**self.deployment.metadata.annotations}
                if revision:
                    noted["deployment.kubernetes.io/revision"] = revision
                metadata = structs.replace(self.deployment.metadata, annotations=noted)
                self.deployment = structs.replace(self.deployment, status=status, metadata=metadata)
            case other:
                raise AssertionError(other)

    def _change(self, name: str, annotations: object, **spec: int) -> None:
        each = self.sets[name]
        noted = {**each.metadata.annotations, **dict(annotations)}  # type: ignore[call-overload]
        metadata = structs.replace(
            each.metadata, annotations=noted, generation=each.metadata.generation + 1
        )
        self.sets[name] = structs.replace(
            each, metadata=metadata, spec=structs.replace(each.spec, **spec)
        )

    def follow(self, name: str) -> None:
        """The controller of replica sets makes or deletes pods."""
        pods, wanted = self.pods[name], self.sets[name].spec.replicas
        pods.sort()  # those that are not available go first
        del pods[: max(len(pods) - wanted, 0)]
        pods.extend([False] * (wanted - len(pods)))

    def report(self, name: str) -> None:
        """And says how many there are."""
        each, pods = self.sets[name], self.pods[name]
        status = structs.replace(
            each.status,
            replicas=len(pods),
            ready_replicas=sum(pods),
            available_replicas=sum(pods),
            observed_generation=each.metadata.generation,
        )
        self.sets[name] = structs.replace(each, status=status)

    def start(self, name: str) -> None:
        """A pod becomes available."""
        pods = self.pods[name]
        if False in pods:
            pods[pods.index(False)] = True

    def settle(self) -> None:
        for _ in range(ENOUGH):
            acted = self.decide()
            for name in list(self.sets):
                self.follow(name)
                self.start(name)
                before = self.sets[name]
                self.report(name)
                acted = acted or self.sets[name] != before
            if not acted:
                return
        raise AssertionError("it never ends")

    def want(self, image: str) -> None:
        self._spec(template=a_template(image))

    def resize(self, replicas: int) -> None:
        self._spec(replicas=replicas)

    def _spec(self, **spec: object) -> None:
        deployment = self.deployment
        metadata = structs.replace(
            deployment.metadata, generation=deployment.metadata.generation + 1
        )
        self.deployment = structs.replace(
            deployment, metadata=metadata, spec=structs.replace(deployment.spec, **spec)
        )

    @property
    def wanted(self) -> int:
        return sum(each.spec.replicas for each in self.sets.values())

    @property
    def lasting(self) -> int:
        """Available pods that stay when all replica sets have done what they were told."""
        return sum(
            min(sum(pods), self.sets[name].spec.replicas) for name, pods in self.pods.items()
        )

    def check_done(self) -> None:
        deployment = self.deployment
        image = deployment.spec.template["spec"]["containers"][0]["image"]
        for name, each in self.sets.items():
            new = each.spec.template["spec"]["containers"][0]["image"] == image
            wanted = deployment.spec.replicas if new else 0
            assert (each.spec.replicas, len(self.pods[name])) == (wanted, wanted), name
        status = deployment.status
        assert status.updated_replicas == status.available_replicas == deployment.spec.replicas
        progress = status.find_condition("Progressing")
        assert progress is not None
        assert progress.reason == "NewReplicaSetAvailable"


SIZES = st.integers(1, 6)
LIMITS = st.sampled_from([(1, 0), (0, 1), (2, 1), ("25%", "25%"), ("100%", 0), (0, "50%"), (3, 2)])
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["decide", "cut", "follow", "report", "start", "image"]), st.integers(0, 3)
    ),
    max_size=60,
)


def act(world: World, move: str, which: int) -> None:
    names = sorted(world.sets)
    name = names[which % len(names)] if names else ""
    match move:
        case "decide":
            world.decide()
        case "cut":
            world.decide(which)
        case "image":
            world.want(f"image-{which}")
        case _:
            if name:
                getattr(world, move)(name)


@given(replicas=SIZES, limits=LIMITS, moves=MOVES)
@settings(deadline=None)
def test_a_rolling_update_keeps_its_limits_after_each_step_and_ends(
    replicas: int, limits: tuple[int | str, int | str], moves: list[tuple[str, int]]
) -> None:
    world = World(a_deployment(replicas, *limits))
    world.settle()
    world.check_done()
    for move, which in moves:
        before = world.lasting
        act(world, move, which)
        assert world.wanted <= most_pods(world.deployment)
        assert world.lasting >= min(before, least_available(world.deployment))
    world.settle()
    world.check_done()


@given(replicas=SIZES, moves=MOVES)
@settings(deadline=None)
def test_recreated_pods_never_meet_those_of_another_template(
    replicas: int, moves: list[tuple[str, int]]
) -> None:
    world = World(a_deployment(replicas, strategy={"type": StrategyType.RECREATE.value}))
    world.settle()
    for move, which in moves:
        act(world, move, which)
        assert sum(bool(pods) for pods in world.pods.values()) <= 1
    world.settle()
    world.check_done()


@given(
    replicas=SIZES,
    limits=LIMITS,
    moves=MOVES,
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=3),
)
@settings(deadline=None)
def test_scaled_at_any_time_it_ends_with_the_wished_number(
    replicas: int,
    limits: tuple[int | str, int | str],
    moves: list[tuple[str, int]],
    sizes: list[int],
) -> None:
    world = World(a_deployment(replicas, *limits))
    for index, (move, which) in enumerate(moves):
        act(world, move, which)
        if index % 20 == 10 and sizes:
            world.resize(sizes.pop())
    world.settle()
    world.check_done()
