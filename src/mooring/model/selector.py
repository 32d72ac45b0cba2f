"""Label selectors and field selectors, as LIST and WATCH take them.

Label selectors also come as documents (`matchLabels`, `matchExpressions`). An invalid selector is a
ValueError with the API's text.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec

from mooring.model.field_error import FieldError, invalid, show
from mooring.model.names import label_value, qualified_name
from mooring.model.wire import Wire

_INT64 = range(-(2**63), 2**63)
_is_integer = re.compile(r"[+-]?[0-9]+").fullmatch


class Operator(StrEnum):
    """How a label must relate to the values; spelt as error texts list them."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER = "gt"
    LESS = "lt"
    EXISTS = "exists"
    ABSENT = "!"


class Requirement(msgspec.Struct, frozen=True, dict=True):
    """One condition on one label. Make it with `require`, which checks it."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    @cached_property
    def _choice(self) -> frozenset[str | None]:
        """There may be tens of thousands of values, and as many objects to compare with them."""
        return frozenset(self.values)

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.IN:
                return value in self._choice
            case Operator.NOT_EQUALS | Operator.NOT_IN:
                return value not in self._choice
            case Operator.EXISTS:
                return value is not None
            case Operator.ABSENT:
                return value is None
            case Operator.GREATER | Operator.LESS:
                number, bound = find_int64(value), find_int64(self.values[0])
                if number is None or bound is None:
                    return False
                return number > bound if self.operator is Operator.GREATER else number < bound

    def __str__(self) -> str:
        """As `parse_labels` reads it."""
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.ABSENT:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.value} ({','.join(sorted(self.values))})"
            case Operator.GREATER | Operator.LESS:
                sign = ">" if self.operator is Operator.GREATER else "<"
                return f"{self.key}{sign}{self.values[0]}"
            case _:
                return f"{self.key}{self.operator.value}{self.values[0]}"


class LabelSelector(msgspec.Struct, frozen=True):
    """Requirements that must all hold; none at all holds for every object."""

    requirements: tuple[Requirement, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.requirements

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        """As `parse_labels` reads it, sorted by key."""
        return ",".join(map(str, sorted(self.requirements, key=lambda each: each.key)))


class Expression(Wire, frozen=True):
    """An entry of `matchExpressions`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class SelectorDocument(Wire, frozen=True):
    """A `LabelSelector` as objects carry it."""

    match_labels: Mapping[str, str] | None = None
    match_expressions: tuple[Expression, ...] | None = None

    def selector(self) -> LabelSelector:
        """Raises: ValueError when an expression is invalid."""
        requirements = [
            require(key, Operator.EQUALS, (value,))
            for key, value in (self.match_labels or {}).items()
        ]
        for expression in self.match_expressions or ():
            operator = _DOCUMENT_OPERATORS.get(expression.operator)
            if operator is None:
                raise ValueError(
                    f"{show(expression.operator)} is not a valid label selector operator"
                )
            requirements.append(require(expression.key, operator, expression.values))
        return LabelSelector(tuple(requirements))


_DOCUMENT_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.ABSENT,
}


_ANY_COUNT = 2**63
_SET = (1, _ANY_COUNT, "for 'in', 'notin' operators, values set can't be empty")
_EXACT = (1, 1, "exact-match compatibility requires one single value")
_UNARY = (0, 0, "values set must be empty for exists and does not exist")
_BOUND = (1, 1, "for 'Gt', 'Lt' operators, exactly one value is required")
_VALUE_COUNTS = {
    Operator.IN: _SET,
    Operator.NOT_IN: _SET,
    Operator.EQUALS: _EXACT,
    Operator.DOUBLE_EQUALS: _EXACT,
    Operator.NOT_EQUALS: _EXACT,
    Operator.GREATER: _BOUND,
    Operator.LESS: _BOUND,
    Operator.EXISTS: _UNARY,
    Operator.ABSENT: _UNARY,
}


class FieldTerm(msgspec.Struct, frozen=True):
    """`field=value` or `field!=value`."""

    field: str
    op: str
    value: str


class FieldSelector(msgspec.Struct, frozen=True):
    terms: tuple[FieldTerm, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.terms

    def matches(self, get: Callable[[str], str]) -> bool:
        """Whether every term holds; `get` returns the value of a field, empty if absent."""
        return all((get(term.field) == term.value) == (term.op == "=") for term in self.terms)


def from_document(document: Mapping[str, Any]) -> LabelSelector:
    return msgspec.convert(document, SelectorDocument).selector()


def of_pods(document: SelectorDocument) -> LabelSelector:
    """What selects the pods of an owner: one that is empty or invalid matches nothing."""
    try:
        selector = document.selector()
    except ValueError:
        return NOTHING
    return NOTHING if selector.empty else selector


def require(key: str, operator: Operator, values: tuple[str, ...] = ()) -> Requirement:
    """A checked requirement. Raises: ValueError naming everything wrong with it."""
    complaints: list[FieldError] = []
    if problems := tuple(qualified_name(key)):
        complaints.append(invalid("key", key, "; ".join(problems)))
    complaints += _count_complaints(operator, values)
    if operator in {Operator.GREATER, Operator.LESS}:
        complaints += (
            invalid(f"values[{i}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
            for i, value in enumerate(values)
            if find_int64(value) is None
        )
    for i, value in enumerate(values):
        if problems := tuple(label_value(value)):
            complaints.append(invalid(f"values[{i}][{key}]", value, "; ".join(problems)))
    if complaints:
        texts = list(dict.fromkeys(map(str, complaints)))
        raise ValueError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    return Requirement(key, operator, values)


def _count_complaints(operator: Operator, values: tuple[str, ...]) -> list[FieldError]:
    least, most, detail = _VALUE_COUNTS[operator]
    if least <= len(values) <= most:
        return []
    return [invalid("values", list(values) or None, detail)]


def find_int64(text: str | None) -> int | None:
    """`text` as a number, None unless it is one that fits in 64 bits."""
    if text is None or len(text) > 64 or not _is_integer(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


def parse_labels(text: str) -> LabelSelector:
    """Read `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>5,m<5`. Raises: ValueError."""
    return _LabelParser(text).parse() if text else EVERYTHING


EVERYTHING = LabelSelector()
NOTHING = LabelSelector((Requirement("", Operator.IN),))

_words = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+").findall
_SYMBOLS = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">"))
_END = ""
_BINARY_OPERATORS = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER,
    "<": Operator.LESS,
}
_EXPECTED_OPERATORS = ", ".join(_BINARY_OPERATORS.values())


