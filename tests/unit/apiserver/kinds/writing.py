"""A kind led through the steps of a write, in the order in which the verbs take them."""

from copy import deepcopy
from typing import Any

from mooring.apiserver.kinds.contract import Context, Kind
from mooring.model.document import Doc
from mooring.model.names import dns_label, dns_subdomain, label_value, qualified_name

BEFORE = "2026-01-01T00:00:00Z"
NOW = "2026-01-02T03:04:05Z"

NO_SUBDOMAIN = next(iter(dns_subdomain("Not_A_Name")))
NO_LABEL = next(iter(dns_label("Not_A_Name")))
NO_KEY = next(iter(qualified_name("not a key")))
NO_VALUE = next(iter(label_value("not a value")))


def merged(doc: Doc, patch: Doc) -> Doc:
    """A copy of `doc` with `patch` merged in; None takes a field away."""
    result = deepcopy(doc)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = deepcopy(value)
    return result


def created(kind: Kind, doc: Doc) -> Doc:
    """What would be stored, had it passed validation."""
    new = deepcopy(doc)
    kind.defaults(new)
    kind.prepare_create(new, Context(now=NOW))
    return new


def create(kind: Kind, doc: Doc) -> list[str]:
    """The complaints about a creation."""
    return [str(error) for error in kind.validate(created(kind, doc))]


def updated(kind: Kind, old: Doc, new: Doc) -> Doc:
    result = deepcopy(new)
    kind.defaults(result)
    kind.prepare_update(result, old, Context(now=NOW))
    return result


def update(kind: Kind, old: Doc, patch: Doc) -> list[str]:
    """The complaints about a stored document that a client changes by `patch`."""
    new = updated(kind, old, merged(old, patch))
    return [str(e) for e in (*kind.validate(new), *kind.validate_update(new, old))]


def status_updated(kind: Kind, old: Doc, new: Doc) -> Doc:
    result = deepcopy(new)
    kind.defaults(result)
    kind.prepare_status(result, old, Context(now=NOW))
    return result


def update_status(kind: Kind, old: Doc, patch: Doc) -> list[str]:
    """The complaints about a write to the status of a stored document."""
    new = status_updated(kind, old, merged(old, patch))
    return [str(error) for error in kind.validate_status(new, old)]


def warned(kind: Kind, doc: Doc) -> list[str]:
    return list(kind.warnings(created(kind, doc)))


def printed(kind: Kind, doc: Doc) -> dict[str, Any]:
    """The row of a document, cell by column."""
    assert kind.row is not None
    names = [column.name for column in kind.columns]
    return dict(zip(names, kind.row(doc, NOW), strict=True))
