"""Paths that users give for files inside volumes and containers: they may not lead out of them."""

from collections.abc import Iterable

from mooring.model.field_error import FieldError, invalid


def validate_no_backsteps(path: str, field: str) -> Iterable[FieldError]:
    if ".." in path and ".." in path.split("/"):
        yield invalid(field, path, "must not contain '..'")


def validate_descending(path: str, field: str) -> Iterable[FieldError]:
    """Relative, and never upwards."""
    if path.startswith("/"):
        yield invalid(field, path, "must be a relative path")
    yield from validate_no_backsteps(path, field)


def validate_file_path(path: str, field: str) -> Iterable[FieldError]:
    """Descending, and none of the names (`..data`) by which files are swapped all at once."""
    yield from validate_descending(path, field)
    if path.startswith("..") and not path.startswith("../"):
        yield invalid(field, path, "must not start with '..'")
