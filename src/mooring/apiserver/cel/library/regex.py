"""What a pattern finds in a string."""

from itertools import islice
from typing import Any

from mooring.apiserver.cel import call_cost
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.patterns import matches
from mooring.apiserver.cel.types import INT, STRING, CelType, list_of


def _find(text: str, pattern: str) -> str:
    return next(matches(text, pattern), "")


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found = matches(text, pattern)
    return list(found if most < 0 else islice(found, most))


def _overload(name: str, args: tuple[CelType, ...], result: CelType, run: Any) -> Overload:
    return Overload(name, args, result, run, member=True, cost=call_cost.of_pattern)


FUNCTIONS: Functions = {
    "find": (_overload("string_find_string", (STRING, STRING), STRING, _find),),
    "findAll": (
        _overload("string_find_all_string", (STRING, STRING), list_of(STRING), _find_all),
        _overload("string_find_all_string_int", (STRING, STRING, INT), list_of(STRING), _find_all),
    ),
}
