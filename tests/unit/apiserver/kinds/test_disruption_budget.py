from typing import Any

import pytest

from mooring.apiserver.kinds.disruption_budget import DISRUPTION_BUDGET
from mooring.model.document import Doc
from tests.fakes.objects import a_budget
from tests.unit.apiserver.kinds.writing import create, created, printed, update_status

PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)

CREATED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a number": ({}, []),
    "a percentage": ({"maxUnavailable": "30%"}, []),
    "all pods of the namespace": ({"selector": {}}, []),
    "neither bound": ({"minAvailable": None}, []),
    "less than nothing": (
        {"minAvailable": -1},
        ["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "more than all": (
        {"maxUnavailable": "101%"},
        ['spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
    ),
    "no percentage": (
        {"maxUnavailable": "few"},
        [f'spec.maxUnavailable: Invalid value: "few": {PERCENT}'],
    ),
    "a policy that nobody knows": (
        {"unhealthyPodEvictionPolicy": "Never"},
        [
            'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: '
            '"AlwaysAllow", "IfHealthyBudget"'
        ],
    ),
}


@pytest.mark.parametrize(("spec", "errors"), CREATED.values(), ids=CREATED)
def test_creating(spec: dict[str, Any], errors: list[str]) -> None:
    assert create(DISRUPTION_BUDGET, a_budget(**spec)) == errors


def test_both_bounds_are_one_too_many() -> None:
    (error,) = create(DISRUPTION_BUDGET, a_budget(minAvailable=1, maxUnavailable=1))
    assert error.startswith("spec: Invalid value: {")
    assert error.endswith(": minAvailable and maxUnavailable cannot be both set")


def test_counts_are_not_negative() -> None:
    stored: Doc = created(DISRUPTION_BUDGET, a_budget())
    (error,) = update_status(DISRUPTION_BUDGET, stored, {"status": {"disruptionsAllowed": -1}})
    assert error == (
        "status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0"
    )


def test_the_bound_that_is_not_given_is_not_applicable() -> None:
    row = printed(DISRUPTION_BUDGET, created(DISRUPTION_BUDGET, a_budget(maxUnavailable="50%")))
    assert (row["Min Available"], row["Max Unavailable"]) == ("N/A", "50%")
