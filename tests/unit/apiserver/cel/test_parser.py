"""Texts that are expressions, and what is said of those that are none."""

import pytest

from mooring.apiserver.cel.ast import (
    Call,
    Comprehension,
    Ident,
    Index,
    ListLiteral,
    Literal,
    Select,
)
from mooring.apiserver.cel.errors import CompileError
from mooring.apiserver.cel.parser import MOST_DEPTH, parse
from mooring.apiserver.cel.unparse import unparse

A, B, C = Ident("a"), Ident("b"), Ident("c")
ONE, TWO = Literal("int", 1), Literal("int", 2)
_OPERANDS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', "
    "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)

TREES = {
    "products bind tighter than sums": (
        "a + b * c",
        Call("_+_", (A, Call("_*_", (B, C)))),
    ),
    "sums group from the left": ("a - b - c", Call("_-_", (Call("_-_", (A, B)), C))),
    "and binds tighter than or, and both keep all their terms": (
        "a || b && c || a",
        Call("_||_", (A, Call("_&&_", (B, C)), A)),
    ),
    "conditions group from the right": (
        "a ? b : b ? c : a",
        Call("_?_:_", (A, B, Call("_?_:_", (B, C, A)))),
    ),
    "two exclamation marks are none": ("!!a", A),
    "three are one": ("!!!a", Call("!_", (A,))),
    "a minus before a number is part of it": ("-1", Literal("int", -1)),
    "the smallest number can be written": (
        "-9223372036854775808",
        Literal("int", -9223372036854775808),
    ),
    "hexadecimal": ("0x1F", Literal("int", 31)),
    "unsigned": ("5u", Literal("uint", 5)),
    "doubles": ("1e3", Literal("double", 1000.0)),
    "a raw string keeps its backslashes": (r"r'\d'", Literal("string", r"\d")),
    "three quotes may hold lines": ("'''x\ny'''", Literal("string", "x\ny")),
    "escapes": (r"'\x41\102\u0043\n'", Literal("string", "ABC\n")),
    "escapes of bytes are octets": (r"b'\xff\377'", Literal("bytes", b"\xff\xff")),
    "has asks for a field": ("has(a.b)", Select(A, "b", test=True)),
    "an optional field": ("a.?b", Select(A, "b", optional=True)),
    "an optional index": ("a[?1]", Index(A, ONE, optional=True)),
    "an optional item": ("[?a, b]", ListLiteral((A, B), frozenset({0}))),
    "a macro with one variable": (
        "a.all(x, x)",
        Comprehension("all", A, ("x",), (Ident("x"),)),
    ),
    "a macro with two": (
        "a.exists(i, x, x)",
        Comprehension("exists", A, ("i", "x"), (Ident("x"),)),
    ),
    "a map that filters": (
        "a.map(x, b, c)",
        Comprehension("map", A, ("x",), (B, C)),
    ),
    "another number of arguments is a call": ("a.all(b)", Call("all", (B,), A)),
    "comments end with the line": ("a // b\n + c", Call("_+_", (A, C))),
    "reserved words are names after a dot": ("a.namespace", Select(A, "namespace")),
    "a list may end with a comma": ("[1, 2,]", ListLiteral((ONE, TWO))),
}


@pytest.mark.parametrize(("text", "tree"), TREES.values(), ids=TREES)
def test_parse(text: str, tree: object) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(("text", "tree"), TREES.values(), ids=TREES)
def test_unparse(text: str, tree: object) -> None:
    assert parse(unparse(parse(text))) == tree


