"""The language as tables: expressions and what they yield."""

import math

import pytest

from mooring.apiserver.cel.types import DYN, INT, STRING, list_of
from mooring.apiserver.cel.values import Duration, Optional, Timestamp, TypeValue, UInt
from tests.unit.apiserver.cel.evaluation import compile_error, error, value

TRUE = {
    "numbers": (
        "1 + 2 * 3 == 7",
        "7 / 2 == 3 && -7 / 2 == -3",
        "7 % 3 == 1 && -7 % 3 == -1",
        "5u - 3u == 2u",
        "1.5 * 2.0 == 3.0",
        "1 < 2.5 && 2u > 1 && 1.0 <= 1",
        "dyn(1) == dyn(1.0) && dyn(1) == dyn(1u)",
        "-(-5) == 5",
        "1.0 / 0.0 > 1e308",
        "dyn(double('NaN')) != dyn(double('NaN'))",
        "dyn(9223372036854775807) >= 9223372036854775808.0",
    ),
    "strings": (
        "'a' + 'b' == 'ab'",
        "'abc' < 'abd' && 'Z' < 'a'",
        "size('héé') == 3 && 'abc'.size() == 3",
        "'abc'.contains('b') && !'abc'.contains('x')",
        "'abc'.startsWith('ab') && 'abc'.endsWith('bc')",
        "'abc'.matches('^a.c$') && matches('xabcx', 'b')",
        r"!'٣'.matches(r'\d')",
        "b'ab' + b'c' == bytes('abc')",
        "size(b'é') == 2",
    ),
    "logic": (
        "true && !false || false",
        "1 == 1 ? true : false",
        "(1 / 0 > 0 || true) && true",
        "(true || 1 / 0 > 0) && !(false && 1 / 0 > 0) && !(1 / 0 > 0 && false)",
        "[1, 2, 0].exists(x, 2 / x == 1)",
        "![0, 1].all(x, 1 / x > 5)",
        "false ? 1 / 0 == 1 : true",
    ),
    "lists": (
        "[1, 2] + [3] == [1, 2, 3]",
        "[1, 2, 3][1] == 2",
        "2 in [1, 2, 3] && !(4 in [1, 2, 3])",
        "dyn(2.0) in [1, 2] && dyn(2u) in [1, 2] && !(dyn(true) in [1, 2])",
        "size([]) == 0 && [1].size() == 1",
        "dyn([1]) == dyn([1.0]) && dyn([1]) != dyn([true])",
        "[[1], [2]] == [[1], [2]]",
    ),
    "maps": (
        "{'a': 1}.a == 1 && {'a': 1}['a'] == 1",
        "'a' in {'a': 1} && !('b' in {'a': 1})",
        "has({'a': 1}.a) && !has({'a': 1}.b)",
        "{'a': 1, 'b': 2} == {'b': 2, 'a': 1}",
        "size({'a': 1}) == 1",
        "{1: 'x'}[dyn(1.0)] == 'x' && {1: 'x'}[dyn(1u)] == 'x'",
        "{true: 'x'}[true] == 'x'",
        "{'a': null}.a == null",
    ),
    "macros": (
        "[1, 2].all(x, x > 0) && [].all(x, false)",
        "[1, 2].exists(x, x == 2) && ![].exists(x, true)",
        "[1, 2, 2].exists_one(x, x == 1) && ![2, 2].existsOne(x, x == 2)",
        "[1, 2].map(x, x * 2) == [2, 4]",
        "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]",
        "[1, 2, 3].filter(x, x % 2 == 1) == [1, 3]",
        "{'a': 1, 'b': 2}.all(k, k in ['a', 'b'])",
        "{'a': 1}.map(k, k + '!') == ['a!']",
        "[[1, 2], [3]].all(x, x.all(y, y > 0))",
        "[1].all(x, [2].all(x, x == 2) && x == 1)",
    ),
    "macros with two variables": (
        "[5, 6].all(i, x, x == i + 5)",
        "{'a': 1}.exists(k, v, k == 'a' && v == 1)",
        "[5, 6].exists_one(i, x, i == 1)",
        "[5, 6].transformList(i, x, i + x) == [5, 7]",
        "[5, 6].transformList(i, x, i > 0, x) == [6]",
        "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
        "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v) == {'b': 2}",
        "{'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}",
    ),
    "types": (
        "type(1) == int && type(1u) == uint && type(1.0) == double && type('') == string",
        "type(true) == bool && type(b'') == bytes && type(null) == null_type",
        "type([]) == list && type({}) == map && type(int) == type",
        "type(duration('1s')) == google.protobuf.Duration",
        "type(optional.none()) == optional_type",
    ),
    "conversions": (
        "int('12') == 12 && int(3.9) == 3 && int(-3.9) == -3 && int(5u) == 5",
        "uint(3) == 3u && uint('7') == 7u",
        "double('1.5') == 1.5 && double(2) == 2.0",
        "string(1) == '1' && string(1.0) == '1' && string(1.5e30) == '1.5e+30'",
        "string(true) == 'true' && string(b'abc') == 'abc'",
        "bool('true') && !bool('F') && bytes('é') == b'é'",
        "int(timestamp('1970-01-01T00:01:00Z')) == 60",
        "string(timestamp('2009-02-13T23:31:30.5Z')) == '2009-02-13T23:31:30.5Z'",
        "string(duration('1h1m1.5s')) == '3661.5s'",
    ),
    "times": (
        "timestamp('2009-02-13T23:31:30Z') + duration('30s') == timestamp('2009-02-13T23:32:00Z')",
        "timestamp('2009-02-13T23:32:00Z') - timestamp('2009-02-13T23:31:30Z') == duration('30s')",
        "timestamp('2009-02-13T23:31:30+01:00') < timestamp('2009-02-13T23:31:30Z')",
        "timestamp('2009-02-13T23:31:30Z').getFullYear() == 2009",
        "timestamp('2009-02-13T23:31:30Z').getMonth() == 1",
        "timestamp('2009-02-13T23:31:30Z').getDate() == 13",
        "timestamp('2009-02-13T23:31:30Z').getDayOfMonth() == 12",
        "timestamp('2009-02-13T23:31:30Z').getDayOfWeek() == 5",
        "timestamp('2009-02-13T23:31:30Z').getDayOfYear() == 43",
        "timestamp('2009-02-13T23:31:30Z').getHours('Europe/Berlin') == 0",
        "timestamp('2009-02-13T23:31:30Z').getMinutes('-00:30') == 1",
        "timestamp('2009-02-13T23:31:30.123Z').getMilliseconds() == 123",
        "duration('3730s').getHours() == 1 && duration('3730s').getMinutes() == 62",
        "duration('-1.5s').getMilliseconds() == -1500",
    ),
    "optionals": (
        "optional.of(1).hasValue() && !optional.none().hasValue()",
        "optional.of(1).value() == 1 && optional.none().orValue(2) == 2",
        "optional.none().or(optional.of(3)).value() == 3",
        "{'a': 1}.?a.value() == 1 && !{'a': 1}.?b.hasValue()",
        "{'a': {'b': 1}}.?a.b.value() == 1 && !{'a': {'b': 1}}.?x.b.hasValue()",
        "[1][?0].value() == 1 && ![1][?1].hasValue()",
        "[?optional.of(1), ?optional.none()] == [1]",
        "{?'a': optional.none(), 'b': 1} == {'b': 1}",
        "optional.of(2).optMap(x, x * 2).value() == 4",
        "!optional.none().optMap(x, x).hasValue()",
        "optional.of({'a': 1}).optFlatMap(m, m.?a).value() == 1",
        "optional.ofNonZeroValue('') == optional.none()",
        "optional.of(1) == optional.of(1) && optional.of(1) != optional.none()",
        "[1, 2].first().value() == 1 && [1, 2].last().value() == 2",
    ),
}


