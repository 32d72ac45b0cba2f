"""Table cells that most kinds have."""

from mooring.model.age import age
from mooring.model.document import Doc

NONE = "<none>"


def name_of(doc: Doc) -> str:
    name: str = doc["metadata"].get("name", "")
    return name


def age_of(doc: Doc, now: str) -> str:
    return age(doc["metadata"].get("creationTimestamp", ""), now)
