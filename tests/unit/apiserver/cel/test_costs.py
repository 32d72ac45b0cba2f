"""Costs: what is counted, and that nothing runs for ever."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import pytest

from mooring.apiserver.cel.environment import compile_text, environment
from mooring.apiserver.cel.errors import CelError, CostExceeded
from mooring.apiserver.cel.schema import declare, records
from mooring.apiserver.cel.static_cost import most_cost
from mooring.apiserver.cel.types import DYN, INT, STRING, list_of, map_of
from mooring.apiserver.cel.values import UINT_MAX
from mooring.apiserver.structural.parse import node_of
from tests.unit.apiserver.cel.evaluation import run

TYPES = {"i": INT, "s": STRING, "l": list_of(INT), "m": map_of(STRING, INT), "d": DYN}
VALUES: dict[str, Any] = {"i": 1, "s": "x" * 25, "l": [1, 2, 3], "m": {"a": 1, "b": 2}, "d": 1}

COUNTED = {
    "1 + 2 == 3": 2,
    "i == 1": 2,
    "i == 1 && i == 2": 4,
    "i == 2 && i == 1": 2,
    "s == s": 5,
    "s + s == ''": 7,
    "s.startsWith('x')": 4,
    "s.matches('x+')": 4,
    "s.contains('x')": 4,
    "m.a == 1": 3,
    "has(m.a)": 1,
    "m['a'] == 1": 3,
    "l[0] == 1": 3,
    "i in l": 5,
    "s in ['a', 'b']": 1,
    "i == 1 ? i : 2": 2,
    "l.all(x, x > 0)": 17,
    "l.all(x, x > 1)": 9,
    "l.exists(x, x > 2)": 20,
    "l.exists_one(x, x == 1)": 11,
    "l.map(x, x * 2)": 44,
    "l.filter(x, x > 1)": 34,
    "[1, 2].size()": 1,
    "[i].size()": 12,
    "{'a': i}.size()": 32,
    "int('1') == 1": 1,
    "l.sum()": 4,
    "sets.contains(l, l)": 12,
}


@pytest.mark.parametrize(("text", "units"), COUNTED.items(), ids=COUNTED)
def test_what_an_evaluation_costs(text: str, units: int) -> None:
    assert run(text, TYPES, **VALUES)[1] == units


SCHEMA = node_of(
    {
        "type": "object",
        "properties": {
            "i": {"type": "integer"},
            "s": {"type": "string", "maxLength": 10},
            "free": {"type": "string"},
            "kind": {"type": "string", "enum": ["a", "abc"]},
            "l": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 10}},
            "open": {"type": "array", "items": {"type": "integer"}},
            "when": {"type": "string", "format": "date-time"},
        },
    }
)

ESTIMATED = {
    "true": 0,
    "self.i == 1": 2,
    "self.s == 'abc'": 3,
    "self.kind == 'abc'": 3,
    "self.s == self.free": 8,
    "self.free == self.free": 314577,
    "has(self.s)": 1,
    "self.l.all(x, x == 'a')": 28,
    "self.l.map(x, x).size() == 5": 80,
    "self.open.all(x, x > 0)": 7864318,
    "self.s.matches('^abc$')": 12,
    "self.s.contains('abc')": 6,
    "self.when < timestamp('2020-01-01T00:00:00Z')": 4,
    "self.l.join(',') == ''": 23,
    "quantity(self.s) == quantity('1')": 8,
    "self.s + string(self.i) == ''": 1844674407370955269,
}


@pytest.mark.parametrize(("text", "units"), ESTIMATED.items(), ids=ESTIMATED)
def test_what_it_can_cost_at_most(text: str, units: int) -> None:
    declared = declare(SCHEMA)
    assert declared is not None
    scope = environment({"self": declared.type, "oldSelf": declared.type}, records(declared))
    assert most_cost(compile_text(text, scope)[0], declared) == units
    assert units <= UINT_MAX


MANY = list(range(1, 1_000_001))
_DOUBLE = "[{}].map(x, x + x)" + ".map(x, x + x)" * 60
_LAYERS = "[[1]].map(x, [x, x])" + ".map(x, [x, x])" * 100
HOSTILE = {
    "three loops over a million items": "l.all(a, l.all(b, l.all(c, a + b + c > 0)))",
    "a list of lists": "l.map(a, l.map(b, a)).size() > 0",
    "a text that doubles": _DOUBLE.format("s") + " == []",
    "a text of unknown type that doubles": _DOUBLE.format("dyn(s)") + " == []",
    "a list that doubles": _DOUBLE.format("l") + " == []",
    "a text that is put into itself": "[s].map(x, x.replace('x', x))"
    + ".map(x, x.replace('x', x))" * 20
    + " == []",
    "formatting of values that share parts": f"'%s'.format([{_LAYERS}]) == ''",
    "flattening of values that share parts": f"{_LAYERS}.flatten(200).size() > 0",
    "looking through values that share parts": f"{_LAYERS}.indexOf([]) > 0",
    "a range without end": "lists.range(9223372036854775807).size() > 0",
    "a million joined": "l.map(x, s).join(s).size() > 0",
    "sets of a million": "sets.equivalent(l, l)",
    "a million sorted": "l.sort().size() > 0",
    "members of a million, looked for a million times": "l.all(x, x in l)",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_expressions_are_ended_by_their_budget(text: str) -> None:
    types = {"l": list_of(INT), "s": STRING}
    began = perf_counter()
    result, _ = run(text, types, l=MANY, s="x" * 1000)
    assert isinstance(result, CostExceeded)
    assert perf_counter() - began < 20  # a budget, not a measurement: alone it is well below 1 s


def test_values_that_share_parts_are_compared_part_by_part() -> None:
    assert run(f"{_LAYERS} == {_LAYERS}")[0] is True
    assert run(f"{_LAYERS} in [{_LAYERS}]")[0] is True
    assert run(f"{_LAYERS} == {_LAYERS.replace('[[1]]', '[[2]]')}")[0] is False


def test_a_catastrophic_pattern_takes_no_longer_than_its_text() -> None:
    result, _ = run("s.matches('^(a+)+$')", {"s": STRING}, s="a" * 100_000 + "b")
    assert result is False


def test_a_pattern_that_grows_is_refused() -> None:
    result, _ = run("'a'.matches(s)", {"s": STRING}, s="((a{100}){100}){100}")
    assert isinstance(result, CelError)
    assert "error parsing regexp" in str(result)


ABSORBING: dict[str, Callable[[str], str]] = {
    "or": lambda text: f"({text}) || true",
    "and": lambda text: f"({text}) && false",
    "exists": lambda text: f"[1, 2].exists(x, ({text}) || true)",
}


@pytest.mark.parametrize("wrap", ABSORBING.values(), ids=ABSORBING)
def test_nothing_absorbs_a_spent_budget(wrap: Callable[[str], str]) -> None:
    result, _ = run(wrap("l.all(a, l.all(b, a + b > 0))"), {"l": list_of(INT)}, l=MANY)
    assert isinstance(result, CostExceeded)
