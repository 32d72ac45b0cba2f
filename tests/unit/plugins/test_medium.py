"""What an emptyDir is made of, and how large."""

import pytest

from mooring.model import quantity
from mooring.model.pod import Pod
from mooring.model.pod_volume import EmptyDirSource
from mooring.plugins.contract import VolumeError
from mooring.plugins.medium import (
    ON_DISK,
    InHugePages,
    InMemory,
    Medium,
    Swap,
    choose_medium,
    mounted_page_size,
    swap_rule,
    tmpfs_options,
)
from tests.unit.plugins.world import a_container, a_pod

GI, MI = 1 << 30, 1 << 20
ALL_UIDS = "         0          0 4294967295\n"


def memory(limit: str, size_limit: str | None = None) -> tuple[EmptyDirSource, Pod]:
    source = EmptyDirSource(medium="Memory", size_limit=size_limit)
    return source, a_pod(a_container(limits={"memory": limit} if limit else {}))


def huge(medium: str, *sizes: str) -> tuple[EmptyDirSource, Pod]:
    containers = (a_container(requests={f"hugepages-{size}": "1Gi"}) for size in sizes)
    return EmptyDirSource(medium=medium), a_pod(a_container(), *containers)


CHOICES: dict[str, tuple[tuple[EmptyDirSource, Pod], Medium]] = {
    "no medium is the disk, whatever the size limit": (
        (EmptyDirSource(size_limit="1Gi"), a_pod()),
        ON_DISK,
    ),
    "memory that nobody limits is what the node has for pods": (memory(""), InMemory(8 * GI)),
    "a limit of the pod beats the node": (memory("512Mi"), InMemory(512 * MI)),
    "a size limit above the pod's is ignored": (memory("512Mi", "1Gi"), InMemory(512 * MI)),
    "a size limit below all others counts": (memory("", "256Mi"), InMemory(256 * MI)),
    "a size limit of nothing is none": (memory("512Mi", "0"), InMemory(512 * MI)),
    "a pod that may use more than the node has": (memory("64Gi"), InMemory(8 * GI)),
    "huge pages of the one size that is asked for": (
        huge("HugePages", "2Mi", "2Mi"),
        InHugePages(quantity.parse("2Mi"), takes_any=True),
    ),
    "the same size in other words is the same size": (
        huge("HugePages", "1Gi", "1024Mi"),
        InHugePages(quantity.parse("1Gi"), takes_any=True),
    ),
    "huge pages of a size among others": (
        huge("HugePages-1Gi", "2Mi", "1Gi"),
        InHugePages(quantity.parse("1Gi"), takes_any=False),
    ),
}


@pytest.mark.parametrize(("given", "then"), CHOICES.values(), ids=[*CHOICES])
def test_medium(given: tuple[EmptyDirSource, Pod], then: Medium) -> None:
    assert choose_medium(*given, {"memory": "8Gi"}) == then


def test_memory_of_a_node_that_does_not_tell_its_size_is_left_to_the_kernel() -> None:
    assert choose_medium(*memory(""), {}) == InMemory(None)


REFUSALS = {
    "two sizes for a medium that names none": (
        huge("HugePages", "2Mi", "1Gi"),
        "medium: HugePages can't be used if container requests multiple huge page sizes",
    ),
    "a size that no container asks for": (
        huge("HugePages-2Mi", "1Gi"),
        "medium HugePages-2Mi: hugePages storage requested, "
        "but there is no resource request for huge pages",
    ),
    "huge pages that no container asks for": (
        huge("HugePages"),
        "medium HugePages: hugePages storage requested, "
        "but there is no resource request for huge pages",
    ),
    "a medium that there is none of": (
        (EmptyDirSource(medium="Tape"), a_pod()),
        'unknown storage medium "Tape"',
    ),
}


@pytest.mark.parametrize(("given", "text"), REFUSALS.values(), ids=[*REFUSALS])
def test_no_such_medium(given: tuple[EmptyDirSource, Pod], text: str) -> None:
    with pytest.raises(VolumeError) as refused:
        choose_medium(*given, {"memory": "8Gi"})
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("release", "uid_map", "rule"),
    [
        ("6.4.0", ALL_UIDS, Swap.NEVER_OUT),
        ("6.18.44-custom", ALL_UIDS, Swap.NEVER_OUT),
        ("7.0", ALL_UIDS, Swap.NEVER_OUT),
        ("6.3.9", ALL_UIDS, Swap.TRY),
        ("5.14.0-427.el9", ALL_UIDS, Swap.TRY),
        ("unheard of", ALL_UIDS, Swap.TRY),
        ("6.18.0", "0 1000 1\n", Swap.MAY_GO_OUT),
        ("6.18.0", "0 0 1\n1 100000 65536\n", Swap.MAY_GO_OUT),
    ],
)
def test_kernels_since_6_4_keep_memory_from_swap_but_in_user_namespaces(
    release: str, uid_map: str, rule: Swap
) -> None:
    assert swap_rule(release, uid_map) is rule


def test_options_of_a_file_system_in_memory() -> None:
    assert tmpfs_options(InMemory(512 * MI), noswap=True) == ("size=536870912", "noswap")
    assert tmpfs_options(InMemory(256 * MI), noswap=False) == ("size=268435456",)
    assert tmpfs_options(InMemory(None), noswap=False) == ()


@pytest.mark.parametrize(
    ("options", "size"),
    [
        (("rw", "relatime", "pagesize=2M"), "2Mi"),
        (("rw", "pagesize=1024M"), "1Gi"),
        (("pagesize=2Mi",), "2Mi"),
    ],
)
def test_the_page_size_of_a_mount_is_in_binary_units(options: tuple[str, ...], size: str) -> None:
    assert mounted_page_size(options) == quantity.parse(size)


def test_a_mount_may_not_tell_its_page_size() -> None:
    assert mounted_page_size(("rw", "relatime")) is None
