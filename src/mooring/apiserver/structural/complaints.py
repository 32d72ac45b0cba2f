"""Errors as they are gathered: no more than an answer can tell."""

from mooring.apiserver.limits.budgets import MOST_ERRORS
from mooring.model.field_error import FieldError


class Complaints:
    """Errors of one look at something. Whoever walks stops when it is full."""

    __slots__ = ("errors",)

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def add(self, error: FieldError) -> None:
        if not self.is_full():
            self.errors.append(error)

    def is_full(self) -> bool:
        return len(self.errors) > MOST_ERRORS
