"""What the compiler makes: closures over a frame.

A frame is a list. Its first item is what the evaluation may still cost; the values of variables
follow. What a closure costs for certain is known before it runs: whoever decides that it runs
(the whole expression, a branch, a loop) pays that in one step. Only what depends on sizes is paid
inside.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from mooring.apiserver.cel.errors import CostExceeded

Frame: TypeAlias = list[Any]
Run: TypeAlias = Callable[[Frame], Any]

VARIES = object()


@dataclass(frozen=True, slots=True)
class Code:
    run: Run
    cost: int = 0
    constant: Any = VARIES
    root: int | None = None  # of a variable with its fields: what the variable alone costs


def constant(value: Any) -> Code:
    return Code(lambda _: value, 0, value)


def is_constant(code: Code) -> bool:
    return code.constant is not VARIES


def pay(frame: Frame, units: int) -> None:
    left = frame[0] = frame[0] - units
    if left < 0:
        raise CostExceeded
