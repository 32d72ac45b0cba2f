"""Parameters of classes: text that goes to a driver unread, so only its size is judged."""

from collections.abc import Iterable, Mapping

from mooring.model.field_error import FieldError, invalid, too_long

_MOST_PARAMETERS = 512
MOST_BYTES = 256 * 1024


def validate_parameters(parameters: Mapping[str, str], path: str) -> Iterable[FieldError]:
    if len(parameters) > _MOST_PARAMETERS:
        yield too_long(path, _MOST_PARAMETERS)
        return
    if "" in parameters:
        yield invalid(path, "", "field can not be empty.")
    yield from validate_size(parameters, path)


def validate_size(texts: Mapping[str, str], path: str) -> Iterable[FieldError]:
    """Complain when keys and values together are too large."""
    if sum(len(key.encode()) + len(value.encode()) for key, value in texts.items()) > MOST_BYTES:
        yield too_long(path, MOST_BYTES)
