"""The pods that are too many, from the highest number down.

Who their claims are deleted with is settled for all of them before the first is deleted.
"""

from collections.abc import Mapping

from mooring.controllers.owned_pods.plan import DeletePod
from mooring.controllers.statefulset.decide.claims import settle_owners
from mooring.controllers.statefulset.plan import Stage, Step
from mooring.controllers.statefulset.view import Member, StatefulSetView


def decide_condemned(view: StatefulSetView, members: Mapping[int, Member]) -> Stage:
    set_, wanted = view.set, view.set.ordinals
    condemned = [members[n] for n in sorted(members, reverse=True) if n not in wanted]
    if not condemned:
        return Stage()
    steps: list[Step] = []
    for member in condemned:
        steps += settle_owners(view, member.ordinal, member.pod)
    staying = [member for member in condemned if not member.is_leaving]
    if not set_.is_ordered:
        steps += [DeletePod(set_, member.pod) for member in staying]
        return Stage("", tuple(steps))
    first = condemned[0]
    if first.is_leaving:
        return Stage(f"pod {first.pod.name} is being deleted", tuple(steps))
    if not first.is_available and first is not _first_unhealthy(members, wanted):
        return Stage(f"pod {first.pod.name} is not ready", tuple(steps))
    return Stage(f"pod {first.pod.name} is one too many", (*steps, DeletePod(set_, first.pod)))


def _first_unhealthy(members: Mapping[int, Member], wanted: range) -> Member | None:
    """The wanted come first: while one of them is not available, it is that one."""
    ascending = [members[n] for n in sorted(members, key=lambda n: (n not in wanted, n))]
    return next((member for member in ascending if not member.is_healthy), None)
