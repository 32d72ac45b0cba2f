"""One pass over a stateful set: revisions, status, wanted pods, surplus pods, rolling update.

Always true of a plan:

- No pod is made for a number that has one, be it on its way out.
- With OrderedReady at most one pod is made or deleted, and only when all below it are available;
  a pod is deleted for an update only when all wanted pods are.
- No claim is deleted; see `claims.py` for who it goes with.
- A set that is being deleted changes nothing but its status.
- Of a pod, its claims are made first.
"""

from mooring.controllers.owned_pods.claiming import claim
from mooring.controllers.revisions.decide import History, decide_history, forget
from mooring.controllers.revisions.plan import DeleteRevision
from mooring.controllers.statefulset.decide.condemned import decide_condemned
from mooring.controllers.statefulset.decide.growth import decide_growth
from mooring.controllers.statefulset.decide.replicas import decide_replicas
from mooring.controllers.statefulset.decide.rolling import decide_rolling
from mooring.controllers.statefulset.decide.status import decide_status
from mooring.controllers.statefulset.plan import Plan, SaveStatus, Stage
from mooring.controllers.statefulset.view import Member, StatefulSetView, members
from mooring.model.stateful_set import StatefulSet
from mooring.model.steps import plan
from mooring.model.wellknown import Label


def decide(view: StatefulSetView) -> Plan:
    set_ = view.set
    claimed = claim(set_, view.pods, lambda pod: set_.find_ordinal(pod.name) is not None)
    found = members(view, claimed.pods)
    history = decide_history(
        set_,
        set_.spec.template,
        view.revisions,
        Label.REVISION_HASH,
        set_.status.collision_count or 0,
    )
    growth = decide_growth(view)
    status = decide_status(view, found.values(), history, growth.condition)
    saved = [SaveStatus(set_, status)] if status != set_.status else []
    if set_.is_deleting:
        return plan("it is being deleted", *saved)
    stage = _stages(view, found, history)
    forgotten = _forgotten(set_, found, history, status.current_revision)
    return plan(
        stage.because or "all pods are as wanted",
        *history.steps,
        *saved,
        *claimed.steps,
        *growth.steps,
        *stage.steps,
        *forgotten,
    )


def _stages(view: StatefulSetView, found: dict[int, Member], history: History) -> Stage:
    """One after another, up to the first that is waited for."""
    replicas = decide_replicas(view, found, history)
    if replicas.because:
        return replicas
    condemned = decide_condemned(view, found)
    steps = (*replicas.steps, *condemned.steps)
    if condemned.because:
        return Stage(condemned.because, steps)
    rolling = decide_rolling(view, found, history.update)
    return Stage(rolling.because, (*steps, *rolling.steps))


def _forgotten(
    set_: StatefulSet, found: dict[int, Member], history: History, current: str
) -> tuple[DeleteRevision, ...]:
    limit = set_.spec.revision_history_limit
    in_use = {current, history.update, *(member.revision for member in found.values())}
    unused = [revision for revision in history.known if revision.name not in in_use]
    return forget(unused, in_use, limit) if limit >= 0 else ()
