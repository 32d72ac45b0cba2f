"""Clusters drawn at random, small enough that everything in them matters to somebody."""

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_node import CsiNode
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.scheduling.decide.contract import Change
from mooring.scheduling.decide.contract import Thing as Anything
from mooring.scheduling.decide.memory import Memory, PodShape
from mooring.scheduling.decide.schedule import Answer, decide, find_refuser
from mooring.scheduling.ledger import Ledger
from mooring.scheduling.plan import Verdict
from mooring.scheduling.view import Counted, Picture
from tests.unit.scheduling.things import (
    Doc,
    Stored,
    a_bound_claim,
    a_claim,
    a_class,
    a_csi_node,
    a_driver,
    a_node,
    a_pod,
    a_room,
    a_volume,
    an_attachment,
    asking,
    on,
    pointing_at,
)

ZONE = "topology.kubernetes.io/zone"
ONCE_POD = ["ReadWriteOncePod"]
_TAINT: Doc = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
_TOLERATED = [{"key": "k", "operator": "Exists"}]
_WEB: Doc = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}


def _rules(kind: str) -> Doc:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [_WEB]}}


def _web(pod: Pod) -> Pod:
    return replace(pod, metadata=replace(pod.metadata, labels={"app": "web"}))


def _port(number: int) -> list[Doc]:
    ports = [{"containerPort": number, "hostPort": number, "protocol": "TCP"}]
    return [{"name": "main", "ports": ports}]


def _node(name: str, zone: str = "", cpu: str = "4", **spec: Any) -> Node:
    labels = {ZONE: zone} if zone else {}
    status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "3"}}
    return a_node(name, labels, status=status, spec=spec)


def _nodes(name: str) -> list[Node]:
    plain = [_node(name), _node(name, "z1"), _node(name, "z2"), _node(name, "z1", "1")]
    return [*plain, _node(name, "z1", **_TAINT), _node(name, "z2", unschedulable=True)]


def _local(name: str, storage: str = "1Gi", node: str = "", **more: Any) -> Anything:
    where = {"path": "/mnt"}
    return a_volume(name, storage, node=node, csi=None, local=where, **more)


def _volumes(name: str) -> list[Anything]:
    return [
        _local(name),
        _local(name, "5Gi", "n1"),
        _local(name, node="n2"),
        _local(name, nodeAffinity=on(ZONE, "z1", "z2")),
        _local(name, phase="Released"),
        _local(name, claimRef=pointing_at("a")),
        _local(name, claimRef=pointing_at("b"), node="n1"),
        _local(name, labels={ZONE: "z2"}),
    ]


def _claims(name: str) -> list[Anything]:
    return [
        a_claim(name, storage_class="local"),
        a_claim(name, "3Gi", storage_class="local"),
        a_claim(name, "3Gi", storage_class="made"),
        a_claim(name, storage_class="local", selector={"matchLabels": {ZONE: "z2"}}),
        a_claim(name, storage_class="local", accessModes=ONCE_POD),
        a_bound_claim(name, "v1", storage_class="local"),
        a_bound_claim(name, "v2", storage_class="local", accessModes=ONCE_POD),
        a_claim(name, storage_class=""),
    ]


_TERMS = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z1"]}]}]

POOLS: dict[str, list[Any]] = {
    **{name: [None, *_nodes(name)] for name in ("n1", "n2")},
    **{
        f"csi-{name}": [None, *(a_csi_node(name, most) for most in (None, 0, 1, 2))]
        for name in ("n1", "n2")
    },
    **{name: [None, *_volumes(name)] for name in ("v1", "v2")},
    **{name: [None, *_claims(name)] for name in ("a", "b")},
    "local": [None, a_class(provisioner="kubernetes.io/no-provisioner")],
    "made": [None, a_class("made"), a_class("made", allowedTopologies=_TERMS)],
    "driver": [None, a_driver(), a_driver(tells_capacity=False)],
    "room": [
        None,
        a_room("1Gi", storage_class="made"),
        a_room(storage_class="made"),
        a_room(None, storage_class="made"),
    ],
    "link": [None, an_attachment("vx", "n1"), an_attachment("vx", "n2")],
    "placed-1": [
        None,
        _web(a_pod("placed-1", "x", node="n1")),
        a_pod("placed-1", "x", node="n1", containers=[asking("3")]),
    ],
    "placed-2": [
        None,
        _web(a_pod("placed-2", "a", node="n2")),
        a_pod("placed-2", node="n2", containers=_port(80)),
        a_pod("placed-2", node="n2", affinity=_rules("podAntiAffinity"), priority=-5),
    ],
}
"""What each thing of a cluster may be; None: it is not there."""

