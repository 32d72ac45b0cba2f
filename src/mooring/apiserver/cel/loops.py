"""Closures of macros: loops over lists and maps, with what each turn costs upstream."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.cel import operators
from mooring.apiserver.cel.call_cost import LIST_COST, of_comparisons
from mooring.apiserver.cel.code import Code, Frame, Run, is_constant, pay
from mooring.apiserver.cel.errors import NO_SUCH_OVERLOAD, CelError
from mooring.apiserver.cel.sorting import sort_by
from mooring.apiserver.cel.values import NONE, Optional

# Costs of a turn, counted over the expansion that upstream evaluates.
_ALL_TURN, _ALL_TEST = 3, 2
_EXISTS_TURN, _EXISTS_TEST = 4, 3
_COUNT_ONE, _COUNT_RESULT = 2, 2
_RESULT = 1
_APPEND = 2 + LIST_COST
_KEEP = 3 + LIST_COST
_INSERT, _INSERT_ENTRY = 3, 2


def loop_code(macro: str, over: Code, slots: tuple[int, ...], args: tuple[Code, ...]) -> Code:
    match macro:
        case "all":
            return _quantifier(over, slots, args[0], decides=False)
        case "exists":
            return _quantifier(over, slots, args[0], decides=True)
        case "exists_one":
            return _exists_one(over, slots, args[0])
        case "filter":
            return _collect(over, slots, args[0], None)
        case "transformMap" | "transformMapEntry":
            return _insert(over, slots, args, entry=macro == "transformMapEntry")
        case _:
            pass
    return _collect(over, slots, args[0] if len(args) == 2 else None, args[-1])


def _items(value: Any) -> Iterable[Any]:
    """What a variable goes through: the items of a list, the keys of a map."""
    if isinstance(value, list | dict):
        return value
    raise CelError(NO_SUCH_OVERLOAD)


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, list):
        return enumerate(value)
    if isinstance(value, dict):
        return value.items()
    raise CelError(NO_SUCH_OVERLOAD)


def _quantifier(over: Code, slots: tuple[int, ...], test: Code, *, decides: bool) -> Code:
    turn, last = (_EXISTS_TURN, _EXISTS_TEST) if decides else (_ALL_TURN, _ALL_TEST)
    cost = turn + test.cost
    many, check, other = over.run, test.run, not decides
    two = len(slots) == 2
    first, second = slots[0], slots[-1]

    def run(frame: Frame) -> bool:
        error: CelError | None = None
        value: object
        whole = many(frame)
        items = _pairs(whole) if two else _items(whole)
        left = len(whole)
        for item in items:
            left -= 1
            remaining = frame[0] = frame[0] - cost
            if remaining < 0:
                pay(frame, 0)
            if two:
                frame[first], frame[second] = item
            else:
                frame[first] = item
            try:
                value = check(frame)
            except CelError as raised:
                if raised.fatal:
                    raise
                error = error or raised
                continue
            if value is decides:
                frame[0] -= last if left else 0
                return decides
            if value is not other:
                error = error or CelError(NO_SUCH_OVERLOAD)
        if error is not None:
            raise error
        return other

    return Code(run, over.cost + _RESULT)


def _turns(many: Run, slots: tuple[int, ...], cost: int) -> Any:
    """A function that goes through the range: it sets the variables and pays for each turn."""
    if len(slots) == 1:
        slot = slots[0]

        def one(frame: Frame) -> Iterable[Any]:
            for item in _items(many(frame)):
                remaining = frame[0] = frame[0] - cost
                if remaining < 0:
                    pay(frame, 0)
                frame[slot] = item
                yield item

        return one
    first, second = slots

    def two(frame: Frame) -> Iterable[Any]:
        for key, item in _pairs(many(frame)):
            remaining = frame[0] = frame[0] - cost
            if remaining < 0:
                pay(frame, 0)
            frame[first], frame[second] = key, item
            yield key

    return two


def _true(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise CelError(NO_SUCH_OVERLOAD)


def _exists_one(over: Code, slots: tuple[int, ...], test: Code) -> Code:
    turns, check = _turns(over.run, slots, test.cost), test.run

    def run(frame: Frame) -> bool:
        count = 0
        for _ in turns(frame):
            if _true(check(frame)):
                frame[0] -= _COUNT_ONE
                count += 1
        return count == 1

    return Code(run, over.cost + _COUNT_RESULT)


def _collect(over: Code, slots: tuple[int, ...], test: Code | None, make: Code | None) -> Code:
    """map, filter, transformList."""
    if make is None:
        made, cost = None, _KEEP
    else:
        made = make.run
        cost = make.cost + (_APPEND if not is_constant(make) else _APPEND - LIST_COST)
    if test is None:
        turns = _turns(over.run, slots, cost)

        def every(frame: Frame) -> list[Any]:
            return [made(frame) for _ in turns(frame)]  # type: ignore[misc]

        return Code(every, over.cost + _RESULT)
    turns, check = _turns(over.run, slots, test.cost), test.run

    def some(frame: Frame) -> list[Any]:
        kept = []
        for item in turns(frame):
            if _true(check(frame)):
                frame[0] -= cost
                kept.append(item if made is None else made(frame))
        return kept

    return Code(some, over.cost + _RESULT)


def _insert(over: Code, slots: tuple[int, ...], args: tuple[Code, ...], *, entry: bool) -> Code:
    *tests, make = args
    made, cost = make.run, make.cost + (_INSERT_ENTRY if entry else _INSERT)
    check = tests[0].run if tests else None
    turns = _turns(over.run, slots, tests[0].cost if tests else 0)

    def run(frame: Frame) -> dict[Any, Any]:
        whole: dict[Any, Any] = {}
        for key in turns(frame):
            if check is not None and not _true(check(frame)):
                continue
            pay(frame, cost)
            value = made(frame)
            if entry and not isinstance(value, dict):
                raise CelError(NO_SUCH_OVERLOAD)
            for name, item in value.items() if entry else ((key, value),):
                if name in whole:
                    raise CelError(f"insert failed: key {operators.shown(name)} already exists")
                whole[name] = item
        return whole

    return Code(run, over.cost + _RESULT)


def optional_map_code(over: Code, slot: int, make: Code, *, flat: bool) -> Code:
    inner, made = over.run, make.run
    cost = over.cost + make.cost + (1 if flat else 2)

    def run(frame: Frame) -> Optional:
        value = inner(frame)
        if type(value) is not Optional:
            raise CelError(NO_SUCH_OVERLOAD)
        if not value.present:
            return NONE
        frame[0] -= cost
        frame[slot] = value.value
        result = made(frame)
        if flat and type(result) is not Optional:
            raise CelError(NO_SUCH_OVERLOAD)
        return result if flat else Optional(result)

    return Code(run, over.cost + 1)


def sort_by_code(over: Code, slot: int, key: Code) -> Code:
    turns, of = _turns(over.run, (slot,), key.cost + _APPEND), key.run

    def run(frame: Frame) -> list[Any]:
        keyed = [(of(frame), item) for item in turns(frame)]
        pay(frame, of_comparisons([key for key, _ in keyed]))
        return sort_by(keyed)

    return Code(run, over.cost + _RESULT + 2)
