"""Text to tree: recursive descent with binding powers, no deeper than a budget."""

from mooring.apiserver.cel import ast
from mooring.apiserver.cel.ast import Expr
from mooring.apiserver.cel.errors import CompileError, Issue
from mooring.apiserver.cel.lexer import MOST_TEXT, Token, bytes_value, string_value, tokens
from mooring.apiserver.cel.macros import expand
from mooring.apiserver.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

MOST_DEPTH = 250
_NOWHERE = -1
_TOO_DEEP = f"expression recursion limit exceeded: {MOST_DEPTH}"
_OPERANDS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', "
    "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_RESERVED = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_IF, _OR, _AND, _RELATION, _ADD, _MULTIPLY = range(1, 7)
_BINARY: dict[str, tuple[int, str]] = {
    "<": (_RELATION, "_<_"),
    "<=": (_RELATION, "_<=_"),
    ">": (_RELATION, "_>_"),
    ">=": (_RELATION, "_>=_"),
    "==": (_RELATION, ast.EQUAL),
    "!=": (_RELATION, ast.NOT_EQUAL),
    "in": (_RELATION, ast.IN),
    "+": (_ADD, "_+_"),
    "-": (_ADD, "_-_"),
    "*": (_MULTIPLY, "_*_"),
    "/": (_MULTIPLY, "_/_"),
    "%": (_MULTIPLY, "_%_"),
}
_POWER = {symbol: power for symbol, (power, _) in _BINARY.items()} | {
    "?": _IF,
    "||": _OR,
    "&&": _AND,
}


def parse(source: str) -> Expr:
    """The tree of an expression; CompileError says what is wrong with its text."""
    if len(source) > MOST_TEXT:
        text = f"expression code point size exceeds limit: size: {len(source)}, limit {MOST_TEXT}"
        raise CompileError("", [Issue(_NOWHERE, text)])
    found, issues = tokens(source)
    parser = _Parser(found, issues)
    try:
        tree = parser.whole()
    except (_Broken, RecursionError) as broken:
        last = broken.issue if isinstance(broken, _Broken) else Issue(_NOWHERE, _TOO_DEEP)
        raise CompileError(source, [*issues, last]) from None
    if _deeper_than(tree, MOST_DEPTH):
        issues.append(Issue(_NOWHERE, _TOO_DEEP))
    if issues:
        raise CompileError(source, issues)
    return tree


def _deeper_than(tree: Expr, most: int) -> bool:
    level = [tree]
    for _ in range(most):
        level = [child for expr in level for child in ast.children(expr)]
        if not level:
            return False
    return True


class _Broken(Exception):
    """Ends the parse."""

    def __init__(self, issue: Issue) -> None:
        super().__init__(issue.text)
        self.issue = issue


