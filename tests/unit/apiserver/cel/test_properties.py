"""Laws over all expressions: printed ones read back, and evaluation never breaks."""

from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.apiserver.cel import ast
from mooring.apiserver.cel.ast import Expr
from mooring.apiserver.cel.environment import FUNCTIONS, compile_text, environment
from mooring.apiserver.cel.errors import CelError, CompileError
from mooring.apiserver.cel.parser import parse
from mooring.apiserver.cel.types import DYN, INT, STRING, list_of, map_of
from mooring.apiserver.cel.unparse import unparse
from mooring.apiserver.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

TYPES = {"i": INT, "s": STRING, "l": list_of(INT), "m": map_of(STRING, STRING), "d": DYN}
NAMES = st.sampled_from([*TYPES, "x", "y"])
_BINARY = ("_+_", "_-_", "_*_", "_/_", "_%_", "_<_", "_>=_", "_==_", "_!=_", "@in")
_MACROS = ("all", "exists", "exists_one", "map", "filter")
_MEMBERS = sorted(
    name
    for name, overloads in FUNCTIONS.items()
    if name.isalpha() and any(overload.member for overload in overloads)
)
_GLOBALS = sorted(
    name
    for name, overloads in FUNCTIONS.items()
    if name.isalpha() and any(not overload.member for overload in overloads)
)

LITERALS: st.SearchStrategy[Expr] = st.one_of(
    st.integers(INT_MIN, INT_MAX).map(lambda x: ast.Literal("int", x)),
    st.integers(0, UINT_MAX).map(lambda x: ast.Literal("uint", UInt(x))),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: ast.Literal("double", x)),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5).map(
        lambda x: ast.Literal("string", x)
    ),
    st.binary(max_size=5).map(lambda x: ast.Literal("bytes", x)),
    st.booleans().map(lambda x: ast.Literal("bool", x)),
    st.just(ast.Literal("null", None)),
)


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    few = st.lists(inner, max_size=3).map(tuple)
    terms = st.lists(inner, min_size=2, max_size=3).map(tuple)
    entries = st.lists(st.builds(ast.Entry, inner, inner, st.booleans()), max_size=2).map(tuple)
    return st.one_of(
        st.builds(ast.Select, inner, NAMES, st.booleans()),
        st.builds(lambda x, name: ast.Select(x, name, optional=True), inner, NAMES),
        st.builds(ast.Index, inner, inner, st.booleans()),
        st.builds(lambda f, a, b: ast.Call(f, (a, b)), st.sampled_from(_BINARY), inner, inner),
        st.builds(ast.Call, st.sampled_from((ast.AND, ast.OR)), terms),
        st.builds(lambda a, b, c: ast.Call(ast.IF, (a, b, c)), inner, inner, inner),
        st.builds(lambda f, a: ast.Call(f, (a,)), st.sampled_from((ast.NOT, ast.NEGATE)), inner),
        st.builds(ast.Call, st.sampled_from(_GLOBALS), few),
        st.builds(lambda f, x, a: ast.Call(f, a, x), st.sampled_from(_MEMBERS), inner, few),
        few.map(ast.ListLiteral),
        entries.map(ast.MapLiteral),
        st.builds(
            lambda f, over, x: ast.Comprehension(f, over, ("x",), (x,)),
            st.sampled_from(_MACROS),
            inner,
            inner,
        ),
        st.builds(
            lambda over, x: ast.Comprehension("transformList", over, ("x", "y"), (x,)), inner, inner
        ),
    )


EXPRESSIONS = st.recursive(st.one_of(LITERALS, NAMES.map(ast.Ident)), _larger, max_leaves=12)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(INT_MIN, INT_MAX), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(EXPRESSIONS)
def test_what_is_printed_reads_back(tree: Expr) -> None:
    assert parse(unparse(tree)) == tree


@settings(max_examples=150)
@given(EXPRESSIONS, JSON, st.integers(INT_MIN, INT_MAX), st.text(max_size=6))
def test_an_evaluation_ends_in_a_value_or_in_an_error(tree: Expr, d: Any, i: int, s: str) -> None:
    values = {"i": i, "s": s, "l": [i, 1, 2], "m": {s: s}, "d": d, "x": d, "y": d}
    for types in (dict.fromkeys((*TYPES, "x", "y"), DYN), {**TYPES, "x": INT, "y": DYN}):
        try:
            _, program = compile_text(unparse(tree), environment(types, {}))
        except CompileError:
            continue
        result, cost = program.run({**values, "x": i if types["x"] == INT else d}, 10_000)
        assert cost >= 0
        if isinstance(result, Exception):
            assert isinstance(result, CelError)


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_a_compile_error(text: str) -> None:
    with suppress(CompileError):
        assert parse(unparse(parse(text))) == parse(text)
