"""The names of a custom resource, and of the object that defines it."""

from collections.abc import Iterable

from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required
from mooring.model.names import dns_1035_label, dns_subdomain

_MIXED = "may have mixed case, but should otherwise match: "


def validate_group(definition: Doc) -> Iterable[FieldError]:
    spec = definition["spec"]
    group, plural = spec.get("group", ""), spec.get("names", {}).get("plural", "")
    name = definition["metadata"].get("name", "")
    if name and name != f"{plural}.{group}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    if not group:
        yield required("spec.group")
    elif problems := list(dns_subdomain(group)):
        yield invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def validate_names(names: Doc, path: str) -> Iterable[FieldError]:
    for field in ("plural", "singular"):
        name = names.get(field, "")
        if name and (problems := list(dns_1035_label(name))):
            yield invalid(f"{path}.{field}", name, ",".join(problems))
    for field in ("kind", "listKind"):
        name = names.get(field, "")
        if name and (problems := list(dns_1035_label(name.lower()))):
            yield invalid(f"{path}.{field}", name, _MIXED + ",".join(problems))
    yield from _validate_all(names.get("shortNames", ()), f"{path}.shortNames")
    kind = names.get("kind", "")
    if kind and kind == names.get("listKind"):
        yield invalid(f"{path}.listKind", kind, "kind and listKind may not be the same")
    yield from _validate_all(names.get("categories", ()), f"{path}.categories")


def validate_required_names(names: Doc, path: str) -> Iterable[FieldError]:
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"{path}.{field}")


def _validate_all(names: Iterable[str], path: str) -> Iterable[FieldError]:
    for index, name in enumerate(names):
        if problems := list(dns_1035_label(name)):
            yield invalid(f"{path}[{index}]", name, ",".join(problems))