FIXED: list[Any] = [
    a_bound_claim("x", "vx"),
    a_volume("vx", phase="Bound", claimRef=pointing_at("x", "uid-x")),
]

_SPREAD = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **_WEB}

PODS: list[Pod] = [
    a_pod("one", "a"),
    a_pod("both", "a", "b"),
    a_pod("large", "b", containers=[asking("2")]),
    a_pod("tolerant", "b", tolerations=_TOLERATED),
    a_pod("zoned", nodeSelector={ZONE: "z2"}),
    a_pod("heavy", containers=[asking("4")], preemptionPolicy="Never"),
    a_pod("port", containers=_port(80)),
    _web(a_pod("near", affinity=_rules("podAffinity"))),
    _web(a_pod("far", affinity=_rules("podAntiAffinity"))),
    _web(a_pod("spread", topologySpreadConstraints=[_SPREAD])),
]

clusters = st.fixed_dictionaries(
    {name: st.integers(0, len(pool) - 1) for name, pool in POOLS.items()}
)
changes = st.lists(
    st.sampled_from(sorted(POOLS)).flatmap(
        lambda name: st.tuples(st.just(name), st.integers(0, len(POOLS[name]) - 1))
    ),
    min_size=1,
    max_size=4,
)


def _is_another(before: Any, after: Any) -> bool:
    """What can only be changed by deleting it and making it anew."""
    if isinstance(before, Claim) and isinstance(after, Claim):
        return replace(before.spec, volume_name="") != replace(after.spec, volume_name="")
    return isinstance(before, Pod | Attachment) and after is not None


class World(Stored):
    """`Storage` and `Surroundings`, which `change` keeps current as the caches are."""

    def __init__(self, drawn: dict[str, int]) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.memory: Memory[Answer] = Memory()
        self.counted: Memory[Counted] = Memory()
        self._held: dict[str, Any] = {}
        for name, place in drawn.items():
            list(self.change(name, place))

    @property
    def storage(self) -> "World":
        return self

    def change(self, name: str, place: int) -> Iterator[Change]:
        """What is told when the thing is as it is in its pool."""
        before, after = self._held.get(name), POOLS[name][place]
        if before is not after and _is_another(before, after):
            yield self._hold(name, before, None)
            before = None
        if before is not after:
            yield self._hold(name, before, after)

    def _hold(self, name: str, before: Any, after: Any) -> Change:
        self._held[name] = after
        self._things = (*FIXED, *(held for held in self._held.values() if held is not None))
        match after or before:
            case Node():
                self.ledger.learn_node(before, after)
            case CsiNode():
                self.ledger.learn_csi(before, after)
            case Attachment():
                self.ledger.learn_attachment(before, after)
            case Pod():
                self.ledger.learn_pod(before, after)
            case _:
                pass  # it is among the things
        return Change(before, after)

    def is_claim_used(self, claim: Key) -> bool:
        return self.ledger.is_claim_used(claim)

    def picture(self, pod: Pod) -> Picture:
        return Picture(pod, self.ledger.nodes(), self)

    def decide(self, pod: Pod) -> Verdict:
        remembering = replace(self.picture(pod), counted=self.counted)
        return decide(remembering, self.memory)

    def find_refuser(self, pod: Pod, shape: PodShape, node: str) -> str | None:
        view = self.ledger.find_node(node)
        return "" if view is None else find_refuser(Picture(pod, (view,), self), shape, self.memory)
