"""What a search with a selector goes through: counted, not timed."""

import pytest

from mooring.controllers.binding.volume_bucket import MOST_INDEXED, MOST_MERGED, VolumeBucket
from mooring.model.selector import LabelSelector, parse_labels
from mooring.model.volume import Volume
from tests.unit.controllers.binding.things import a_volume

ROWS = 100
VOLUMES = {
    f"v{i:02}": a_volume(
        f"v{i:02}",
        f"{i + 1}Gi",
        labels={"disk": "ssd" if i % 10 == 0 else "hdd", "id": f"i{i}", "zone": f"z{i % 4}"},
    )
    for i in range(ROWS)
}


def a_bucket() -> VolumeBucket:
    bucket = VolumeBucket()
    for volume in VOLUMES.values():
        bucket.add(volume)
    return bucket


def gone_through(
    bucket: VolumeBucket, selector: LabelSelector, volumes: dict[str, Volume] = VOLUMES
) -> list[str]:
    return [name for _, name in bucket.candidates(0, selector, volumes)]


COUNTS = {
    "no selector: all of them, the smallest first": ("", ROWS),
    "a label: those that have it": ("disk=ssd", 10),
    "a label of one volume": ("id=i7", 1),
    "a label that none has": ("disk=tape", 0),
    "one of several values": ("disk in (ssd,tape)", 10),
    "two labels: the rarer one": ("disk=ssd,id=i10", 1),
    "any value of a label": ("zone", ROWS),
    "a label that nobody knows": ("colour", 0),
    "anything but a value: all, for most have it": ("disk!=tape", ROWS),
    "a label and anything but a value: those that have the label": ("disk=ssd,zone!=z1", 10),
    "without a label: all": ("!colour", ROWS),
}


@pytest.mark.parametrize(("selector", "count"), COUNTS.values(), ids=COUNTS)
def test_how_many_are_gone_through(selector: str, count: int) -> None:
    found = gone_through(a_bucket(), parse_labels(selector))
    assert len(found) == count
    assert found == sorted(found)


def test_small_ones_are_left_out() -> None:
    least = VOLUMES["v90"].size.nanos
    for selector, names in (("disk=ssd", ["v90"]), ("zone=z2", ["v90", "v94", "v98"])):
        found = a_bucket().candidates(least, parse_labels(selector), VOLUMES)
        assert [name for _, name in found] == names


def test_what_comes_and_goes_after_the_first_question_is_known() -> None:
    bucket, ssd = a_bucket(), parse_labels("disk=ssd")
    assert len(gone_through(bucket, ssd)) == 10
    new = a_volume("new", "1Mi", labels={"disk": "ssd"})
    bucket.add(new)
    bucket.remove(VOLUMES["v00"])
    assert gone_through(bucket, ssd, VOLUMES | {"new": new})[:2] == ["new", "v10"]
    assert len(gone_through(bucket, ssd, VOLUMES | {"new": new})) == 10


def test_a_value_that_nobody_has_any_more_is_forgotten() -> None:
    bucket, seven = a_bucket(), parse_labels("id=i7")
    assert gone_through(bucket, seven) == ["v07"]
    bucket.remove(VOLUMES["v07"])
    assert gone_through(bucket, seven) == []
    bucket.add(VOLUMES["v07"])
    assert gone_through(bucket, seven) == ["v07"]


def test_many_questions_are_answered_and_the_oldest_index_forgotten() -> None:
    bucket = a_bucket()
    for i in range(MOST_INDEXED + 5):
        assert gone_through(bucket, parse_labels(f"key{i}=x")) == []
    assert len(bucket._by_label) == MOST_INDEXED
    assert len(gone_through(bucket, parse_labels("disk=ssd"))) == 10


def test_a_label_with_very_many_values_is_not_merged() -> None:
    assert len({volume.metadata.labels["id"] for volume in VOLUMES.values()}) > MOST_MERGED
    bucket = a_bucket()
    assert gone_through(bucket, parse_labels("id")) == gone_through(bucket, parse_labels(""))