@pytest.mark.parametrize("text", [one for many in TRUE.values() for one in many])
def test_true(text: str) -> None:
    assert value(text) is True


VALUES = {
    "9223372036854775806 + 1": 2**63 - 1,
    "1u": UInt(1),
    "1.5": 1.5,
    "'x'": "x",
    "b'x'": b"x",
    "null": None,
    "[1, 2]": [1, 2],
    "{'a': 1}": {"a": 1},
    "int": TypeValue("int"),
    "duration('1m')": Duration(60 * 10**9),
    "timestamp('1970-01-01T00:00:01Z')": Timestamp(10**9),
    "optional.of(1)": Optional(1),
    "-1.0 / 0.0": -math.inf,
}


@pytest.mark.parametrize(("text", "wanted"), VALUES.items(), ids=VALUES)
def test_values_are_of_their_type(text: str, wanted: object) -> None:
    found = value(text)
    assert type(found) is type(wanted)
    assert found == wanted


ERRORS = {
    "9223372036854775807 + 1": "integer overflow",
    "-9223372036854775807 - 2": "integer overflow",
    "9223372036854775807 * 2": "integer overflow",
    "-9223372036854775808 / -1": "integer overflow",
    "-(-9223372036854775808)": "integer overflow",
    "0u - 1u": "unsigned integer overflow",
    "1 / 0": "division by zero",
    "1u / 0u": "division by zero",
    "1 % 0": "modulus by zero",
    "{'a': 1}.b": "no such key: b",
    "{'a': 1}['b']": "no such key: b",
    "[1][1]": "index out of bounds: 1",
    "[1][-1]": "index out of bounds: -1",
    "dyn(1) + dyn('a')": "no such overload",
    "dyn(1) < dyn('a')": "no such overload",
    "!dyn(1)": "no such overload",
    "dyn(1) ? 1 : 2": "no such overload",
    "size(dyn(1))": "no such overload: size(int)",
    "dyn(1).startsWith('a')": "no such overload: startsWith(int, string)",
    "dyn('a').b": "no such overload",
    "dyn(1).all(x, true)": "no such overload",
    "dyn('a') && true": "no such overload",
    "1 / 0 == 1 && 1 / 0 == 1": "division by zero",
    "1 / 0 == 1 || false": "division by zero",
    "[0].all(x, 1 / x > 0)": "division by zero",
    "[0].map(x, 1 / x)": "division by zero",
    "{'a': 1, 'a': 2}": "Failed with repeated key: a",
    "optional.none().value()": "optional.none() dereference",
    "{'a': 1, 'b': 2}.transformMapEntry(k, v, {'x': v})": ("insert failed: key x already exists"),
    "timestamp('9999-12-31T23:59:59Z') + duration('1s')": "timestamp overflow",
    "string([b'\\xff'][0])": "invalid UTF-8 in bytes, cannot convert to string",
    "int(['x'][0])": "type conversion error from 'string' to 'int'",
    "int([1e99][0])": "integer overflow",
    "uint([-1][0])": "unsigned integer overflow",
    "duration(['1'][0])": "type conversion error from 'string' to 'google.protobuf.Duration'",
    "timestamp(['1'][0])": "type conversion error from 'string' to 'google.protobuf.Timestamp'",
    "'a'.matches(['('][0])": "error parsing regexp: missing closing ): `(`",
    "timestamp('2009-02-13T23:31:30Z').getHours('Nowhere')": "unknown time zone Nowhere",
}


