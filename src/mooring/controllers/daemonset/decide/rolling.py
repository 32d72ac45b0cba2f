"""Rolling updates of daemon sets: which old pods go, and where new ones come beside them.

Without surge, old pods that are not available go at once, and of the others as many as may be
unavailable; the next pass makes new ones. With surge, the new pod comes first.
"""

from collections.abc import Iterable, Mapping

import msgspec

from mooring.controllers.daemonset.decide.nodes import Fit
from mooring.controllers.daemonset.decide.pods import is_updated
from mooring.controllers.daemonset.plan import Changes
from mooring.controllers.daemonset.view import Daemon
from mooring.model.daemon_set import DaemonSet, RollingUpdate, UpdateType
from mooring.model.pod import Pod


class Limits(msgspec.Struct, frozen=True):
    unavailable: int
    surge: int


class _OnNode(msgspec.Struct, frozen=True):
    node: str
    new: tuple[Daemon, ...]
    old: tuple[Daemon, ...]

    @property
    def is_crowded(self) -> bool:
        return len(self.new) > 1 or len(self.old) > 1


def surges(set_: DaemonSet) -> bool:
    return limits(set_, 1).surge > 0


def limits(set_: DaemonSet, desired: int) -> Limits:
    """Percentages of the nodes are rounded up."""
    strategy = set_.spec.update_strategy
    if strategy.type is not UpdateType.ROLLING_UPDATE:
        return Limits(0, 0)
    rolling = strategy.rolling_update or RollingUpdate()
    unavailable, surge = (
        _count(rolling.max_unavailable, desired),
        _count(rolling.max_surge, desired),
    )
    return Limits(max(unavailable, 1) if not surge else unavailable, surge)


def decide_rolling(
    set_: DaemonSet, fits: Mapping[str, Fit], daemons: Mapping[str, list[Daemon]], hashed: str
) -> Changes:
    """Before: every node that fits has a pod, or one that is going."""
    if set_.spec.update_strategy.type is not UpdateType.ROLLING_UPDATE:
        return Changes()
    wanted = [node for node, fit in fits.items() if fit.runs]
    nodes = sorted({*wanted, *daemons})
    there = [_sort(set_, node, daemons.get(node, ()), hashed) for node in nodes]
    most = limits(set_, len(wanted))
    if most.surge:
        return _with_surge(fits, there, most.surge, len(wanted))
    return Changes(pods=tuple(_without_surge(there, most.unavailable)))


def _without_surge(there: Iterable[_OnNode], most: int) -> list[Pod]:
    broken: list[Pod] = []
    candidates: list[Pod] = []
    unavailable = 0
    for on_node in there:
        if on_node.is_crowded or bool(on_node.new) == bool(on_node.old):
            unavailable += 1  # nothing there, or too much: the placement sees to it
        elif on_node.new:
            unavailable += not on_node.new[0].is_available
        elif not on_node.old[0].is_available:
            broken.append(on_node.old[0].pod)
            unavailable += 1
        else:
            candidates.append(on_node.old[0].pod)
    return [*broken, *candidates[: max(0, most - unavailable)]]


def _with_surge(
    fits: Mapping[str, Fit], there: Iterable[_OnNode], most: int, desired: int
) -> Changes:
    gone: list[Pod] = []
    at_once: list[str] = []
    candidates: list[str] = []
    unfit: list[Pod] = []
    surging, available = 0, 0
    for on_node in there:
        if on_node.is_crowded:
            surging += 1
            continue
        shown = (*on_node.old, *on_node.new)
        available += bool(shown) and shown[0].is_available
        if not on_node.old:
            continue
        old, runs = on_node.old[0], on_node.node in fits and fits[on_node.node].runs
        if on_node.new:
            if on_node.new[0].is_available:
                gone.append(old.pod)
            else:
                surging += 1
        elif not runs:
            (unfit if old.is_available else gone).append(old.pod)
        else:
            (candidates if old.is_available else at_once).append(on_node.node)
    gone += unfit[: max(0, available - desired)]  # elsewhere others have taken over
    return Changes((*at_once, *candidates[: max(0, most - surging)]), tuple(gone))


def _sort(set_: DaemonSet, node: str, there: Iterable[Daemon], hashed: str) -> _OnNode:
    staying = [daemon for daemon in there if not daemon.is_leaving]
    new = tuple(daemon for daemon in staying if is_updated(set_, daemon.pod, hashed))
    return _OnNode(node, new, tuple(daemon for daemon in staying if daemon not in new))


def _count(limit: int | str, desired: int) -> int:
    if isinstance(limit, int):
        return limit
    return -(-int(limit.removesuffix("%")) * desired // 100)
