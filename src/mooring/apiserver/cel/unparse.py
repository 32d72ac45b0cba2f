"""Tree to text: what `parse` reads back as the same tree."""

from mooring.apiserver.cel import ast
from mooring.apiserver.cel.ast import Expr

_BINARY = {
    "_<_": (4, "<"),
    "_<=_": (4, "<="),
    "_>_": (4, ">"),
    "_>=_": (4, ">="),
    ast.EQUAL: (4, "=="),
    ast.NOT_EQUAL: (4, "!="),
    ast.IN: (4, "in"),
    "_+_": (5, "+"),
    "_-_": (5, "-"),
    "_*_": (6, "*"),
    "_/_": (6, "/"),
    "_%_": (6, "%"),
}
_IF, _OR, _AND, _UNARY, _MEMBER = 1, 2, 3, 7, 8


def unparse(expr: Expr) -> str:
    return _text(expr)[0]


def _in(expr: Expr, least: int) -> str:
    text, power = _text(expr)
    return text if power >= least else f"({text})"


def _text(expr: Expr) -> tuple[str, int]:
    """The text, and how tight its outermost operator binds."""
    match expr:
        case ast.Literal():
            text = _literal(expr)
            return text, _UNARY if text.startswith("-") else _MEMBER
        case ast.Ident():
            return expr.name, _MEMBER
        case ast.Select(test=True):
            return f"has({_in(expr.operand, _MEMBER)}.{expr.field})", _MEMBER
        case ast.Select():
            mark = "?" if expr.optional else ""
            return f"{_in(expr.operand, _MEMBER)}.{mark}{expr.field}", _MEMBER
        case ast.Index():
            mark = "?" if expr.optional else ""
            return f"{_in(expr.operand, _MEMBER)}[{mark}{unparse(expr.index)}]", _MEMBER
        case ast.ListLiteral():
            items = (
                ("?" if at in expr.optional else "") + unparse(item)
                for at, item in enumerate(expr.items)
            )
            return f"[{', '.join(items)}]", _MEMBER
        case ast.MapLiteral():
            entries = (
                f"{'?' if one.optional else ''}{unparse(one.key)}: {unparse(one.value)}"
                for one in expr.entries
            )
            return "{" + ", ".join(entries) + "}", _MEMBER
        case ast.StructLiteral():
            fields = ", ".join(
                f"{'?' if one.optional else ''}{one.name}: {unparse(one.value)}"
                for one in expr.fields
            )
            return expr.name + "{" + fields + "}", _MEMBER
        case ast.Comprehension():
            args = ", ".join((*expr.variables, *map(unparse, expr.args)))
            return f"{_in(expr.range, _MEMBER)}.{expr.macro}({args})", _MEMBER
        case ast.Call():
            return _call(expr)


def _call(expr: ast.Call) -> tuple[str, int]:
    args = expr.args
    match expr.function:
        case ast.IF:
            test, then, other = args
            return f"{_in(test, _OR)} ? {_in(then, _OR)} : {_in(other, _IF)}", _IF
        case ast.OR:
            return " || ".join(_in(arg, _AND) for arg in args), _OR
        case ast.AND:
            return " && ".join(_in(arg, _AND + 1) for arg in args), _AND
        case ast.NOT:
            return f"!{_in(args[0], _MEMBER)}", _UNARY
        case ast.NEGATE:
            inner = _in(args[0], _MEMBER)
            return (f"-({inner})" if inner[0].isdigit() or inner[0] == "." else f"-{inner}"), _UNARY
        case _:
            pass
    if expr.function in _BINARY:
        power, symbol = _BINARY[expr.function]
        return f"{_in(args[0], power)} {symbol} {_in(args[1], power + 1)}", power
    inside = ", ".join(map(unparse, args))
    if expr.target is None:
        return f"{expr.function}({inside})", _MEMBER
    return f"{_in(expr.target, _MEMBER)}.{expr.function}({inside})", _MEMBER


def _literal(expr: ast.Literal) -> str:
    value = expr.value
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return '"' + "".join(map(_character, value)) + '"'
        case bytes():
            return 'b"' + "".join(f"\\x{octet:02x}" for octet in value) + '"'
        case float():
            text = repr(value)
            return text if "." in text or "e" in text else text + ".0"
        case _:
            return f"{value}u" if expr.kind == "uint" else str(value)


def _character(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    return f"\\U{ord(char):08x}"
