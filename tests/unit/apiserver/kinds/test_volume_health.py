from typing import Any

import pytest

from mooring.apiserver.kinds.volume_health import validate_health

GOOD = {"status": "Degraded", "reason": "Slow", "message": "one path"}


def fields(*conditions: dict[str, Any]) -> list[str]:
    health = {"healthConditions": list(conditions)}
    return [error.field for error in validate_health(health, "status.healthStatus")]


AT = "status.healthStatus.healthConditions"
CASES: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "none": ([], []),
    "one of each status": (
        [{"status": each, "reason": "R"} for each in ("DataLoss", "Degraded", "Inaccessible")],
        [],
    ),
    "one reason for two statuses": ([GOOD, {**GOOD, "status": "DataLoss"}], []),
    "the same twice": ([GOOD, GOOD], [f"{AT}[1]"]),
    "an unknown status": ([{**GOOD, "status": "Ill"}], [f"{AT}[0].status"]),
    "nothing at all": ([{}], [f"{AT}[0].status", f"{AT}[0].reason"]),
    "a reason of two words": ([{**GOOD, "reason": "is slow"}], [f"{AT}[0].reason"]),
    "a long reason": ([{**GOOD, "reason": "x" * 257}], [f"{AT}[0].reason"]),
    "a long message": ([{**GOOD, "message": "x" * 1025}], [f"{AT}[0].message"]),
    "too many": ([{**GOOD, "reason": f"R{n}"} for n in range(17)], [AT]),
}


@pytest.mark.parametrize(("conditions", "wrong"), CASES.values(), ids=CASES)
def test_health_of_a_claim(conditions: list[dict[str, Any]], wrong: list[str]) -> None:
    assert fields(*conditions) == wrong
