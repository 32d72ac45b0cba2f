"""The most that calls can cost, and the most that they return."""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from mooring.apiserver.cel import ast
from mooring.apiserver.cel.estimate import NOTHING, ONE, UNKNOWN, Argument, Range, SizeOf, fixed
from mooring.apiserver.cel.functions import Overload
from mooring.apiserver.cel.types import BYTES, STRING
from mooring.apiserver.cel.values import UINT_MAX

_LOOK = 0.1  # at a character
_PATTERN = 0.25
_LONG_PATTERN = 128

Estimate: TypeAlias = tuple[Range, Range | None]
_Known: TypeAlias = Callable[["_Call"], Estimate]


class _Call:
    """A call to estimate, with the sizes of what it is given."""

    def __init__(
        self, overload: Overload, target: Argument | None, args: Sequence[Argument], size_at: SizeOf
    ) -> None:
        self.overload = overload
        self.target = target
        self.args = args
        self.size_at = size_at

    def of(self, at: int) -> Range:
        return self.args[at].size or UNKNOWN if at < len(self.args) else NOTHING

    @property
    def own(self) -> Range:
        """The size of the receiver, or of the first argument."""
        return (self.target.size or UNKNOWN) if self.target is not None else self.of(0)

    def item(self) -> Range | None:
        """The size of an item of the receiver; None: it is no list."""
        target = self.target
        if target is None or not target.type.params:
            return None
        if not target.path:
            return UNKNOWN
        return self.size_at((*target.path, "@items")) or UNKNOWN


def estimate_call(
    function: str,
    overload: Overload,
    target: Argument | None,
    args: Sequence[Argument],
    size_at: SizeOf,
) -> Estimate:
    known = _ESTIMATES.get(function)
    if known is None:
        return ONE, None
    return known(_Call(overload, target, args, size_at))


def _walk(call: _Call) -> Estimate:
    item = call.item()
    if item is None:
        return call.own.scaled(_LOOK), None
    target = call.target
    each = ONE
    if target is not None and target.type.params[0] in (STRING, BYTES):
        each = ONE.plus(item.scaled(_LOOK))
    return call.own.times(each), None


def _look(call: _Call) -> Estimate:
    return call.of(0).scaled(_LOOK), None


def _look_and_keep(call: _Call) -> Estimate:
    return call.own.scaled(_LOOK), call.own


def _prefix(call: _Call) -> Estimate:
    return call.of(0).scaled(_LOOK), None


def _to_bytes(call: _Call) -> Estimate:
    if call.overload.id != "string_to_bytes":
        return ONE, None
    size = call.of(0)
    return size.scaled(_LOOK), Range(size.least, min(size.most * 4, UINT_MAX))


