"""The entries of `x-kubernetes-validations`, but for the expressions in them."""

from collections.abc import Iterable

from mooring.apiserver.structural.field_paths import BadFieldPath, find_field
from mooring.apiserver.structural.paths import Path, spell
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, not_supported, required

REASONS = (
    *("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"),
)


def entry_problems(schema: Doc, path: Path) -> Iterable[FieldError]:
    for index, entry in enumerate(schema.get("x-kubernetes-validations") or ()):
        at = (path, f".x-kubernetes-validations[{index}]")
        yield from _text_problems(entry, at)
        reason = entry.get("reason")
        if reason is not None and reason not in REASONS:
            yield not_supported(spell((at, ".reason")), reason, REASONS)
        if field_path := entry.get("fieldPath"):
            yield from _field_path_problems(field_path, schema, (at, ".fieldPath"))


def _text_problems(entry: Doc, at: Path) -> Iterable[FieldError]:
    written = entry.get("message") or ""
    rule, message = (entry.get("rule") or "").strip(), written.strip()
    if not rule:
        yield required(spell((at, ".rule")), "rule is not specified")
    elif written and not message:
        yield invalid(spell((at, ".message")), written, "must be non-empty if specified")
    elif _has_lines(message):
        yield invalid(spell((at, ".message")), written, "must not contain line breaks")
    elif _has_lines(rule) and not message:
        detail = "message must be specified if rule contains line breaks"
        yield required(spell((at, ".message")), detail)
    expression = entry.get("messageExpression") or ""
    if expression and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        yield required(spell((at, ".messageExpression")), detail)


def _field_path_problems(field_path: str, schema: Doc, at: Path) -> Iterable[FieldError]:
    if not field_path.strip():
        yield invalid(spell(at), field_path, "must be non-empty if specified")
    if _has_lines(field_path):
        yield invalid(spell(at), field_path, "must not contain line breaks")
    try:
        find_field(field_path, schema)
    except BadFieldPath:
        yield invalid(spell(at), field_path, "must be a valid path")


def _has_lines(text: str) -> bool:
    return "\n" in text or "\r" in text