ERRORS = {
    "an end too early": (
        "1 +",
        f"ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {_OPERANDS}\n"
        " | 1 +\n | ...^",
    ),
    "something after the end": (
        "a b",
        "ERROR: <input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>\n | a b\n | ..^",
    ),
    "much after the end, on the second line": (
        "1 + 2\n3 +",
        "ERROR: <input>:2:1: Syntax error: mismatched input '3' expecting <EOF>\n | 3 +\n | ^",
    ),
    "no token": (
        "a + $b",
        "ERROR: <input>:1:5: Syntax error: token recognition error at: '$'\n | a + $b\n | ....^",
    ),
    "characters that are not ASCII are marked wide": (
        "'é' + é",
        "ERROR: <input>:1:7: Syntax error: token recognition error at: 'é'\n"
        " | 'é' + é\n | .\uff0e....\uff3e\n"
        f"ERROR: <input>:1:8: Syntax error: mismatched input '<EOF>' expecting {_OPERANDS}\n"
        " | 'é' + é\n | .\uff0e....\uff0e^",
    ),
    "a reserved word": (
        "namespace",
        "ERROR: <input>:1:1: reserved identifier: namespace\n | namespace\n | ^",
    ),
    "a keyword after a dot": (
        "a.true",
        "ERROR: <input>:1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER\n"
        " | a.true\n | ..^",
    ),
    "has of no field": (
        "has(a)",
        "ERROR: <input>:1:5: invalid argument to has() macro\n | has(a)\n | ....^",
    ),
    "a macro without a name": (
        "[1].all(2, true)",
        "ERROR: <input>:1:9: argument must be a simple name\n | [1].all(2, true)\n | ........^",
    ),
    "map without a name": (
        "[1].map(a.b, 1)",
        "ERROR: <input>:1:10: argument is not an identifier\n | [1].map(a.b, 1)\n | .........^",
    ),
    "the same name twice": (
        "[1].all(x, x, true)",
        "ERROR: <input>:1:12: duplicate variable name: x\n | [1].all(x, x, true)\n | ...........^",
    ),
    "the accumulator": (
        "[1].map(__result__, 1)",
        "ERROR: <input>:1:9: iteration variable overwrites accumulator variable\n"
        " | [1].map(__result__, 1)\n | ........^",
    ),
    "an int too large": (
        "9223372036854775808",
        "ERROR: <input>:1:1: invalid int literal\n | 9223372036854775808\n | ^",
    ),
    "a uint too large": (
        "0xFFFFFFFFFFFFFFFFFu",
        "ERROR: <input>:1:1: invalid uint literal\n | 0xFFFFFFFFFFFFFFFFFu\n | ^",
    ),
    "a double too large": (
        "1.99e90000009",
        "ERROR: <input>:1:1: invalid double literal\n | 1.99e90000009\n | ^",
    ),
}


@pytest.mark.parametrize(("text", "told"), ERRORS.values(), ids=ERRORS)
def test_errors_name_the_place(text: str, told: str) -> None:
    with pytest.raises(CompileError) as raised:
        parse(text)
    assert str(raised.value) == told


_TOO_DEEP = f"ERROR: <input>:-1:0: expression recursion limit exceeded: {MOST_DEPTH}"
HOSTILE = {
    "brackets": "(" * 1000 + "1" + ")" * 1000,
    "lists": "[" * 1000 + "]" * 1000,
    "a sum from the left": "+".join("a" * 1000),
    "conditions": "a ? b : " * 1000 + "c",
    "fields": "a" + ".b" * 1000,
    "calls in calls": "f(" * 1000 + ")" * 1000,
    "macros in macros": "[1].all(x, " * 1000 + "true" + ")" * 1000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_nesting_is_bounded(text: str) -> None:
    with pytest.raises(CompileError) as raised:
        parse(text)
    assert str(raised.value) == _TOO_DEEP


def test_long_chains_of_logic_are_not_nesting() -> None:
    tree = parse(" && ".join("a" * 2000))
    assert isinstance(tree, Call)
    assert len(tree.args) == 2000


def test_the_text_is_bounded() -> None:
    with pytest.raises(CompileError) as raised:
        parse("a" * 100_001)
    assert str(raised.value) == (
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
    )