def _to_string(call: _Call) -> Estimate:
    if call.overload.id != "bytes_to_string":
        return ONE, None
    size = call.of(0)
    return size.scaled(_LOOK), Range(size.least // 4, size.most)


def _quote(call: _Call) -> Estimate:
    size = call.of(0)
    return size.scaled(_LOOK), Range(size.least + 2, min(size.most * 2 + 2, UINT_MAX))


def _pattern(call: _Call) -> Estimate:
    if call.target is None:
        return ONE, None
    return call.own.plus(ONE).scaled(_LOOK).times(call.of(0).scaled(_PATTERN)), None


def _find(call: _Call) -> Estimate:
    return _pattern(call)[0], Range(0, call.own.most)


def _contains(call: _Call) -> Estimate:
    return call.own.scaled(_LOOK).times(call.of(0).scaled(_LOOK)), None


def _add(call: _Call) -> Estimate:
    joined = call.of(0).plus(call.of(1))
    match call.overload.args[0].kind:
        case "list":
            return ONE, joined
        case "string" | "bytes":
            return joined.scaled(_LOOK), joined
        case _:
            pass
    return ONE, None


def _compare(call: _Call) -> Estimate:
    most = min(call.of(0).most, call.of(1).most)
    return Range(1 if most else 0, most).scaled(_LOOK), None


def _order(call: _Call) -> Estimate:
    return _compare(call) if call.overload.args[0].kind in ("string", "bytes") else (ONE, None)


def _equal(call: _Call) -> Estimate:
    if call.args[0].type == call.args[1].type and call.args[0].type.name in _OPAQUE:
        return ONE, None
    return _compare(call)


_OPAQUE = frozenset(
    (
        "net.IP",
        "net.CIDR",
        "kubernetes.Quantity",
        "kubernetes.Semver",
        "kubernetes.authorization.Authorizer",
    )
)


def _in(call: _Call) -> Estimate:
    return (call.of(1), None) if call.overload.id == "in_list" else (ONE, None)


def _format(call: _Call) -> Estimate:
    return call.own.scaled(_LOOK), None


def _split(call: _Call) -> Estimate:
    most = call.own.most
    if len(call.args) > 1 and type(call.args[1].literal) is int:
        most = call.args[1].literal % (UINT_MAX + 1)
    return call.own.scaled(2 * _LOOK), Range(0, most)


def _join(call: _Call) -> Estimate:
    item = call.item()
    size = NOTHING if item is None else call.own.times(item)
    if call.args:
        gaps = Range(max(0, call.own.least - 1), max(0, call.own.most - 1))
        size = size.plus(call.of(0).times(gaps))
    return size.scaled(_LOOK), size


def _replace(call: _Call) -> Estimate:
    own, old, new = call.own, call.of(0), call.of(1)
    if old.least == 0:
        most, kept_most = min(own.most + 1, UINT_MAX), own.most
    elif new.most <= old.least:
        most, kept_most = 0, own.most
    else:
        most, kept_most = math.ceil(own.most / old.least), 0
    if old.most == 0:
        least, kept_least = min(own.least + 1, UINT_MAX), own.least
    elif old.most <= new.least:
        least, kept_least = 0, own.least
    else:
        least, kept_least = math.ceil(own.least / old.most), 0
    size = Range(least, most).times(new).plus(Range(kept_least, kept_most))
    return own.scaled(2 * _LOOK), size


def _ip(call: _Call) -> Estimate:
    return (ONE, None) if call.overload.id == "cidr_ip" else _look(call)


def _canonical(call: _Call) -> Estimate:
    return call.of(0).scaled(2 * _LOOK), None


_ADDRESS = Range(4, 16)


def _contains_ip(call: _Call) -> Estimate:
    cost = _ADDRESS.plus(_ADDRESS).scaled(_LOOK)
    if call.overload.id == "cidr_contains_ip_string":
        cost = cost.plus(call.of(0).scaled(_LOOK))
    return cost, None


def _contains_cidr(call: _Call) -> Estimate:
    cost = _ADDRESS.plus(_ADDRESS).scaled(_LOOK).plus(_ADDRESS.scaled(_LOOK)).plus(ONE)
    if call.overload.id == "cidr_contains_cidr_string":
        cost = cost.plus(call.of(0).scaled(_LOOK))
    return cost, None


def _validate(call: _Call) -> Estimate:
    return call.of(0).scaled(_LOOK).scaled(_LONG_PATTERN * _PATTERN), None


def _sets(call: _Call) -> Estimate:
    return call.of(0).times(call.of(1)).plus(ONE), None


def _twice_sets(call: _Call) -> Estimate:
    return call.of(0).times(call.of(1)).times(fixed(2)).plus(ONE), None


def _number(call: _Call, at: int, otherwise: int) -> int:
    literal = call.args[at].literal if at < len(call.args) else None
    return max(0, literal) if type(literal) is int else otherwise


def _made(size: Range, factor: float = 1.0) -> Estimate:
    """A new list."""
    return size.scaled(factor).plus(fixed(11)), size


def _slice(call: _Call) -> Estimate:
    start, end = _number(call, 0, 0), _number(call, 1, call.own.most)
    return _made(fixed((end - start) % (UINT_MAX + 1)))


def _range(call: _Call) -> Estimate:
    return _made(fixed(_number(call, 0, UINT_MAX)))


def _reverse(call: _Call) -> Estimate:
    return _made(call.own)


def _flatten(call: _Call) -> Estimate:
    return _made(call.own, float(_number(call, 0, UINT_MAX)) if call.args else 1.0)


def _compared(call: _Call) -> Estimate:
    of = call.target.type.params if call.target is not None else ()
    text = bool(of) and call.overload.id != "list_distinct" and of[0] in (STRING, BYTES)
    return _made(call.own.times(call.own), 2.1 if text else 2.0)


def _check(_: _Call) -> Estimate:
    return fixed(350_000), None


def _selector(call: _Call) -> Estimate:
    size = call.of(0)
    return fixed(10).plus(size.scaled(_LOOK)).plus(size.scaled(0.5).scaled(50)), None


_ESTIMATES: dict[str, _Known] = {
    "check": _check,
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _walk),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _look_and_keep),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity"), _look),
    **dict.fromkeys(("semver", "isSemver"), _look),
    "ip": _ip,
    "ip.isCanonical": _canonical,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "sets.contains": _sets,
    "sets.intersects": _sets,
    "sets.equivalent": _twice_sets,
    "slice": _slice,
    "lists.range": _range,
    "reverse": _reverse,
    "flatten": _flatten,
    **dict.fromkeys(("sort", "distinct"), _compared),
    "format": _format,
    "bytes": _to_bytes,
    "string": _to_string,
    "strings.quote": _quote,
    **dict.fromkeys(("startsWith", "endsWith"), _prefix),
    "matches": _pattern,
    "contains": _contains,
    "_+_": _add,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _order),
    ast.EQUAL: _equal,
    ast.NOT_EQUAL: _compare,
    ast.IN: _in,
}