class _Parser:
    def __init__(self, found: list[Token], issues: list[Issue]) -> None:
        self._tokens = found
        self._next = 0
        self._issues = issues
        self._depth = 0

    def whole(self) -> Expr:
        tree = self._expression(_IF)
        token = self._peek()
        if token.kind != "end":
            last = self._tokens[self._next + 1].kind == "end"
            word = "extraneous" if last else "mismatched"
            raise _broken(token, f"{word} input '{token.text}' expecting <EOF>")
        return tree

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _accept(self, kind: str) -> Token | None:
        if self._tokens[self._next].kind != kind:
            return None
        return self._take()

    def _expect(self, kind: str, expected: str) -> Token:
        token = self._peek()
        if token.kind != kind:
            raise _broken(token, f"mismatched input '{token.text}' expecting {expected}")
        return self._take()

    def _expression(self, least: int) -> Expr:
        """An expression of operators that bind at least so tight."""
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise _Broken(Issue(_NOWHERE, _TOO_DEEP))
        left = self._operand()
        while (power := _POWER.get(self._peek().kind, 0)) >= least:
            token = self._take()
            if power == _IF:
                then = self._expression(_OR)
                self._expect(":", "':'")
                left = ast.Call(ast.IF, (left, then, self._expression(_IF)), at=token.at)
            elif power in (_OR, _AND):
                left = self._terms(left, token, power)
            else:
                right = self._expression(power + 1)
                left = ast.Call(_BINARY[token.kind][1], (left, right), at=token.at)
        self._depth -= 1
        return left

    def _terms(self, first: Expr, token: Token, power: int) -> Expr:
        terms = [first, self._expression(power + 1)]
        while self._accept(token.kind):
            terms.append(self._expression(power + 1))
        return ast.Call(ast.OR if power == _OR else ast.AND, tuple(terms), at=token.at)

    def _operand(self) -> Expr:
        token = self._peek()
        if token.kind == "!":
            count = 0
            while self._accept("!"):
                count += 1
            member = self._member()
            return ast.Call(ast.NOT, (member,), at=token.at) if count % 2 else member
        if token.kind == "-":
            return self._negated(token)
        return self._postfix(self._primary())  # one frame of Python less per level of the text

    def _negated(self, first: Token) -> Expr:
        count, last = 0, first
        while minus := self._accept("-"):
            count, last = count + 1, minus
        if self._peek().kind in ("int", "double"):
            member = self._postfix(self._number(self._take(), last))
            count -= 1
        else:
            member = self._member()
        return ast.Call(ast.NEGATE, (member,), at=first.at) if count % 2 else member

    def _member(self) -> Expr:
        return self._postfix(self._primary())

    def _postfix(self, expr: Expr) -> Expr:
        while True:
            token = self._peek()
            if token.kind == ".":
                self._take()
                expr = self._dotted(expr, token)
            elif token.kind == "[":
                self._take()
                optional = self._accept("?") is not None
                index = self._expression(_IF)
                self._expect("]", "']'")
                expr = ast.Index(expr, index, optional, at=token.at)
            elif token.kind == "{" and (name := ast.qualified_name(expr)) is not None:
                expr = self._struct(name, self._take())
            else:
                return expr

    def _dotted(self, operand: Expr, dot: Token) -> Expr:
        optional = self._accept("?") is not None
        name = self._peek()
        if name.kind != "ident":
            if name.kind in ("true", "false", "null", "in"):
                raise _broken(name, f"mismatched input '{name.text}' expecting IDENTIFIER")
            raise _broken(name, f"no viable alternative at input '.{_seen(name)}'")
        self._take()
        if not optional and (opening := self._accept("(")):
            return self._call(name.text, operand, opening)
        return ast.Select(operand, name.text, optional=optional, at=dot.at)

    def _call(self, function: str, target: Expr | None, opening: Token) -> Expr:
        args = self._arguments()
        expanded = expand(function, target, args, opening.at)
        if isinstance(expanded, Issue):
            self._issues.append(expanded)
            return ast.Literal("bool", value=False, at=opening.at)
        return expanded or ast.Call(function, args, target, at=opening.at)

    def _arguments(self) -> tuple[Expr, ...]:
        args: list[Expr] = []
        if self._accept(")"):
            return ()
        while True:
            args.append(self._expression(_IF))
            if not self._accept(","):
                break
        self._expect(")", "')'")
        return tuple(args)

    def _primary(self) -> Expr:
        token = self._peek()
        match token.kind:
            case "(":
                self._take()
                inner = self._expression(_IF)
                self._expect(")", "')'")
                return inner
            case "[":
                return self._list(self._take())
            case "{":
                return self._map(self._take())
            case "ident" | ".":
                return self._name(token)
            case "int" | "uint" | "double":
                return self._number(self._take())
            case "string" | "bytes":
                return self._text(self._take())
            case "true" | "false":
                return ast.Literal("bool", self._take().text == "true", at=token.at)
            case "null":
                return ast.Literal("null", None, at=self._take().at)
            case _:
                raise _broken(token, f"mismatched input '{token.text}' expecting {_OPERANDS}")

    def _name(self, token: Token) -> Expr:
        dot = "." if self._accept(".") else ""
        name = self._expect("ident", "IDENTIFIER")
        if name.text in _RESERVED:
            self._issues.append(Issue(token.at, f"reserved identifier: {name.text}"))
        if opening := self._accept("("):
            return self._call(dot + name.text, None, opening)
        return ast.Ident(dot + name.text, at=name.at)

    def _list(self, opening: Token) -> Expr:
        items: list[Expr] = []
        optional: set[int] = set()
        while not self._accept("]"):
            if self._accept("?"):
                optional.add(len(items))
            items.append(self._expression(_IF))
            if not self._accept(","):
                self._expect("]", "{']', ','}")
                break
        return ast.ListLiteral(tuple(items), frozenset(optional), at=opening.at)

    def _map(self, opening: Token) -> Expr:
        entries: list[ast.Entry] = []
        while not self._accept("}"):
            optional = self._accept("?") is not None
            key = self._expression(_IF)
            self._expect(":", "':'")
            entries.append(ast.Entry(key, self._expression(_IF), optional))
            if not self._accept(","):
                self._expect("}", "{'}', ','}")
                break
        return ast.MapLiteral(tuple(entries), at=opening.at)

    def _struct(self, name: str, opening: Token) -> Expr:
        fields: list[ast.Member] = []
        while not self._accept("}"):
            optional = self._accept("?") is not None
            wanted = "IDENTIFIER" if optional else "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"
            key = self._expect("ident", wanted)
            colon = self._expect(":", "':'")
            value = self._expression(_IF)
            fields.append(ast.Member(key.text, value, optional, at=colon.at))
            if not self._accept(","):
                self._expect("}", "{'}', ','}")
                break
        return ast.StructLiteral(name, tuple(fields), at=opening.at)

    def _number(self, token: Token, minus: Token | None = None) -> Expr:
        sign, at = (-1, minus.at) if minus else (1, token.at)
        text = token.text.rstrip("uU")
        if token.kind == "double":
            value = float(text)
            if value == float("inf"):
                self._issues.append(Issue(at, "invalid double literal"))
            return ast.Literal("double", sign * value, at=at)
        digits, base = (text[2:], 16) if text.startswith("0x") else (text, 10)
        number = sign * int(digits, base) if len(digits) <= 20 else INT_MAX * 4
        if token.kind == "uint":
            if number > UINT_MAX:
                self._issues.append(Issue(at, "invalid uint literal"))
            return ast.Literal("uint", UInt(number), at=at)
        if not INT_MIN <= number <= INT_MAX:
            self._issues.append(Issue(at, "invalid int literal"))
        return ast.Literal("int", number, at=at)

    def _text(self, token: Token) -> Expr:
        try:
            if token.kind == "string":
                return ast.Literal("string", string_value(token.text), at=token.at)
            return ast.Literal("bytes", bytes_value(token.text), at=token.at)
        except ValueError as error:
            self._issues.append(Issue(token.at, str(error)))
            return ast.Literal("string", "", at=token.at)


def _seen(token: Token) -> str:
    return "" if token.kind == "end" else token.text


def _broken(token: Token, text: str) -> _Broken:
    return _Broken(Issue(token.at, f"Syntax error: {text}"))
