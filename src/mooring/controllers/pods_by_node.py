"""Pods by the node they are on: one index, which every controller that asks for it shares."""

from collections.abc import Sequence

from mooring.model.pod import Pod
from mooring.reconcile.informer import Informer

_INDEX = "controllers: pods by node"


def index_by_node(pods: Informer[Pod]) -> None:
    pods.add_index(_INDEX, _node_of)


def pods_on(pods: Informer[Pod], node: str) -> Sequence[Pod]:
    """Only of an informer that has the index."""
    return pods.by_index(_INDEX, node)


def _node_of(pod: Pod) -> tuple[str, ...]:
    return (pod.spec.node_name,) if pod.is_scheduled else ()
