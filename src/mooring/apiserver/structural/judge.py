"""What is wrong with a value, in the words of OpenAPI validation (kube-openapi).

Asked only of values that do not fit (`fits.py`), so it may take its time; but errors are no more
than an answer can tell. The errors of a failed anyOf or oneOf are those of the alternative that
matched best: `Verdict.count` is what kube-openapi counts for that.
"""

from typing import Any

from mooring.apiserver.limits.budgets import MOST_ERRORS
from mooring.apiserver.structural.correlation import Before
from mooring.apiserver.structural.formats import check_of, format_of
from mooring.apiserver.structural.go_words import sorted_deep
from mooring.apiserver.structural.numbers import bound_faults, is_number, range_fault
from mooring.apiserver.structural.paths import Path, spell
from mooring.apiserver.structural.patterns import matches, problem_of
from mooring.apiserver.structural.values import Enumeration, is_of, type_name, types_of
from mooring.model.document import Doc
from mooring.model.field_error import (
    MOST_SHOWN,
    FieldError,
    invalid,
    required,
    show,
    too_long,
    too_many,
    type_invalid,
)

_GO_FORMATS = {"integer": "int64", "number": "float64"}
_TYPE_FIELDS = ("apiVersion", "kind")


class Verdict:
    """Errors, each at its path from the value that was judged first, and how much matched."""

    __slots__ = ("count", "errors")

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.count = 0

    def add(self, error: FieldError) -> None:
        if not self.is_full():
            self.errors.append(error)

    def merge(self, other: "Verdict") -> None:
        self.count += other.count
        for error in other.errors:
            self.add(error)

    def is_full(self) -> bool:
        return len(self.errors) > MOST_ERRORS  # more than an answer tells


