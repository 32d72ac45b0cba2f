"""What pods ask for and nodes have, as whole numbers."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from mooring.model import quantity
from mooring.model.container import Container
from mooring.model.pod import Pod
from mooring.scheduling.view import Amounts, Demand

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL: Final = "ephemeral-storage"
PODS: Final = "pods"
_HUGE_PAGES = "hugepages-"

_LEAST = {CPU: "100m", MEMORY: "200Mi"}
"""What a container that asks for none of it counts as when nodes are compared."""

_Sums = dict[str, int]


def demand_of(pod: Pod) -> Demand:
    asked = _total(pod, {})
    if not asked and not pod.spec.containers:
        return Demand()
    return Demand(_amounts(asked), _amounts(_total(pod, _LEAST)))


def allocatable_of(status: Mapping[str, str]) -> tuple[Amounts, int]:
    """What a node can give, and how many pods it takes."""
    sums = _numbers(status)
    return _amounts({k: v for k, v in sums.items() if k != PODS}), sums.get(PODS, 0)


def _total(pod: Pod, least: Mapping[str, str]) -> _Sums:
    """Containers run side by side, init containers one after the other before them."""
    spec = pod.spec
    total = _sum(_requests(container, least) for container in spec.containers)
    beside: _Sums = {}  # init containers that keep running
    highest: _Sums = {}
    for container in spec.init_containers:
        asked = _requests(container, least)
        if container.restart_policy == "Always":
            total, beside = _sum((total, asked)), _sum((beside, asked))
            highest = _most(highest, beside)
        else:
            highest = _most(highest, _sum((beside, asked)))
    total = _most(total, highest)
    for name, amount in _numbers(spec.resources.requests).items():
        if name in {CPU, MEMORY} or name.startswith(_HUGE_PAGES):
            total[name] = amount  # said of the whole pod: that is what it gets
    return _sum((total, _numbers(spec.overhead))) if spec.overhead else total


def _requests(container: Container, least: Mapping[str, str]) -> _Sums:
    return _numbers({**least, **container.resources.requests})


def _numbers(texts: Mapping[str, str]) -> _Sums:
    return {name: _number(name, text) for name, text in texts.items()}


@lru_cache(maxsize=4096)
def _number(name: str, text: str) -> int:
    """Thousandths of a cpu, whole ones of all else; what makes no sense is nothing."""
    try:
        amount = quantity.parse(text)
    except ValueError:
        return 0
    return -(-amount.nanos // 10**6) if name == CPU else amount.bytes_ceil()


def _sum(parts: Iterable[Mapping[str, int]]) -> _Sums:
    total: _Sums = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _most(one: Mapping[str, int], other: Mapping[str, int]) -> _Sums:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def _amounts(sums: Mapping[str, int]) -> Amounts:
    others = {
        name: amount
        for name, amount in sums.items()
        if amount and name not in {CPU, MEMORY, EPHEMERAL}
    }
    return Amounts(sums.get(CPU, 0), sums.get(MEMORY, 0), sums.get(EPHEMERAL, 0), others)
