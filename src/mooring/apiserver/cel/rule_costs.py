"""What rules may cost by estimate: each one, and all of a schema together."""

from mooring.model.field_error import FieldError, forbidden

MOST_PER_RULE = 10_000_000
MOST_PER_SCHEMA = 100_000_000
_NAMED = 4  # the most costly rules


def too_costly(what: str, cost: int, most: int = MOST_PER_RULE) -> str:
    """What to say of a cost over the budget; empty: it is not."""
    if cost <= most:
        return ""
    factor = cost / most
    if factor > 100:
        shown = "more than 100x"
    elif factor < 1.5:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return (
        f"{what} exceeds budget by factor of {shown} (try simplifying the rule, or adding "
        "maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )


class TotalCost:
    """The cost of all rules of a schema."""

    def __init__(self) -> None:
        self._total = 0
        self._most: list[tuple[int, str]] = []

    def add(self, path: str, cost: int) -> None:
        self._total += cost
        if cost >= MOST_PER_SCHEMA // 100:
            self._most = sorted([*self._most, (cost, path)], key=lambda one: -one[0])[:_NAMED]

    def errors(self, path: str) -> list[FieldError]:
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        text = too_costly(what, self._total, MOST_PER_SCHEMA)
        if not text:
            return []
        part = (
            "contributed to estimated rule cost total exceeding cost limit for entire "
            "OpenAPIv3 schema"
        )
        return [*(forbidden(one, part) for _, one in self._most), forbidden(path, text)]
