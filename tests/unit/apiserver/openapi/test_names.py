import pytest

from mooring.apiserver.openapi.names import Names, names, part_message
from tests.unit.apiserver.small_api import POD, SMALL_SCHEMA, small_kinds


@pytest.fixture(scope="module")
def known() -> Names:
    return names(small_kinds().all(), SMALL_SCHEMA)


DEFINITIONS = {
    "the core": ("core.v1.PodSpec", "io.k8s.api.core.v1.PodSpec"),
    "a group": ("storage.v1.StorageClass", "io.k8s.api.storage.v1.StorageClass"),
    "metadata": ("meta.v1.ObjectMeta", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"),
    "a custom kind is called by its group, backwards": (
        "snapshot.v1.VolumeSnapshot",
        "io.k8s.storage.snapshot.v1.VolumeSnapshot",
    ),
    "so is what a custom kind is made of": (
        "snapshot.v1.SnapshotStatus",
        "io.k8s.storage.snapshot.v1.SnapshotStatus",
    ),
}


@pytest.mark.parametrize(("message", "name"), DEFINITIONS.values(), ids=DEFINITIONS)
def test_definition(known: Names, message: str, name: str) -> None:
    assert known.definition(message) == name


def test_messages_know_the_kinds_they_are_served_as(known: Names) -> None:
    assert known.kinds["core.v1.Pod"] == [{"group": "", "version": "v1", "kind": "Pod"}]
    assert known.kinds["policy.v1.Eviction"] == [
        {"group": "policy", "version": "v1", "kind": "Eviction"}
    ]
    assert "core.v1.PodSpec" not in known.kinds


PARTS = {
    "its own kind": ("log", "core.v1.Pod"),
    "a kind of another group": ("eviction", "policy.v1.Eviction"),
    "no message at all": ("exec", ""),
}


@pytest.mark.parametrize(("name", "message"), PARTS.values(), ids=PARTS)
def test_the_message_of_a_subresource(name: str, message: str) -> None:
    [part] = [part for part in POD.subresources if part.name == name]
    assert part_message(POD, part, SMALL_SCHEMA) == message
