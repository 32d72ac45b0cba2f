"""The words of an expression."""

import re
from dataclasses import dataclass

from mooring.apiserver.cel.errors import Issue

MOST_TEXT = 100_000  # characters of an expression

_ESCAPE = (
    r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
)
_STRING = (
    r"[rR](?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"[^\"\n\r]*\"|'[^'\n\r]*')"
    rf"|\"\"\"(?:{_ESCAPE}|[^\\])*?\"\"\"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf"|\"(?:{_ESCAPE}|[^\\\"\n\r])*\"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
)
_WORDS = re.compile(
    rf"""(?P<space>[\t \r\n\f]+|//[^\n]*)
    |(?P<bytes>[bB](?:{_STRING}))
    |(?P<string>{_STRING})
    |(?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<uint>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<ident>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<symbol>==|!=|<=|>=|&&|\|\||[][{{}}().,?:<>!+*/%-])""",
    re.VERBOSE,
)
_KEYWORDS = frozenset(("in", "true", "false", "null"))
_BEGINS_STRING = re.compile(r"[bB]?[rR]?[\"']")


@dataclass(frozen=True, slots=True)
class Token:
    kind: str  # ident, string, bytes, int, uint, double, end; keywords and symbols are their text
    text: str
    at: int


def tokens(source: str) -> tuple[list[Token], list[Issue]]:
    """The tokens, with an end, and what is none."""
    found: list[Token] = []
    issues: list[Issue] = []
    at = 0
    while at < len(source):
        match = _WORDS.match(source, at)
        if match is None:
            length = _length_of_no_token(source, at)
            unknown = source[at : at + length]
            issues.append(Issue(at, f"Syntax error: token recognition error at: '{unknown}'"))
            at += length
            continue
        kind, text = match.lastgroup or "", match.group()
        if kind != "space":
            own = kind == "symbol" or text in _KEYWORDS
            found.append(Token(text if own else kind, text, at))
        at = match.end()
    found.append(Token("end", "<EOF>", len(source)))
    return found, issues


def _length_of_no_token(source: str, at: int) -> int:
    """How much of the text to leave out: a broken string is left out to the end of its line."""
    if begin := _BEGINS_STRING.match(source, at):
        end = re.compile(r"[\n\r]|\Z").search(source, begin.end())
        return (end.start() if end else len(source)) - at
    if source[at] in "|&=" and at + 1 < len(source):
        return 2
    return 1


_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "?": "?",
}
_escapes = re.compile(_ESCAPE)


def _body(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quotes = 3 if len(text) >= 6 and text[:3] in ("'''", '"""') else 1
    return text[quotes:-quotes], raw


def string_value(text: str) -> str:
    """The string that a token writes; ValueError when it is none."""
    body, raw = _body(text)
    return body if raw or "\\" not in body else _escapes.sub(_character, body)


def _character(match: re.Match[str]) -> str:
    escape = match.group()[1:]
    if escape[0] in _SIMPLE:
        return _SIMPLE[escape[0]]
    code = int(escape[1:], 16) if escape[0] in "xXuU" else int(escape, 8)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(code)


def bytes_value(text: str) -> bytes:
    """The bytes that a token writes; ValueError when it is none."""
    body, raw = _body(text[1:])
    if raw or "\\" not in body:
        return body.encode(errors="surrogatepass")
    whole: list[bytes] = []
    at = 0
    for match in _escapes.finditer(body):
        whole += (
            body[at : match.start()].encode(errors="surrogatepass"),
            _octet(match.group()[1:]),
        )
        at = match.end()
    return b"".join((*whole, body[at:].encode(errors="surrogatepass")))


def _octet(escape: str) -> bytes:
    if escape[0] in _SIMPLE:
        return _SIMPLE[escape[0]].encode()
    if escape[0] in "uU":
        raise ValueError("unable to unescape string")
    return bytes([int(escape[1:], 16) if escape[0] in "xX" else int(escape, 8)])
