"""Taints keep pods away from a node; tolerations make exceptions."""

from collections.abc import Iterable
from typing import Final

from mooring.model.wire import Wire


class Taint(Wire, frozen=True):
    key: str
    effect: str = ""
    value: str = ""
    time_added: str | None = None


class Toleration(Wire, frozen=True):
    """An empty key with `Exists` tolerates every taint; an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return self.operator in {"", "Equal"} and self.value == taint.value


class TaintEffect:
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE: Final = "NoSchedule"
    NO_EXECUTE: Final = "NoExecute"
    PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"


KEEPS_AWAY = frozenset({TaintEffect.NO_SCHEDULE, TaintEffect.NO_EXECUTE})


def find_untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first taint that keeps a pod with these tolerations away."""
    held = tuple(tolerations)
    for taint in taints:
        if taint.effect in KEEPS_AWAY and not is_tolerated(taint, held):
            return taint
    return None


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return any(toleration.tolerates(taint) for toleration in tolerations)
