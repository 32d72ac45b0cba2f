"""Taints keep pods away from a node; tolerations let them come nevertheless."""

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
