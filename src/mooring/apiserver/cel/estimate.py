"""Ranges of sizes and costs, which never grow past what 64 bits hold."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from mooring.apiserver.cel.types import CelType
from mooring.apiserver.cel.values import UINT_MAX


@dataclass(frozen=True, slots=True)
class Range:
    least: int
    most: int

    def plus(self, other: "Range") -> "Range":
        return Range(min(self.least + other.least, UINT_MAX), min(self.most + other.most, UINT_MAX))

    def times(self, other: "Range") -> "Range":
        return Range(min(self.least * other.least, UINT_MAX), min(self.most * other.most, UINT_MAX))

    def scaled(self, factor: float) -> "Range":
        """Multiplied and rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: "Range") -> "Range":
        return Range(min(self.least, other.least), max(self.most, other.most))


def _scaled(number: int, factor: float) -> int:
    return min(math.ceil(float(number) * factor), UINT_MAX)


def fixed(number: int) -> Range:
    return Range(number, number)


NOTHING, ONE, UNKNOWN = fixed(0), fixed(1), Range(0, UINT_MAX)


@dataclass(frozen=True, slots=True)
class Argument:
    """What is known of an argument of a call."""

    type: CelType
    size: Range | None
    path: tuple[str, ...] = ()
    literal: Any = None


SizeOf: TypeAlias = Callable[[tuple[str, ...]], Range | None]
