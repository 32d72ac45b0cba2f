"""The pod's scheduling requirements that Mooring ignores: an event lists them."""

from collections.abc import Iterator
from typing import Final

from mooring.model.pod import Pod, PodAffinityCounts

IGNORED: Final = "FieldIgnored"  # the reason of the event
_MUST = "DoNotSchedule"


def find_ignored(pod: Pod) -> Iterator[str]:
    """Demands only; what was merely preferred may be missed anywhere."""
    affinity = pod.spec.affinity
    if affinity is not None:
        for name, rules in (
            ("podAffinity", affinity.pod_affinity),
            ("podAntiAffinity", affinity.pod_anti_affinity),
        ):
            if _demands(rules):
                yield f"affinity.{name} has no effect: this scheduler does not look at other pods"
    if any(each.when_unsatisfiable == _MUST for each in pod.spec.topology_spread_constraints):
        yield "topologySpreadConstraints have no effect: this scheduler does not look at other pods"


def _demands(rules: PodAffinityCounts | None) -> bool:
    return rules is not None and bool(rules.required)
