"""Macros: calls that mean a loop or a test of presence rather than a call."""

from mooring.apiserver.cel.ast import Comprehension, Expr, Ident, Select
from mooring.apiserver.cel.errors import Issue

_ACCUMULATOR = "__result__"
_NOT_SIMPLE = "argument must be a simple name"
_NOT_IDENT = "argument is not an identifier"

# Function and number of arguments -> what the tree calls it, and its variables.
_MACROS: dict[tuple[str, int], tuple[str, int]] = {
    ("all", 2): ("all", 1),
    ("exists", 2): ("exists", 1),
    ("exists_one", 2): ("exists_one", 1),
    ("existsOne", 2): ("exists_one", 1),
    ("map", 2): ("map", 1),
    ("map", 3): ("map", 1),
    ("filter", 2): ("filter", 1),
    ("all", 3): ("all", 2),
    ("exists", 3): ("exists", 2),
    ("exists_one", 3): ("exists_one", 2),
    ("existsOne", 3): ("exists_one", 2),
    ("transformList", 3): ("transformList", 2),
    ("transformList", 4): ("transformList", 2),
    ("transformMap", 3): ("transformMap", 2),
    ("transformMap", 4): ("transformMap", 2),
    ("transformMapEntry", 3): ("transformMapEntry", 2),
    ("transformMapEntry", 4): ("transformMapEntry", 2),
    ("optMap", 2): ("optMap", 1),
    ("optFlatMap", 2): ("optFlatMap", 1),
    ("sortBy", 2): ("sortBy", 1),
}


def expand(
    function: str, target: Expr | None, args: tuple[Expr, ...], at: int
) -> Expr | Issue | None:
    """What the call means; None: it is no macro."""
    if target is None:
        return _presence(args[0], at) if function == "has" and len(args) == 1 else None
    known = _MACROS.get((function, len(args)))
    if known is None:
        return None
    macro, count = known
    names: list[str] = []
    for arg in args[:count]:
        if not isinstance(arg, Ident) or arg.name.startswith("."):
            plain = count == 1 and macro in ("map", "filter")
            return Issue(arg.at, _NOT_IDENT if plain else _NOT_SIMPLE)
        if arg.name in names:
            return Issue(arg.at, f"duplicate variable name: {arg.name}")
        if arg.name == _ACCUMULATOR:
            return Issue(arg.at, "iteration variable overwrites accumulator variable")
        names.append(arg.name)
    return Comprehension(macro, target, tuple(names), args[count:], at)


def _presence(arg: Expr, at: int) -> Expr | Issue:
    if isinstance(arg, Select) and not arg.test and not arg.optional:
        return Select(arg.operand, arg.field, test=True, at=at)
    return Issue(arg.at, "invalid argument to has() macro")
