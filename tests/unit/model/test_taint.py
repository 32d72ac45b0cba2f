"""Tolerations: which taint each lets pass."""

import pytest

from mooring.model.taint import Taint, Toleration, find_untolerated, is_tolerated

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


def test_a_taint_keeps_away_who_does_not_tolerate_it() -> None:
    mild = Taint("noisy", "PreferNoSchedule")
    gone = Taint("broken", "NoExecute")
    assert find_untolerated((mild,), ()) is None
    assert find_untolerated((mild, TAINT, gone), ()) == TAINT
    assert find_untolerated((TAINT, gone), (Toleration("dedicated", "Exists"),)) == gone
    assert find_untolerated((TAINT, gone), (Toleration(operator="Exists"),)) is None


def test_one_toleration_is_enough() -> None:
    others = (Toleration("gpu"), Toleration("dedicated", value="storage"))
    assert is_tolerated(TAINT, others)
    assert not is_tolerated(TAINT, others[:1])
    assert not is_tolerated(TAINT, ())
