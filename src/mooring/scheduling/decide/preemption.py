"""The text about preemption at the end of a FailedScheduling event.

Mooring's scheduler never preempts pods. Where upstream would find nothing to preempt, the text is
upstream's; where it would preempt, ours says that Mooring does not (docs/decisions/0010).
"""

from collections import Counter
from collections.abc import Mapping

from mooring.model.pod import Pod
from mooring.scheduling.decide.contract import Refused
from mooring.scheduling.view import NodeView, Picture

NEVER = "preemption: not eligible due to preemptionPolicy=Never."
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_DONE = "Preemption is not done by this scheduler"


def preemption_text(picture: Picture, refusals: Mapping[str, Refused]) -> str:
    """`refusals` are by node; a node that is not among them was refused for the pod's own sake."""
    if picture.pod.spec.preemption_policy == "Never":
        return NEVER
    counts = Counter(_word(picture.pod, node, refusals.get(node.name)) for node in picture.nodes)
    counted = ", ".join(sorted(f"{count} {word}" for word, count in counts.items()))
    return f"preemption: 0/{len(picture.nodes)} nodes are available: {counted}."


def _word(pod: Pod, node: NodeView, refused: Refused | None) -> str:
    if refused is None or not refused.yields:
        return NOT_HELPFUL
    is_above = any(other.spec.priority < pod.spec.priority for other in node.pods.values())
    return NOT_DONE if is_above else NO_VICTIMS
