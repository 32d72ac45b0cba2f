"""The status of a daemon set: on how many nodes its pods should be, are, and work."""

from collections.abc import Mapping

from mooring.controllers.daemonset.decide.nodes import Fit
from mooring.controllers.daemonset.decide.pods import is_updated
from mooring.controllers.daemonset.view import Daemon
from mooring.model.daemon_set import DaemonSet, DaemonSetStatus


def decide_status(
    set_: DaemonSet, fits: Mapping[str, Fit], daemons: Mapping[str, list[Daemon]], hashed: str
) -> DaemonSetStatus:
    """Of several pods on a node the one that was scheduled first counts."""
    desired = [node for node, fit in fits.items() if fit.runs]
    first = [daemons[node][0] for node in desired if daemons.get(node)]
    available = sum(daemon.is_available for daemon in first)
    return DaemonSetStatus(
        current_number_scheduled=len(first),
        number_misscheduled=sum(
            bool(daemons.get(node)) for node, fit in fits.items() if not fit.runs
        ),
        desired_number_scheduled=len(desired),
        number_ready=sum(daemon.is_ready for daemon in first),
        observed_generation=set_.metadata.generation,
        updated_number_scheduled=sum(is_updated(set_, each.pod, hashed) for each in first),
        number_available=available,
        number_unavailable=len(desired) - available,
        collision_count=set_.status.collision_count,
    )
