"""Semantic versions: `semver('1.2.3').isLessThan(semver('2.0.0'))`."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from mooring.apiserver.cel import call_cost
from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.types import BOOL, INT, STRING, CelType, opaque
from mooring.apiserver.cel.values import UINT_MAX, Opaque

SEMVER = opaque("kubernetes.Semver")
_number = re.compile(r"0|[1-9][0-9]{0,19}", re.ASCII).fullmatch
_word = re.compile(r"[0-9A-Za-z-]+", re.ASCII).fullmatch
_numeric = re.compile(r"[0-9]+", re.ASCII).fullmatch


@dataclass(frozen=True, slots=True)
class SemverValue(Opaque):
    """A version; what follows `+` is not part of its order, but of the value."""

    kind: ClassVar[str] = SEMVER.name
    numbers: tuple[int, int, int]
    before: tuple[str, ...]
    build: tuple[str, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemverValue) and _compare(self, other) == 0

    def __hash__(self) -> int:
        return hash((self.numbers, self.before))


def parse_semver(text: str, normalize: bool = False) -> SemverValue:  # noqa: FBT001, FBT002
    if normalize:
        text = _normalized(text)
    if not text:
        raise CelError("Version string empty")
    numbers, _, build = text.partition("+")
    numbers, _, before = numbers.partition("-")
    parts = numbers.split(".")
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    for name, part in zip(("major", "minor", "patch"), parts, strict=True):
        if not _number(part) or int(part) > UINT_MAX:
            raise CelError(f'Invalid character(s) found in {name} number "{part}"')
    words = tuple(before.split(".")) if "-" in text.partition("+")[0] else ()
    builds = tuple(build.split(".")) if "+" in text else ()
    for word in (*words, *builds):
        if not _word(word):
            raise CelError(f'Invalid character(s) found in prerelease "{word}"')
    for word in words:
        if _numeric(word) and len(word) > 1 and word[0] == "0":
            raise CelError(f'Numeric PreRelease version must not contain leading zeroes "{word}"')
    major, minor, patch = map(int, parts)
    return SemverValue((major, minor, patch), words, builds)


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for at, part in enumerate(parts):
        if len(part) > 1:
            short = part.lstrip("0")
            parts[at] = short if short and short[0].isdigit() else "0" + short
    if len(parts) < 3:
        if any(mark in parts[-1] for mark in "+-"):
            raise CelError("Short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002
    try:
        parse_semver(text, normalize)
    except CelError:
        return False
    return True


def _order(one: SemverValue) -> tuple[Any, ...]:
    """A key that sorts as versions do: a pre-release is before its release."""
    words = tuple(
        (0, int(word[:40]), "") if _numeric(word) else (1, 0, word) for word in one.before
    )
    return (one.numbers, not one.before, words)


def _compare(one: SemverValue, other: SemverValue) -> int:
    first, second = _order(one), _order(other)
    return (first > second) - (first < second)


def _member(
    name: str, args: tuple[CelType, ...], result: CelType, run: Any
) -> tuple[Overload, ...]:
    return (Overload(name, args, result, run, member=True),)


_V = SEMVER

FUNCTIONS: Functions = {
    "semver": (
        Overload("string_to_semver", (STRING,), _V, parse_semver, cost=call_cost.of_first),
        Overload(
            "string_bool_to_semver", (STRING, BOOL), _V, parse_semver, cost=call_cost.of_first
        ),
    ),
    "isSemver": (
        Overload("is_semver_string", (STRING,), BOOL, _is_semver, cost=call_cost.of_first),
        Overload(
            "is_semver_string_bool", (STRING, BOOL), BOOL, _is_semver, cost=call_cost.of_first
        ),
    ),
    "isGreaterThan": _member(
        "semver_is_greater_than", (_V, _V), BOOL, lambda x, y: _compare(x, y) > 0
    ),
    "isLessThan": _member("semver_is_less_than", (_V, _V), BOOL, lambda x, y: _compare(x, y) < 0),
    "compareTo": _member("semver_compare_to", (_V, _V), INT, _compare),
    "major": _member("semver_major", (_V,), INT, lambda x: x.numbers[0]),
    "minor": _member("semver_minor", (_V,), INT, lambda x: x.numbers[1]),
    "patch": _member("semver_patch", (_V,), INT, lambda x: x.numbers[2]),
}