class _LabelParser:
    """A recursive descent over words, the last of which is always the end."""

    def __init__(self, text: str) -> None:
        self._words: list[str] = [*_words(text), _END]
        self._at = 0

    def parse(self) -> LabelSelector:
        requirements: list[Requirement] = []
        word = self._ahead()
        if word == _END:
            return EVERYTHING
        if not _starts_requirement(word):
            raise ValueError(f"found '{word}', expected: !, identifier, or 'end of string'")
        while True:
            try:
                requirements.append(self._requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            word = self._next()
            if word == _END:
                return LabelSelector(tuple(sorted(requirements, key=lambda r: r.key)))
            if word != ",":
                raise ValueError(f"found '{word}', expected: ',' or 'end of string'")
            if not _starts_requirement(self._ahead()):
                raise ValueError(f"found '{self._ahead()}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        key = self._next()
        negated = key == "!"
        if negated:
            key = self._next()
        if not _is_identifier(key):
            raise ValueError(f"found '{key}', expected: identifier")
        if problems := tuple(qualified_name(key)):
            # "<nil>" is how upstream spells the path of a key that belongs to no document
            raise ValueError(str(invalid("<nil>", key, "; ".join(problems))))
        if negated:
            return require(key, Operator.ABSENT)
        if self._ahead() in {_END, ","}:
            return require(key, Operator.EXISTS)
        word = self._next()
        operator = _BINARY_OPERATORS.get(word)
        if operator is None:
            raise ValueError(f"found '{word}', expected: {_EXPECTED_OPERATORS}")
        if operator in {Operator.IN, Operator.NOT_IN}:
            return require(key, operator, tuple(sorted(self._value_set())))
        return require(key, operator, (self._exact_value(),))

    def _exact_value(self) -> str:
        if self._ahead() in {_END, ","}:
            return ""
        word = self._next()
        if not _is_identifier(word):
            raise ValueError(f"found '{word}', expected: identifier")
        return word

    def _value_set(self) -> set[str]:
        """`(a,b)`; a missing value is the empty one, so `()` and `(,)` hold only that."""
        if (word := self._next()) != "(":
            raise ValueError(f"found '{word}' expected: '('")
        word = self._ahead()
        if word == ")":
            self._next()
            return {""}
        if word != "," and not _is_identifier(word):
            raise ValueError(f"found '{word}', expected: ',', ')' or identifier")
        values = self._listed_values()
        self._next()
        return values

    def _listed_values(self) -> set[str]:
        """Up to the closing parenthesis, which is left for the caller."""
        values: set[str] = set()
        while True:
            word = self._next()
            if _is_identifier(word):
                values.add(word)
                if self._ahead() == ")":
                    return values
                if self._ahead() != ",":
                    raise ValueError(f"found '{self._ahead()}', expected: ',' or ')'")
            elif word == ",":
                if not values or self._ahead() in {",", ")"}:
                    values.add("")
                if self._ahead() == ")":
                    return values
            else:
                raise ValueError(f"found '{word}', expected: ',', or identifier")

    def _ahead(self) -> str:
        return self._words[self._at]

    def _next(self) -> str:
        word = self._words[self._at]
        self._at += 1
        return word


def _is_identifier(word: str) -> bool:
    return word != _END and word not in _SYMBOLS


def _starts_requirement(word: str) -> bool:
    return word == "!" or _is_identifier(word)


_terms = re.compile(r"(?:[^\\,]|\\.|\\$)+", re.DOTALL).findall
_operator = re.compile(r"!=|==|=").search
_escapes = re.compile(r"\\(.?)|([,=])", re.DOTALL)


def parse_fields(text: str) -> FieldSelector:
    """Read `a=b,c==d,e!=f`, values with `\\,` `\\=` and `\\\\` escaped. Raises: ValueError."""
    terms: list[FieldTerm] = []
    for term in sorted(_terms(text)):
        found = _operator(term)
        if found is None:
            raise ValueError(f"invalid selector: '{text}'; can't understand '{term}'")
        op = "!=" if found[0] == "!=" else "="
        value = _escapes.sub(_unescape, term[found.end() :])
        if found.start() or value:  # a bare operator is no condition
            terms.append(FieldTerm(term[: found.start()], op, value))
    return FieldSelector(tuple(terms))


def escape_field(text: str) -> str:
    """A text as the value of a field selector's term; `parse_fields` reads it back."""
    return text.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def _unescape(found: re.Match[str]) -> str:
    if bare := found[2]:
        raise ValueError(f"invalid field selector: unescaped character in value: {ord(bare)}")
    if found[1] and found[1] in "\\,=":
        return found[1]
    raise ValueError(f"invalid field selector: invalid escape sequence: {found[0]}")
