"""Asking one rule about one node, the way `schedule.py` does."""

from mooring.scheduling.decide.contract import Among, Refused, Rule
from mooring.scheduling.plan import Trouble
from mooring.scheduling.view import Picture

FINE: tuple[str, ...] = ()


def reasons(rule: Rule, picture: Picture) -> tuple[str, ...]:
    """Why the pod cannot be on the first node of the picture; none: it can."""
    opinion = rule.look_at(picture)
    match opinion:
        case None:
            return FINE
        case Refused(why):
            return why
        case Trouble(message):
            return (message,)
        case Among(names, check):
            node = picture.nodes[0]
            refused = check(node) if node.name in names else Refused(("not among them",))
        case check:
            refused = check(picture.nodes[0])
    return FINE if refused is None else refused.reasons
