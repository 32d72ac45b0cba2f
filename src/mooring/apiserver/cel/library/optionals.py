"""Optional values: made, asked, and looked into."""

from typing import Any

from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.types import BOOL, INT, A, B, list_of, map_of, optional_of
from mooring.apiserver.cel.values import NONE, Duration, Optional, Timestamp, UInt

_OPTIONAL, _LIST, _MAP = optional_of(A), list_of(A), map_of(A, B)

_ZERO_TIME = Timestamp(-62135596800 * 10**9)  # of Go: the year 1


def _not_run(*_: Any) -> Any:
    raise CelError("evaluated elsewhere")  # the compiler has closures of its own for these


def _value(optional: Optional) -> Any:
    if optional.present:
        return optional.value
    raise CelError("optional.none() dereference")


def _of_non_zero(value: Any) -> Optional:
    zero = (
        value is None
        or value is False
        or (type(value) in (int, UInt, float) and value == 0)
        or (isinstance(value, str | bytes | list | dict) and not value)
        or value == Duration(0)
        or value == _ZERO_TIME
    )
    return NONE if zero else Optional(value)


def _first(items: list[Any]) -> Optional:
    return Optional(items[0]) if items else NONE


def _last(items: list[Any]) -> Optional:
    return Optional(items[-1]) if items else NONE


FUNCTIONS: Functions = {
    "optional.of": (Overload("optional_of", (A,), _OPTIONAL, Optional),),
    "optional.ofNonZeroValue": (
        Overload("optional_ofNonZeroValue", (A,), _OPTIONAL, _of_non_zero),
    ),
    "optional.none": (Overload("optional_none", (), _OPTIONAL, lambda: NONE),),
    "value": (Overload("optional_value", (_OPTIONAL,), A, _value, member=True),),
    "hasValue": (
        Overload("optional_hasValue", (_OPTIONAL,), BOOL, lambda x: x.present, member=True),
    ),
    "or": (
        Overload("optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, _not_run, member=True),
    ),
    "orValue": (Overload("optional_orValue_value", (_OPTIONAL, A), A, _not_run, member=True),),
    "first": (Overload("list_first", (_LIST,), _OPTIONAL, _first, member=True),),
    "last": (Overload("list_last", (_LIST,), _OPTIONAL, _last, member=True),),
    "_[?_]": (
        Overload("list_optindex_optional_int", (_LIST, INT), _OPTIONAL, _not_run),
        Overload(
            "optional_list_optindex_optional_int", (optional_of(_LIST), INT), _OPTIONAL, _not_run
        ),
        Overload("map_optindex_optional_value", (_MAP, A), optional_of(B), _not_run),
        Overload(
            "optional_map_optindex_optional_value", (optional_of(_MAP), A), optional_of(B), _not_run
        ),
    ),
    "_[_]": (
        Overload("optional_list_index_int", (optional_of(_LIST), INT), _OPTIONAL, _not_run),
        Overload("optional_map_index_value", (optional_of(_MAP), A), optional_of(B), _not_run),
    ),
}
