"""The volumes that nobody has."""

from hypothesis import given
from hypothesis import strategies as st

from mooring.model import quantity
from mooring.model.volume import Volume
from mooring.scheduling.free import FreeVolumes
from tests.unit.scheduling.things import HOSTNAME, Stored, a_volume, on, pointing_at

ANY = quantity.parse("0")


def names(free: FreeVolumes, size: str = "0", storage_class: str = "local") -> list[str]:
    return [volume.name for volume in free.of_class(storage_class, quantity.parse(size))]


def test_smallest_first_then_by_name() -> None:
    free = FreeVolumes()
    for volume in (a_volume("c", "2Gi"), a_volume("b", "1Gi"), a_volume("a", "2Gi")):
        free.put(volume)
    assert names(free) == ["b", "a", "c"]
    assert names(free, "1025Mi") == ["a", "c"]
    assert names(free, "3Gi") == []


def test_classes_are_apart() -> None:
    free = FreeVolumes()
    free.put(a_volume("a"))
    free.put(a_volume("b", storage_class="other"))
    assert names(free) == ["a"]
    assert names(free, storage_class="other") == ["b"]


def test_only_free_ones_stay() -> None:
    free = FreeVolumes()
    free.put(a_volume("a"))
    free.put(a_volume("a", claimRef=pointing_at("data")))
    free.put(a_volume("b", phase="Released"))
    free.put(a_volume("c", metadata={"deletionTimestamp": "2026-01-02T03:04:05Z"}))
    assert names(free) == []


def test_one_that_moves_to_another_class_leaves_its_own() -> None:
    free = FreeVolumes()
    free.put(a_volume("a"))
    free.put(a_volume("a", "2Gi", storage_class="other"))
    assert (names(free), names(free, storage_class="other")) == ([], ["a"])
    free.discard("a")
    free.discard("a")
    assert names(free, storage_class="other") == []


VOLUMES = st.builds(
    a_volume,
    st.sampled_from("abc"),
    st.sampled_from(["1Gi", "2Gi", "1024Mi"]),
    st.sampled_from(["local", "other"]),
    phase=st.sampled_from(["Available", "Bound"]),
    nodeAffinity=st.sampled_from(
        [None, on(HOSTNAME, "n1"), on(HOSTNAME, "n1", "n2"), on("z", "a")]
    ),
)


@given(st.lists(VOLUMES, max_size=8))
def test_it_knows_what_a_look_at_all_volumes_would_find(changes: list[Volume]) -> None:
    free, latest = FreeVolumes(), {}
    for volume in changes:
        free.put(volume)
        latest[volume.name] = volume
    stored = Stored(*latest.values())
    for storage_class in ("local", "other"):
        found = list(free.of_class(storage_class, ANY))
        assert found == list(stored.free_volumes(storage_class, ANY))
        assert set(free.label_keys(storage_class)) == stored.free_volume_labels(storage_class)
        for label in (None, (HOSTNAME, "n1"), (HOSTNAME, "n2"), ("z", "a")):
            found = list(free.reached_by(storage_class, ANY, label))
            assert found == list(stored.free_volumes_at(storage_class, ANY, label))
