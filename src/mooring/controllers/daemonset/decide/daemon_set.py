"""One pass over a daemon set: revisions, status, placement, rolling update.

Always true of a plan:

- A pod is made only on a node that fits; without surge only where no pod is, be it on its way out.
- Old pods are replaced only once every node that fits has its pod.
- A set that is being deleted changes nothing: its pods go by garbage collection.
"""

from mooring.controllers.daemonset.decide.nodes import fit
from mooring.controllers.daemonset.decide.placement import decide_placement
from mooring.controllers.daemonset.decide.pods import pod_document
from mooring.controllers.daemonset.decide.rolling import decide_rolling, surges
from mooring.controllers.daemonset.decide.status import decide_status
from mooring.controllers.daemonset.plan import MOST_AT_ONCE, Changes, Plan, SaveStatus, Step
from mooring.controllers.daemonset.view import Daemon, DaemonSetView, daemons_by_node
from mooring.controllers.owned_pods.claiming import claim
from mooring.controllers.owned_pods.plan import CreatePods, DeletePod
from mooring.controllers.revisions.decide import History, decide_history, forget
from mooring.controllers.revisions.plan import DeleteRevision
from mooring.model.daemon_set import DaemonSet
from mooring.model.steps import plan
from mooring.model.wellknown import Label


def decide(view: DaemonSetView) -> Plan:
    set_ = view.set
    if set_.is_deleting:
        return plan("it is being deleted")
    claimed = claim(set_, view.pods)
    daemons = daemons_by_node(view, claimed.pods)
    spec = set_.pod_spec()
    fits = {node.name: fit(spec, node) for node in sorted(view.nodes, key=lambda each: each.name)}
    history = decide_history(
        set_,
        set_.spec.template,
        view.revisions,
        Label.CONTROLLER_REVISION,
        set_.status.collision_count or 0,
    )
    status = decide_status(set_, fits, daemons, history.hash)
    saved = [SaveStatus(set_, status)] if status != set_.status else []
    because = "nodes lack a pod, or have one too many"
    changes = decide_placement(view, fits, daemons, history.hash, surges=surges(set_))
    if not changes:
        because = "pods have another revision"
        changes = decide_rolling(set_, fits, daemons, history.hash)
    return plan(
        because if changes else "every node has the pod that it should",
        *history.steps,
        *saved,
        *claimed.steps,
        *_steps(set_, changes, history.hash),
        *_forgotten(set_, daemons, history),
    )


def _steps(set_: DaemonSet, changes: Changes, hashed: str) -> list[Step]:
    nodes, gone = changes.nodes[:MOST_AT_ONCE], changes.pods[:MOST_AT_ONCE]
    made = tuple(pod_document(set_, node, hashed) for node in nodes)
    return [
        *([CreatePods(set_, made)] if made else []),
        *changes.notes,
        *(DeletePod(set_, pod) for pod in gone),
    ]


def _forgotten(
    set_: DaemonSet, daemons: dict[str, list[Daemon]], history: History
) -> tuple[DeleteRevision, ...]:
    hashes = {
        daemon.pod.metadata.labels.get(Label.CONTROLLER_REVISION)
        for there in daemons.values()
        for daemon in there
    }
    old = [revision for revision in history.known if revision.name != history.update]
    in_use = {r.name for r in old if r.metadata.labels.get(Label.CONTROLLER_REVISION) in hashes}
    return forget(old, in_use, set_.spec.revision_history_limit)
