"""Closures of `&&`, `||` and `?:`. An error on one side does not matter when the other decides."""

from typing import Any

from mooring.apiserver.cel.code import Code, Frame, Run
from mooring.apiserver.cel.errors import NO_SUCH_OVERLOAD, CelError


def and_code(terms: tuple[Code, ...]) -> Code:
    return _logic(terms, decides=False)


def or_code(terms: tuple[Code, ...]) -> Code:
    return _logic(terms, decides=True)


def _logic(terms: tuple[Code, ...], *, decides: bool) -> Code:
    """The first term is paid for by whoever runs it all; each other one when it runs."""
    first, *others = terms
    rest = tuple((term.run, term.cost) for term in others)
    if len(rest) == 1:
        return Code(_two(first.run, *rest[0], decides=decides), first.cost)
    return Code(_many(first.run, rest, decides=decides), first.cost)


def _two(first: Run, second: Run, cost: int, *, decides: bool) -> Run:
    other = not decides

    def run(frame: Frame) -> bool:
        error: CelError | None = None
        value: object
        try:
            value = first(frame)
            if value is decides:
                return decides
            if value is not other:
                error = CelError(NO_SUCH_OVERLOAD)
        except CelError as raised:
            if raised.fatal:
                raise
            error = raised
        frame[0] -= cost
        try:
            value = second(frame)
        except CelError as raised:
            if raised.fatal or error is None:
                raise
            raise error from None
        if value is decides:
            return decides
        if error is not None:
            raise error
        if value is not other:
            raise CelError(NO_SUCH_OVERLOAD)
        return other

    return run


def _many(first: Run, rest: tuple[tuple[Run, int], ...], *, decides: bool) -> Run:
    terms = ((first, 0), *rest)
    other = not decides

    def run(frame: Frame) -> bool:
        error: CelError | None = None
        value: object
        for term, cost in terms:
            frame[0] -= cost
            try:
                value = term(frame)
            except CelError as raised:
                if raised.fatal:
                    raise
                error = error or raised
                continue
            if value is decides:
                return decides
            if value is not other:
                error = error or CelError(NO_SUCH_OVERLOAD)
        if error is not None:
            raise error
        return other

    return run


def if_code(test: Code, then: Code, other: Code) -> Code:
    """A variable costs nothing as a branch, only its fields do."""
    check, one, two = test.run, then.run, other.run
    cost_one, cost_two = then.cost - (then.root or 0), other.cost - (other.root or 0)

    def run(frame: Frame) -> Any:
        value = check(frame)
        if value is True:
            frame[0] -= cost_one
            return one(frame)
        if value is False:
            frame[0] -= cost_two
            return two(frame)
        raise CelError(NO_SUCH_OVERLOAD)

    return Code(run, test.cost, root=0)