@pytest.mark.parametrize(("text", "told"), ERRORS.items(), ids=ERRORS)
def test_evaluation_errors(text: str, told: str) -> None:
    assert error(text) == told


def test_a_variable_that_is_not_given_is_an_error() -> None:
    assert error("x == 1", {"x": INT}) == "no such attribute(s): x"


TYPES = {"x": INT, "s": STRING, "l": list_of(STRING), "d": DYN}
COMPILE_ERRORS = {
    "an unknown name": (
        "y == 1",
        "ERROR: <input>:1:1: undeclared reference to 'y' (in container '')\n | y == 1\n | ^",
    ),
    "an unknown function": (
        "foo(x)",
        "ERROR: <input>:1:4: undeclared reference to 'foo' (in container '')\n | foo(x)\n | ...^",
    ),
    "operands of two types": (
        "x + 'a'",
        "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n"
        " | x + 'a'\n | ..^",
    ),
    "a member of another type": (
        "x.startsWith('a')",
        "ERROR: <input>:1:13: found no matching overload for 'startsWith' applied to "
        "'int.(string)'\n | x.startsWith('a')\n | ............^",
    ),
    "a field of a scalar": (
        "x.y",
        "ERROR: <input>:1:2: type 'int' does not support field selection\n | x.y\n | .^",
    ),
    "logic over what is no bool": (
        "true && x",
        "ERROR: <input>:1:9: expected type 'bool' but found 'int'\n | true && x\n | ........^",
    ),
    "a condition that is no bool": (
        "l.all(y, y)",
        "ERROR: <input>:1:10: expected type 'bool' but found 'string'\n"
        " | l.all(y, y)\n | .........^",
    ),
    "a loop over a scalar": (
        "x.all(y, true)",
        "ERROR: <input>:1:1: expression of type 'int' cannot be range of a comprehension "
        "(must be list, map, or dynamic)\n | x.all(y, true)\n | ^",
    ),
    "a mixed list": (
        "[1, 'a']",
        "ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^",
    ),
    "a mixed map": (
        "{'a': 1, 'b': 'c'}",
        "ERROR: <input>:1:15: expected type 'int' but found 'string'\n"
        " | {'a': 1, 'b': 'c'}\n | ..............^",
    ),
    "two mistakes on two lines": (
        "x.y == 1 &&\n  z",
        "ERROR: <input>:1:2: type 'int' does not support field selection\n"
        " | x.y == 1 &&\n | .^\n"
        "ERROR: <input>:2:3: undeclared reference to 'z' (in container '')\n |   z\n | ..^",
    ),
    "a made-up type": (
        "Thing{a: 1}",
        "ERROR: <input>:1:6: undeclared reference to 'Thing' (in container '')\n"
        " | Thing{a: 1}\n | .....^",
    ),
    "a pattern that is none": (
        "s.matches('(')",
        "ERROR: <input>:1:11: invalid matches argument\n | s.matches('(')\n | ..........^",
    ),
    "a duration that is none": (
        "duration('1 day')",
        "ERROR: <input>:1:10: invalid duration argument\n | duration('1 day')\n | .........^",
    ),
    "a timestamp that is none": (
        "timestamp('today')",
        "ERROR: <input>:1:11: invalid timestamp argument\n | timestamp('today')\n | ..........^",
    ),
    "a conversion that can never be": ("int('x')", "type conversion error from 'string' to 'int'"),
    "a pattern to find that is none": (
        "s.find(')') == ''",
        "error parsing regexp: unexpected ): `)`",
    ),
}


@pytest.mark.parametrize(("text", "told"), COMPILE_ERRORS.values(), ids=COMPILE_ERRORS)
def test_compile_errors(text: str, told: str) -> None:
    assert compile_error(text, TYPES) == told


def test_a_list_of_everything_is_allowed_where_it_is_formatted() -> None:
    assert value("'%s %d %s'.format(['a', 1, [true]])") == "a 1 [true]"


def test_functions_that_1_35_does_not_have_are_unknown() -> None:
    for text in ("math.greatest(1, 2)", "base64.encode(b'a')", "cel.bind(x, 1, x)"):
        assert "undeclared reference" in compile_error(text), text
