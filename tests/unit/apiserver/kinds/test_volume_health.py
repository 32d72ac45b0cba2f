from typing import Any

import pytest

from mooring.apiserver.kinds.volume_health import (
    validate_health,
    validate_pod_health,
    validate_storage_health,
)

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


def test_health_of_a_pods_volumes_names_each_of_them_once() -> None:
    pod = {
        "spec": {"volumes": [{"name": "data"}]},
        "status": {
            "volumeHealth": [
                {"name": "data", "healthConditions": [GOOD]},
                {"name": "data", "healthConditions": [{**GOOD, "status": "Ill"}]},
                {"name": "logs"},
            ]
        },
    }
    at = "status.volumeHealth"
    assert [str(error.field) for error in validate_pod_health(pod)] == [
        f"{at}[1].name",
        f"{at}[1].healthConditions[0].status",
        f"{at}[2].name",
    ]


FULL = {"status": "StorageDegraded", "reason": "Full"}
STORAGE = "status.storageHealth[0].healthConditions"
OF_STORAGE: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "both statuses": ([FULL, {**FULL, "status": "StorageUnreachable"}], []),
    "one for each mode": ([FULL, {**FULL, "volumeMode": "Block"}], []),
    "the same twice": ([FULL, FULL], [f"{STORAGE}[1]"]),
    "the status of a volume": ([GOOD], [f"{STORAGE}[0].status"]),
    "no such access mode": ([{**FULL, "accessMode": "All"}], [f"{STORAGE}[0].accessMode"]),
    "no such volume mode": ([{**FULL, "volumeMode": "File"}], [f"{STORAGE}[0].volumeMode"]),
    "too many": ([{**FULL, "reason": f"R{n}"} for n in range(17)], [STORAGE]),
}


@pytest.mark.parametrize(("conditions", "wrong"), OF_STORAGE.values(), ids=OF_STORAGE)
def test_health_of_storage(conditions: list[dict[str, Any]], wrong: list[str]) -> None:
    status = {"storageHealth": [{"name": "d", "healthConditions": conditions}]}
    assert [error.field for error in validate_storage_health(status)] == wrong


def test_health_of_storage_is_told_once_of_each_driver() -> None:
    status = {"storageHealth": [{"name": "d"}, {"name": "d"}, {}]}
    assert [error.field for error in validate_storage_health(status)] == [
        "status.storageHealth[1].name",
        "status.storageHealth[2].name",
    ]
