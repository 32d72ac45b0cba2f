"""Rules of custom resources: what one evaluation and one loop cost."""

import time
from collections.abc import Callable
from typing import Any

from mooring.apiserver.cel.call_cost import MOST_PER_EXPRESSION
from mooring.apiserver.cel.environment import compile_text, environment
from mooring.apiserver.cel.schema import declare, records
from mooring.apiserver.structural.parse import node_of

Row = tuple[str, str, str]

TRIES = 5
REPEATS = 20_000
_SCHEMA = node_of(
    {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "string"},
            "l": {"type": "array", "items": {"type": "integer"}},
        },
    }
)
_VALUE = {"a": "x", "l": list(range(1, 1001))}
_RULES = (
    "self.a == oldSelf.a",
    "has(self.a) != has(self.b)",
    "self.l.all(x, x > 0)",
)


def _evaluation(text: str) -> Callable[[], Any]:
    declared = declare(_SCHEMA)
    assert declared is not None
    variables = {"self": declared.type, "oldSelf": declared.type}
    _, program = compile_text(text, environment(variables, records(declared)))
    values = {"self": _VALUE, "oldSelf": _VALUE}
    return lambda: program.run(values, MOST_PER_EXPRESSION)


def _best(call: Callable[[], Any], repeats: int) -> float:
    """Microseconds of one call, in the best of several tries."""
    best = float("inf")
    for _ in range(TRIES):
        began = time.perf_counter()
        for _ in range(repeats):
            call()
        best = min(best, (time.perf_counter() - began) / repeats * 1e6)
    return best


def run() -> list[Row]:
    rows: list[Row] = []
    for text in _RULES:
        repeats = REPEATS if "all" not in text else REPEATS // 200
        what = f"`{text}`" + (" over 1000 items" if "all" in text else "")
        rows.append((what, f"{_best(_evaluation(text), repeats):.1f} us", "per evaluation"))
    return rows
