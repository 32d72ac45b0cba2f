"""`status.storedVersions`: the versions in which objects may be stored."""

from collections.abc import Iterable

from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid

_PATH = "status.storedVersions"


def storage_version(spec: Doc) -> str:
    """The name of the version that objects are stored in; empty when none is marked."""
    return next((v.get("name", "") for v in spec.get("versions") or () if v.get("storage")), "")


def after(spec: Doc, stored: Iterable[str]) -> list[str]:
    """The stored versions when `spec` is written."""
    known = list(stored)
    now = storage_version(spec)
    return known if not now or now in known else [*known, now]


def validate_stored_versions(definition: Doc) -> Iterable[FieldError]:
    stored = (definition.get("status") or {}).get("storedVersions") or []
    spec = definition["spec"]
    if not stored:
        yield invalid(_PATH, stored, "must have at least one stored version")
    names = {version.get("name") for version in spec.get("versions") or ()}
    for index, name in enumerate(stored):
        if name not in names:
            yield invalid(
                f"{_PATH}[{index}]",
                name,
                f"missing from spec.versions; {name} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {name} and removes {name} from status.storedVersions",
            )
    storage = storage_version(spec)
    if stored and storage and storage not in stored:
        yield invalid(_PATH, stored, f"must have the storage version {storage}")