class Judge:
    """Tells what is wrong with values of one schema."""

    def __init__(self, schema: Doc) -> None:
        self.schema = schema
        self._types = types_of(schema)
        self._format = format_of(schema)
        self._enum = Enumeration(schema["enum"]) if schema.get("enum") else None
        self._supported = _supported(schema.get("enum") or [])
        self._children = {k: Judge(s) for k, s in (schema.get("properties") or {}).items()}
        self._additional = _judge(schema.get("additionalProperties"))
        self._item = _judge(schema.get("items"))
        self._any = [Judge(part) for part in schema.get("anyOf") or ()]
        self._one = [Judge(part) for part in schema.get("oneOf") or ()]
        self._all = [Judge(part) for part in schema.get("allOf") or ()]
        self._not = _judge(schema.get("not"))

    def ratcheted(self, value: Any, path: Path, before: Before | None) -> Verdict:
        """As `judged`; nothing is wrong with a value that is what it was before."""
        verdict = self.judged(value, path, before)
        if verdict.errors and before is not None and before.is_same(value):
            verdict.errors.clear()
        return verdict

    def judged(self, value: Any, path: Path, before: Before | None) -> Verdict:
        verdict = Verdict()
        if value is None:
            self._type(value, path, verdict)
            self._one_of(value, path, verdict)
            return verdict
        if self._types or self._format:
            self._type(value, path, verdict)
            verdict.count += 1
        self._junctors(value, path, before, verdict)
        verdict.count += 2
        if isinstance(value, str):
            self._text(value, path, verdict)
        elif is_number(value):
            self._number(value, path, verdict)
        elif isinstance(value, list):
            self._items(value, path, before, verdict)
        self._one_of(value, path, verdict)
        if isinstance(value, dict):
            self._fields(value, path, before, verdict)
            verdict.count += 1
        verdict.count += 2
        return verdict

    def _type(self, value: Any, path: Path, verdict: Verdict) -> None:
        wanted = ",".join(self._types)
        found = type_name(value)
        if value is None:
            if self._types and not self.schema.get("nullable"):
                verdict.add(_wrong_type(path, wanted, found))
                return
        elif self._types and not is_of(value, self._types):
            if self._format and not isinstance(value, str | list):
                wanted, found = self._format, _GO_FORMATS.get(found, "")
            verdict.add(_wrong_type(path, wanted, found))
            return
        verdict.count += 1

    def _text(self, value: str, path: Path, verdict: Verdict) -> None:
        verdict.count += 1
        schema = self.schema
        least, most = schema.get("minLength"), schema.get("maxLength")
        pattern = schema.get("pattern")
        if most is not None and len(value) > most:
            verdict.add(too_long(spell(path), most))
        elif least is not None and len(value) < least:
            verdict.add(_unfit(path, value, f"should be at least {least} chars long"))
        elif pattern and not matches(value, pattern):
            problem = problem_of(pattern)
            invalid_too = f", but pattern is invalid: {problem}" if problem else ""
            verdict.add(_unfit(path, value, f"should match '{pattern}{invalid_too}'"))
        check = check_of(schema)
        if check is not None:
            verdict.count += 1
            if not check(value):
                verdict.add(_wrong_type(path, self._format, value))

    def _number(self, value: float, path: Path, verdict: Verdict) -> None:
        verdict.count += 2
        type_ = self._types[0] if len(self._types) == 1 else ""
        if fault := range_fault(value, type_, self._format):
            text = f"Checked value must be of type {fault} in {spell(path)}"
            verdict.add(invalid("", "", text))
        for shown, words in bound_faults(value, self.schema):
            if words.startswith("must be positive"):
                text = f"factor MultipleOf declared for {spell(path)} {words}"
                verdict.add(invalid(spell(path), shown, text))
            else:
                verdict.add(_unfit(path, shown, words))

    def _items(self, value: list[Any], path: Path, before: Before | None, into: Verdict) -> None:
        into.count += 2
        if self._item is not None:
            for index, item in enumerate(value):
                was = None if before is None else before.item(item)
                into.merge(self._item.ratcheted(item, (path, f"[{index}]"), was))
                if into.is_full():
                    return
        least, most = self.schema.get("minItems"), self.schema.get("maxItems")
        if least is not None and len(value) < least:
            into.add(_unfit(path, len(value), f"should have at least {least} items"))
        if most is not None and len(value) > most:
            into.add(too_many(spell(path), len(value), most))

    def _one_of(self, value: Any, path: Path, verdict: Verdict) -> None:
        if self._enum is not None and value not in self._enum:
            shown = show(sorted_deep(value))
            text = f"Unsupported value: {shown}: supported values: {self._supported}"
            verdict.add(FieldError(spell(path), "FieldValueNotSupported", text))

    def _fields(self, value: Doc, path: Path, before: Before | None, into: Verdict) -> None:
        self._size(value, path, into)
        closed = self.schema.get("additionalProperties") is False
        for name in value:
            if name in self._children or into.is_full():
                continue
            if closed:
                text = f"{spell(path)}.{name} in body is a forbidden property"
                into.add(invalid(spell(path), name, text))
            elif self._additional is not None:
                self._field(value, name, self._additional, path, before, into)
        for name, judge in self._children.items():
            if name in value and not into.is_full():
                self._field(value, name, judge, path, before, into)
        for name in self.schema.get("required") or ():
            if name not in value:
                into.add(required(spell((path, f".{name}"))))

    def _size(self, value: Doc, path: Path, into: Verdict) -> None:
        least, most = self.schema.get("minProperties"), self.schema.get("maxProperties")
        if least is not None and len(value) < least:
            into.add(_unfit(path, len(value), f"should have at least {least} properties"))
        if most is not None and len(value) > most:
            into.add(too_many(spell(path), len(value), most))

    def _field(
        self,
        value: Doc,
        name: str,
        judge: "Judge",
        path: Path,
        before: Before | None,
        into: Verdict,
    ) -> None:
        is_root_type = path is None and name in _TYPE_FIELDS
        was = None if before is None or is_root_type else before.field(name)
        step = name if path is None and judge is not self._additional else f".{name}"
        into.merge(judge.ratcheted(value[name], (path, step), was))

    def _junctors(self, value: Any, path: Path, before: Before | None, into: Verdict) -> None:
        into.count += 1
        if self._any:
            self._any_of(value, path, before, into)
        if self._one:
            self._exactly_one(value, path, before, into)
        if self._all:
            verdicts = [part.judged(value, path, before) for part in self._all]
            for verdict in verdicts:
                into.merge(verdict)
            failed = sum(bool(verdict.errors) for verdict in verdicts)
            if failed:
                none = ". None validated" if failed == len(verdicts) else ""
                into.add(_composite(path, f"must validate all the schemas (allOf){none}"))
        if self._not is not None and not self._not.judged(value, path, before).errors:
            into.add(_composite(path, "must not validate the schema (not)"))

    def _any_of(self, value: Any, path: Path, before: Before | None, into: Verdict) -> None:
        best: Verdict | None = None
        for part in self._any:
            verdict = part.judged(value, path, before)
            if not verdict.errors:
                into.merge(verdict)
                return
            if best is None or verdict.count > best.count:
                best = verdict
        into.add(_composite(path, "must validate at least one schema (anyOf)"))
        if best is not None:
            into.merge(best)

    def _exactly_one(self, value: Any, path: Path, before: Before | None, into: Verdict) -> None:
        verdicts = [part.judged(value, path, before) for part in self._one]
        valid = [verdict for verdict in verdicts if not verdict.errors]
        if len(valid) == 1:
            into.merge(valid[0])
            return
        found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        into.add(_composite(path, f"must validate one and only one schema (oneOf). {found}"))
        if not valid:
            into.merge(max(verdicts, key=lambda verdict: verdict.count))  # of equals the first


def _judge(schema: Any) -> Judge | None:
    return Judge(schema) if isinstance(schema, dict) else None


def _unfit(path: Path, value: Any, words: str) -> FieldError:
    return invalid(spell(path), value, f"{spell(path)} in body {words}")


def _wrong_type(path: Path, wanted: str, found: str) -> FieldError:
    text = f"{spell(path)} in body must be of type {wanted}: {show(found)}"
    return type_invalid(spell(path), found, text)


def _composite(path: Path, words: str) -> FieldError:
    """An error of a junctor, which is told of no field."""
    return invalid("", "", f"{show(spell(path))} {words}")


def _supported(values: list[Any]) -> str:
    text = ""
    for value in values:
        shown = show(value if isinstance(value, str) else show(sorted_deep(value)))
        text += f", {shown}" if text else shown
        if len(text) > MOST_SHOWN:
            return text + ", ..."
    return text
