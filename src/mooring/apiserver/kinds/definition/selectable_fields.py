"""Which fields field selectors may ask for: paths to texts, flags and whole numbers of a schema."""

from collections import Counter
from collections.abc import Iterable

from mooring.apiserver.kinds.definition.shared_parts import parts
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, required

MOST = 8
_TYPES = ("string", "boolean", "integer")
_NO_FIELD = "is an invalid path: does not refer to a valid field"
_NO_ARRAYS = "is an invalid path: array notation is not allowed"
_NO_METADATA = "must not point to fields in metadata"
_WRONG_TYPE = (
    "must point to a field of type string, boolean or integer. "
    "Enum string fields and strings with formats are allowed."
)


def validate_selectable_fields(spec: Doc) -> Iterable[FieldError]:
    for part in parts(spec, "selectableFields"):
        fields = part.value
        if len(fields) > MOST:
            text = f"Too many: {len(fields)}: must have at most {MOST} items"
            yield FieldError(part.path, "FieldValueTooMany", text)
        schema = (part.version.get("schema") or {}).get("openAPIV3Schema") or {}
        counts: Counter[str] = Counter()
        for index, field in enumerate(fields):
            path = field.get("jsonPath", "")
            where = f"{part.path}[{index}].jsonPath"
            if not path:
                yield required(where)
                continue
            if problem := problem_of(path, schema):
                yield invalid(where, path, problem)
            counts[path] += 1
            if counts[path] > 1:
                yield duplicate(where, path)


def problem_of(path: str, schema: Doc) -> str:
    """What is wrong with a path; empty when it is one that can be selected by."""
    if "[" in path or "]" in path:
        return _NO_ARRAYS
    if not path.startswith("."):
        return _NO_FIELD
    names = path[1:].split(".")
    if names[0] == "metadata":
        return _NO_METADATA
    for name in names:
        inner = (schema.get("properties") or {}).get(name)
        if not isinstance(inner, dict):
            return _NO_FIELD
        schema = inner
    return "" if schema.get("type") in _TYPES else _WRONG_TYPE
