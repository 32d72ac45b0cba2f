"""Quantities: `quantity('10Gi').isGreaterThan(quantity('1Gi'))`."""

from dataclasses import dataclass
from typing import ClassVar

from mooring.apiserver.cel import call_cost
from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.types import BOOL, DOUBLE, INT, STRING, opaque
from mooring.apiserver.cel.values import INT_MAX, INT_MIN, Opaque
from mooring.model import quantity

_NANO = 10**9
QUANTITY = opaque("kubernetes.Quantity")


@dataclass(frozen=True, slots=True)
class QuantityValue(Opaque):
    kind: ClassVar[str] = QUANTITY.name
    nanos: int


def _quantity(text: str) -> QuantityValue:
    try:
        return QuantityValue(quantity.parse(text).nanos)
    except ValueError as error:
        raise CelError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        quantity.parse(text)
    except ValueError:
        return False
    return True


def _is_integer(one: QuantityValue) -> bool:
    return one.nanos % _NANO == 0 and INT_MIN <= one.nanos // _NANO <= INT_MAX


def _as_integer(one: QuantityValue) -> int:
    if _is_integer(one):
        return one.nanos // _NANO
    raise CelError("cannot convert value to integer")


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


_Q = QUANTITY


FUNCTIONS: Functions = {
    "quantity": (
        Overload("string_to_quantity", (STRING,), _Q, _quantity, cost=call_cost.of_first),
    ),
    "isQuantity": (
        Overload("is_quantity_string", (STRING,), BOOL, _is_quantity, cost=call_cost.of_first),
    ),
    "sign": (Overload("quantity_sign", (_Q,), INT, lambda x: _sign(x.nanos)),),
    "isGreaterThan": (
        Overload(
            "quantity_is_greater_than", (_Q, _Q), BOOL, lambda x, y: x.nanos > y.nanos, member=True
        ),
    ),
    "isLessThan": (
        Overload(
            "quantity_is_less_than", (_Q, _Q), BOOL, lambda x, y: x.nanos < y.nanos, member=True
        ),
    ),
    "compareTo": (
        Overload(
            "quantity_compare_to", (_Q, _Q), INT, lambda x, y: _sign(x.nanos - y.nanos), member=True
        ),
    ),
    "asApproximateFloat": (
        Overload("quantity_get_float", (_Q,), DOUBLE, lambda x: x.nanos / _NANO, member=True),
    ),
    "asInteger": (Overload("quantity_get_int", (_Q,), INT, _as_integer, member=True),),
    "isInteger": (Overload("quantity_is_integer", (_Q,), BOOL, _is_integer, member=True),),
    "add": (
        Overload(
            "quantity_add", (_Q, _Q), _Q, lambda x, y: QuantityValue(x.nanos + y.nanos), member=True
        ),
        Overload(
            "quantity_add_int",
            (_Q, INT),
            _Q,
            lambda x, y: QuantityValue(x.nanos + y * _NANO),
            member=True,
        ),
    ),
    "sub": (
        Overload(
            "quantity_sub", (_Q, _Q), _Q, lambda x, y: QuantityValue(x.nanos - y.nanos), member=True
        ),
        Overload(
            "quantity_sub_int",
            (_Q, INT),
            _Q,
            lambda x, y: QuantityValue(x.nanos - y * _NANO),
            member=True,
        ),
    ),
}
