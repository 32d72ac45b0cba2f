"""Tolerations: which taint each lets pass."""

import pytest

from mooring.model.taint import Taint, Toleration

TAINT = Taint("dedicated", "NoSchedule", "storage")

CASES = {
    "key, value and effect": (
        Toleration("dedicated", value="storage", effect="NoSchedule"),
        True,
    ),
    "another value": (Toleration("dedicated", value="web"), False),
    "another effect": (Toleration("dedicated", value="storage", effect="NoExecute"), False),
    "another key": (Toleration("gpu", value="storage"), False),
    "any effect": (Toleration("dedicated", value="storage"), True),
    "any value": (Toleration("dedicated", "Exists"), True),
    "everything": (Toleration(operator="Exists"), True),
    "an empty operator means equality": (Toleration("dedicated", "", "storage"), True),
    "an unknown operator": (Toleration("dedicated", "Like", "storage"), False),
}


@pytest.mark.parametrize(("toleration", "answer"), CASES.values(), ids=CASES)
def test_tolerates(toleration: Toleration, answer: bool) -> None:  # noqa: FBT001 - a column
    assert toleration.tolerates(TAINT) is answer
