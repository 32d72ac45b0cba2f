"""Why an object waits, out of a picture of the cluster: pure, and asked of the real tables."""

from datetime import datetime

from mooring.why.answer import Answer, Ref, Verdict
from mooring.why.world import World


def explain(world: World, subject: Ref, now: datetime) -> Answer:
    """What the object waits for, link by link."""
    unseen = tuple(f"{kind.resource.plural}: {why}" for kind, why in world.unseen.items())
    return Answer(subject, Verdict.UNKNOWN, f"nothing is known of {subject}", unseen=unseen)
