"""Which nodes get a pod of a daemon set, and on which a pod that is there may stay."""

from collections.abc import Iterable
from typing import Final

import msgspec

from mooring.model.document import Doc
from mooring.model.node import Node
from mooring.model.pod import PodSpec
from mooring.model.taint import TaintEffect, Toleration, find_untolerated, is_tolerated
from mooring.model.wellknown import TaintKey

_NO_EXECUTE, _NO_SCHEDULE = TaintEffect.NO_EXECUTE, TaintEffect.NO_SCHEDULE

# What goes wrong on a node is no reason for its daemons to leave it.
_TOLERATED: Final = (
    (TaintKey.NOT_READY, _NO_EXECUTE),
    (TaintKey.UNREACHABLE, _NO_EXECUTE),
    (TaintKey.DISK_PRESSURE, _NO_SCHEDULE),
    (TaintKey.MEMORY_PRESSURE, _NO_SCHEDULE),
    (TaintKey.PID_PRESSURE, _NO_SCHEDULE),
    (TaintKey.UNSCHEDULABLE, _NO_SCHEDULE),
)
_ON_HOST_NETWORK: Final = (TaintKey.NETWORK_UNAVAILABLE, _NO_SCHEDULE)


class Fit(msgspec.Struct, frozen=True):
    runs: bool  # a pod is made there
    stays: bool  # a pod that is there is left


_UNFIT = Fit(runs=False, stays=False)


def fit(spec: PodSpec, node: Node) -> Fit:
    """Whether the node is cordoned, full, or has the ports taken, plays no role.

    `spec` is that of the template.
    """
    if spec.node_name not in {"", node.name} or not _is_chosen(spec, node):
        return _UNFIT
    tolerations = (*spec.tolerations, *map(_toleration, added_tolerations(spec.host_network)))
    if find_untolerated(node.spec.taints, tolerations) is None:
        return Fit(runs=True, stays=True)
    evicting = [taint for taint in node.spec.taints if taint.effect == _NO_EXECUTE]
    return Fit(runs=False, stays=all(is_tolerated(taint, tolerations) for taint in evicting))


def added_tolerations(host_network: bool) -> Iterable[Doc]:  # noqa: FBT001 - a field of a pod
    for key, effect in (*_TOLERATED, *([_ON_HOST_NETWORK] if host_network else [])):
        yield {"key": key, "operator": "Exists", "effect": effect}


def _is_chosen(spec: PodSpec, node: Node) -> bool:
    if not spec.node_selector.items() <= node.metadata.labels.items():
        return False
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if affinity is None or affinity.required is None:
        return True
    return affinity.required.matches(node.metadata.labels, node.selectable_fields)


def _toleration(document: Doc) -> Toleration:
    return msgspec.convert(document, Toleration)
