"""What is wrong with the values of a document, by its schema (signatures)."""
from typing import Any

from mooring.apiserver.structural.contract import Node
from mooring.model.field_error import FieldError


def validate(value: Any, node: Node, *, old: Any = None, at: str = "") -> list[FieldError]:
    """What is wrong with a value, in the words of OpenAPI validation.

    `old`: the value before an update (None on a create): errors at values that did not change are
    not told. `at`: the field that the value is (`status` for a write of the status).
    """
    raise NotImplementedError


def skips_rules(errors: list[FieldError]) -> FieldError | None:
    """The error to add when these errors keep rules (CEL) from being checked; None: check them."""
    raise NotImplementedError
