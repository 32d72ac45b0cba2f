"""One pod on every node that fits: where pods are made, and which are deleted.

While a set surges, a node may have an old pod and a new one.
"""

from collections.abc import Mapping

from mooring.controllers.daemonset.decide.nodes import Fit
from mooring.controllers.daemonset.decide.pods import is_updated
from mooring.controllers.daemonset.plan import Changes, NoteFailure, Reason
from mooring.controllers.daemonset.view import Daemon, DaemonSetView
from mooring.model.event import EventType
from mooring.model.pod import Pod, PodPhase
from mooring.model.steps import Emit

_Notes = list[Emit | NoteFailure]


def decide_placement(
    view: DaemonSetView,
    fits: Mapping[str, Fit],
    daemons: Mapping[str, list[Daemon]],
    hashed: str,
    *,
    surges: bool,
) -> Changes:
    made: list[str] = []
    gone: list[Pod] = []
    notes: _Notes = []
    for node, fit in fits.items():
        there = daemons.get(node, [])
        if fit.runs and not there:
            made.append(node)
        elif fit.stays:
            gone += _ended(view, there, notes)
            running = [daemon for daemon in there if daemon.is_running]
            if surges:
                if fit.runs and not running:
                    made.append(node)
                gone += _surplus_of_surge(view, running, hashed)
            else:
                gone += [daemon.pod for daemon in running[1:]]
        else:
            gone += [daemon.pod for daemon in there if not daemon.is_leaving]
    gone += _without_node(fits, daemons)
    return Changes(tuple(made), tuple(gone), tuple(notes))


def _ended(view: DaemonSetView, there: list[Daemon], notes: _Notes) -> list[Pod]:
    """Pods that have ended are deleted; after failures on the same node, later each time."""
    gone: list[Pod] = []
    for daemon in there:
        pod, where = daemon.pod, f"{daemon.pod.namespace}/{daemon.pod.name} on node {daemon.node}"
        if daemon.is_leaving:
            continue
        if pod.status.phase is PodPhase.FAILED and daemon.node not in view.backoff:
            said = f"Found failed daemon pod {where}, will try to kill it"
            notes.append(Emit(view.set, EventType.WARNING, Reason.FAILED_DAEMON_POD, said))
            notes.append(NoteFailure(view.set, daemon.node))
            gone.append(pod)
        elif pod.status.phase is PodPhase.SUCCEEDED:
            said = f"Found succeeded daemon pod {where}, will try to delete it"
            notes.append(Emit(view.set, EventType.NORMAL, Reason.SUCCEEDED_DAEMON_POD, said))
            gone.append(pod)
    return gone


def _surplus_of_surge(view: DaemonSetView, running: list[Daemon], hashed: str) -> list[Pod]:
    """The oldest of each revision stay, until the new one can take over."""
    new = [daemon for daemon in running if is_updated(view.set, daemon.pod, hashed)]
    old = [daemon for daemon in running if daemon not in new]
    gone = [daemon.pod for daemon in (*new[1:], *old[1:])]
    if new and old and (not old[0].is_ready or new[0].is_available):
        gone.append(old[0].pod)
    return gone


def _without_node(fits: Mapping[str, Fit], daemons: Mapping[str, list[Daemon]]) -> list[Pod]:
    """Pods that wait for a node which is gone; those that ran there are collected as garbage."""
    return [
        daemon.pod
        for node, there in daemons.items()
        if node not in fits
        for daemon in there
        if not daemon.pod.is_scheduled and not daemon.is_leaving
    ]
