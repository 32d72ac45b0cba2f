"""Everything that is wrong with an openAPIV3Schema (signatures)."""
from collections.abc import Sequence

from mooring.model.document import Doc
from mooring.model.field_error import FieldError


def schema_problems(
    schema: Doc, at: str, *, old: Sequence[Doc] = (), has_status: bool = False
) -> list[FieldError]:
    """What CRD validation reports about a schema.

    `at`: the path of the schema itself, `spec.validation.openAPIV3Schema`. `old`: the schemas of
    all stored versions on an update. `has_status`: the status subresource is enabled.
    The rules (CEL) are not compiled here; their fields (`rule`, `message`, `reason`) are checked.
    """
    raise NotImplementedError
