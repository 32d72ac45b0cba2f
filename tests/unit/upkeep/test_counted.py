"""Numbers of things."""

from mooring.upkeep.counted import counted


def test_one_many_and_none() -> None:
    told = [counted(number, "pod", "pods") for number in (0, 1, 2)]
    assert told == ["", "1 pod", "2 pods"]
