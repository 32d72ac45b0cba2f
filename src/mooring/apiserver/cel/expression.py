"""Single expressions over declared variables, as admission policies have them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mooring.apiserver.cel.call_cost import MOST_PER_EXPRESSION
from mooring.apiserver.cel.checker import Checked
from mooring.apiserver.cel.compiler import Program
from mooring.apiserver.cel.environment import compile_text, environment
from mooring.apiserver.cel.errors import CelError, CompileError
from mooring.apiserver.cel.patience import evaluate
from mooring.apiserver.cel.types import DYN, CelType, Records

_ASKING = frozenset({"authorizer", "authorizer.requestResource"})  # variables


class WrongResultError(CompileError):
    """An expression that yields another type than its place asks for."""

    def __init__(self, wanted: tuple[CelType, ...], found: CelType) -> None:
        names = " ".join(map(str, wanted))
        one = names if len(wanted) == 1 else f"one of [{names}]"
        Exception.__init__(self, f"must evaluate to {one} but got {found}")
        self.issues = ()


@dataclass(slots=True)
class Budget:
    """What all expressions of one request may still cost."""

    left: int


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression."""

    text: str
    result: CelType
    checked: Checked
    program: Program

    @property
    def variables(self) -> frozenset[str]:
        """The variables that it uses."""
        return self.checked.variables

    def evaluate(self, values: Mapping[str, Any], budget: Budget) -> Any:
        """The value; raises CelError, CostExceeded when the budget is spent, and TakesLong within
        `at_once`.

        A value may be a dict that computes its entries when they are asked for.
        """
        most = min(MOST_PER_EXPRESSION, budget.left)
        asks = not _ASKING.isdisjoint(self.checked.variables)
        result, cost = evaluate(self.program.run, values, most, asks=asks)
        budget.left -= min(cost, budget.left)
        if isinstance(result, CelError):
            raise result
        return result


def compile_expression(
    text: str,
    variables: Mapping[str, CelType],
    result: CelType | tuple[CelType, ...],
    records: Records | None = None,
    *,
    makes_patches: bool = False,
) -> Expression:
    """Compile, or raise CompileError; the result must have one of the types, or be dyn.

    One that makes a patch must have exactly the type.
    """
    known = environment(variables, records or {}, makes_patches=makes_patches)
    checked, program = compile_text(text, known)
    wanted = result if isinstance(result, tuple) else (result,)
    found = checked.result
    if makes_patches and found not in wanted:
        raise WrongResultError(wanted, found)
    if DYN not in wanted and found not in wanted and found != DYN:
        raise WrongResultError(wanted, found)
    return Expression(text, found, checked, program)
