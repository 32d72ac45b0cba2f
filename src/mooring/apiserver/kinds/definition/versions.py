"""The versions of a definition: names, storage, columns, subresources, deprecation."""

from collections import Counter
from collections.abc import Iterable

from mooring.apiserver.kinds.definition.shared_parts import parts
from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    invalid,
    not_supported,
    required,
)
from mooring.model.names import dns_1035_label

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_DEPRECATION = 256
_UNIQUE = "must contain unique version names"
_ONE_STORAGE = "must have exactly one version marked as storage version"


def validate_versions(spec: Doc) -> Iterable[FieldError]:
    versions = spec.get("versions") or []
    names = Counter(version.get("name", "") for version in versions)
    for index, version in enumerate(versions):
        name = version.get("name", "")
        if problems := list(dns_1035_label(name)):
            yield invalid(f"spec.versions[{index}].name", name, ",".join(problems))
        yield from _validate_deprecation(version, f"spec.versions[{index}]")
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            yield required(path, "schemas are required")
    if any(count > 1 for count in names.values()):
        yield invalid("spec.versions", versions, _UNIQUE)
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid("spec.versions", versions, _ONE_STORAGE)


def _validate_deprecation(version: Doc, path: str) -> Iterable[FieldError]:
    text = version.get("deprecationWarning")
    if text is None:
        return
    field = f"{path}.deprecationWarning"
    if not version.get("deprecated"):
        yield invalid(field, text, "can only be set for deprecated versions")
    if not text:
        yield invalid(field, text, "must not be empty, leave unset for the default warning")
    elif len(text) > _MOST_DEPRECATION:
        why = f"must be <= {_MOST_DEPRECATION} characters long"
        yield invalid(field, text, why)
    if not text.isprintable():
        yield invalid(
            field,
            text,
            "must only contain printable UTF-8 characters; non-printable "
            "character found at index "
            f"{next(i for i, c in enumerate(text) if not c.isprintable())}",
        )


def validate_subresources(spec: Doc) -> Iterable[FieldError]:
    for part in parts(spec, "subresources"):
        scale = part.value.get("scale")
        if scale is None:
            continue
        path = f"{part.path}.scale"
        for field, roots in (
            ("specReplicasPath", (".spec",)),
            ("statusReplicasPath", (".status",)),
            ("labelSelectorPath", (".spec", ".status")),
        ):
            yield from _validate_scale_path(scale.get(field), f"{path}.{field}", roots)


def _validate_scale_path(
    path: str | None, field: str, roots: tuple[str, ...]
) -> Iterable[FieldError]:
    is_optional = field.endswith("labelSelectorPath")
    if not path:
        if not is_optional:
            yield required(field)
        return
    if not path.startswith("."):
        yield invalid(field, path, "must be a simple json path starting with .")
    elif not any(path.startswith(f"{root}.") for root in roots):
        where = " or ".join(roots)
        yield invalid(field, path, f"should be a json path under {where}")


def validate_columns(spec: Doc) -> Iterable[FieldError]:
    for part in parts(spec, "additionalPrinterColumns"):
        for index, column in enumerate(part.value):
            yield from _validate_column(column, f"{part.path}[{index}]")


def _validate_column(column: Doc, path: str) -> Iterable[FieldError]:
    if not column.get("name"):
        yield required(f"{path}.name")
    kind, shape = column.get("type", ""), column.get("format", "")
    if not kind:
        yield required(f"{path}.type", f"must be one of {','.join(_COLUMN_TYPES)}")
    elif kind not in _COLUMN_TYPES:
        yield invalid(f"{path}.type", kind, f"must be one of {','.join(_COLUMN_TYPES)}")
    if shape and shape not in _FORMATS:
        yield invalid(f"{path}.format", shape, f"must be one of {','.join(_FORMATS)}")
    where = column.get("jsonPath", "")
    if not where:
        yield required(f"{path}.JSONPath")
    elif not where.startswith("."):
        why = "must be a simple json path starting with ."
        yield invalid(f"{path}.JSONPath", where, why)


def validate_scope(spec: Doc) -> Iterable[FieldError]:
    scope = spec.get("scope", "")
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield not_supported("spec.scope", scope, ("Cluster", "Namespaced"))
    if spec.get("preserveUnknownFields"):
        yield invalid(
            "spec.preserveUnknownFields",
            True,  # noqa: FBT003  the value that is shown
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead",
        )


def validate_kept(new: Doc, old: Doc, *, is_established: bool) -> Iterable[FieldError]:
    """What stays as it is, in spec."""
    always = (("spec.group", "group"),)
    pairs = [(path, new.get(field), old.get(field)) for path, field in always]
    names, before = new.get("names", {}), old.get("names", {})
    pairs.append(("spec.names.plural", names.get("plural"), before.get("plural")))
    if is_established:
        pairs.append(("spec.scope", new.get("scope"), old.get("scope")))
        pairs.append(("spec.names.kind", names.get("kind"), before.get("kind")))
    for path, now, was in pairs:
        if now != was:
            yield invalid(path, now, "field is immutable")
