"""What the containers of a pod ask for together, as quotas and limits count it."""

from collections.abc import Iterable

from mooring.model.document import Doc
from mooring.model.quantity import Quantity, parse

Amounts = dict[str, Quantity]


def amounts_in(container: Doc, part: str) -> Amounts:
    """`part` is `requests` or `limits`."""
    given = (container.get("resources") or {}).get(part) or {}
    return {name: parse(text) for name, text in given.items()}


def amounts_of_pod(pod: Doc, part: str) -> Amounts:
    """Containers run side by side, init containers one after the other before them."""
    spec = pod["spec"]
    total = _sum(amounts_in(each, part) for each in spec.get("containers") or ())
    beside: Amounts = {}  # init containers that keep running
    highest: Amounts = {}
    for container in spec.get("initContainers") or ():
        asked = amounts_in(container, part)
        if container.get("restartPolicy") == "Always":
            total, beside = _sum((total, asked)), _sum((beside, asked))
            highest = _most(highest, beside)
        else:
            highest = _most(highest, _sum((beside, asked)))
    return _most(total, highest)


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total[name] + amount if name in total else amount
    return total


def _most(one: Amounts, other: Amounts) -> Amounts:
    found = dict(one)
    for name, amount in other.items():
        if name not in found or amount > found[name]:
            found[name] = amount
    return found
