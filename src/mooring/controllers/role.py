"""The role `controllers`: all of them, or those chosen, on one client, sharing their informers."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from mooring.controllers.attachment import run as attachment
from mooring.controllers.binding import run as binding
from mooring.controllers.cronjob import run as cronjob
from mooring.controllers.daemonset import run as daemonset
from mooring.controllers.data_source import run as data_source
from mooring.controllers.deployment import run as deployment
from mooring.controllers.disruption_budget import run as disruption_budget
from mooring.controllers.endpoints import run as endpoints
from mooring.controllers.ephemeral import run as ephemeral
from mooring.controllers.expansion import run as expansion
from mooring.controllers.job import run as job
from mooring.controllers.node_lifecycle import run as node_lifecycle
from mooring.controllers.options import Options
from mooring.controllers.pod_gc import run as pod_gc
from mooring.controllers.protection import run as protection
from mooring.controllers.replication import run as replication
from mooring.controllers.snapshots import run as snapshots
from mooring.controllers.statefulset import run as statefulset
from mooring.controllers.taint_eviction import run as taint_eviction
from mooring.controllers.ttl_after_finished import run as ttl_after_finished
from mooring.errors import UsageError
from mooring.reconcile.loops import Loops
from mooring.reconcile.worker import lasting

NAME: Final = "controllers"

CONTROLLERS: Final[Mapping[str, Callable[[Loops, Options], None]]] = {
    "binding": binding.build,
    "protection": protection.build,
    "ephemeral": ephemeral.build,
    "expansion": expansion.build,
    "attachment": attachment.build,
    "replication": replication.build,
    "endpoints": endpoints.build,
    "replicaset": replication.build_replica_sets,
    "deployment": deployment.build,
    "statefulset": statefulset.build,
    "daemonset": daemonset.build,
    "node-lifecycle": node_lifecycle.build,
    "taint-eviction": taint_eviction.build,
    "pod-gc": pod_gc.build,
    "disruption": disruption_budget.build,
    "job": job.build,
    "cronjob": cronjob.build,
    "ttl-after-finished": ttl_after_finished.build,
    "snapshots": snapshots.build,
    "data-source": data_source.build,
}
NAMED: Final = frozenset(
    {
        *("replicaset", "deployment", "statefulset", "daemonset"),
        *("disruption", "job", "cronjob", "ttl-after-finished"),
        *("endpoints", "node-lifecycle", "taint-eviction", "pod-gc"),
        *("snapshots", "data-source"),
    }
)
"""Run only when they are named: beside kube-controller-manager, or upstream's snapshot-controller
and volume-data-source-validator, two would do the same work."""


def choose(text: str) -> tuple[str, ...]:
    """The controllers that `--controllers` asks for, in the syntax of kube-controller-manager:
    `*` are all but those that must be named, `name` is one more, `-name` one less.

    Raises: UsageError for a name that no controller has.
    """
    words = [word for part in text.split(",") if (word := part.strip())]
    for word in words:
        name = word.removeprefix("-")
        if word != "*" and name not in CONTROLLERS:
            known = ", ".join(CONTROLLERS)
            raise UsageError(f"--controllers: there is no controller {name!r}; there are {known}")
    return tuple(
        name
        for name in CONTROLLERS
        if f"-{name}" not in words and (name in words or ("*" in words and name not in NAMED))
    )


def build(loops: Loops, options: Options, chosen: Iterable[str] = CONTROLLERS) -> Loops:
    """Add the chosen controllers to the role."""
    chosen = tuple(chosen)
    options = replace(options, protects_claims="protection" in chosen)
    if options.flex is not None:
        loops.add(partial(lasting, "FlexVolume drivers", loops.clock, options.flex.run))
    for name in chosen:
        CONTROLLERS[name](loops, options)
    return loops
