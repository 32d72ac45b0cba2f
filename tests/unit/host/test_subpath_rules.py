"""What may stand in `subPath` and `subPathExpr`."""

import pytest

from mooring.errors import HostError
from mooring.host.subpath_rules import check, expand

REFUSED = {
    "absolute": ("/a", "error SubPath `/a` must not be an absolute path"),
    "a step back first": ("../a", "unable to provision SubPath `../a`: must not contain '..'"),
    "a step back inside": (
        "a/../b",
        "unable to provision SubPath `a/../b`: must not contain '..'",
    ),
    "a step back at the end": ("a/..", "unable to provision SubPath `a/..`: must not contain '..'"),
}


@pytest.mark.parametrize(("path", "text"), REFUSED.values(), ids=REFUSED)
def test_refused(path: str, text: str) -> None:
    with pytest.raises(HostError) as refused:
        check(path)
    assert str(refused.value) == text


@pytest.mark.parametrize("path", ["a", "a/b", "a..b", "..a", "a/...", "./a", "a//b"])
def test_a_sub_path_inside_the_volume_is_accepted(path: str) -> None:
    check(path)
    assert expand(path, {}) == path


ENVIRONMENT = {"POD": "web-0", "NS": "default", "EMPTY": ""}
EXPANDED = {
    "a variable": ("$(POD)", "web-0"),
    "several, among text": ("logs/$(NS)/$(POD).d", "logs/default/web-0.d"),
    "an escaped reference": ("$$(POD)", "$(POD)"),
    "an escaped escape": ("$$$(POD)", "$web-0"),
    "a reference without an end": ("a$(POD", "a$(POD"),
    "no reference": ("$POD $ {POD}$", "$POD $ {POD}$"),
    "a value is not expanded again": ("$(TRAP)", "$(POD)"),
}


@pytest.mark.parametrize(("expression", "expected"), EXPANDED.values(), ids=EXPANDED)
def test_expand(expression: str, expected: str) -> None:
    assert expand(expression, {**ENVIRONMENT, "TRAP": "$(POD)"}) == expected


MISSING = {
    "an unset variable is named": ("$(NONE)", "missing value for NONE"),
    "an empty one is as good as unset": ("a/$(EMPTY)", "missing value for EMPTY"),
    "all are named, in order, once": ("$(Z)$(A)$(POD)$(Z)", "missing value for A, Z"),
}


@pytest.mark.parametrize(("expression", "text"), MISSING.values(), ids=MISSING)
def test_missing(expression: str, text: str) -> None:
    with pytest.raises(HostError) as refused:
        expand(expression, ENVIRONMENT)
    assert str(refused.value) == text


def test_an_expression_that_becomes_longer_than_a_path_is_refused() -> None:
    with pytest.raises(HostError, match="longer than"):
        expand("$(A)" * 1000, {"A": "x" * 1_000_000})
