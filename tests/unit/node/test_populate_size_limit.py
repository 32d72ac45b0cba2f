"""How much a pod may put into a volume on the node's own disk."""

import pytest

from mooring.model.container import ComputeResources, Container
from mooring.model.pod import Pod, PodSpec
from mooring.model.pod_volume import (
    ConfigMapSource,
    EmptyDirSource,
    GitRepoSource,
    PodVolume,
    SecretSource,
)
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.node.populate import find_size_limit

GIB = 1 << 30


def scratch(size: str | None = None, medium: str = "") -> VolumeUse:
    return VolumeUse(inline=PodVolume(name="v", empty_dir=EmptyDirSource(medium, size)))


CONFIG = VolumeUse(inline=PodVolume(name="v", config_map=ConfigMapSource("c")))
GIT = VolumeUse(inline=PodVolume(name="v", git_repo=GitRepoSource("r")))
SECRET = VolumeUse(inline=PodVolume(name="v", secret=SecretSource("s")))

LIMITS: dict[str, tuple[tuple[str, ...], VolumeUse, int | None]] = {
    "the volume's own limit is the smaller one": (("2Gi",), scratch("1Gi"), GIB),
    "the pod's limit is the smaller one": (("2Gi",), scratch("3Gi"), 2 * GIB),
    "only the volume has a limit": (("",), scratch("1Gi"), GIB),
    "memory is not on disk": (("2Gi",), scratch("1Gi", "Memory"), None),
    "huge pages are not on disk": (("2Gi",), scratch("1Gi", "HugePages"), None),
    "no limit at all": (("",), scratch(), None),
    "a limit of nothing is none": (("2Gi",), scratch("0"), 2 * GIB),
    "containers add up; one without a limit adds nothing": (("1Gi", "1Gi", ""), GIT, 2 * GIB),
    "files of a config map": (("1Gi",), CONFIG, GIB),
    "a secret is in memory": (("1Gi",), SECRET, None),
    "a persistent volume has its own size": (("1Gi",), VolumeUse(volume=Volume()), None),
}


@pytest.mark.parametrize(("limits", "use", "expected"), LIMITS.values(), ids=LIMITS)
def test_the_smallest_limit_counts(
    limits: tuple[str, ...], use: VolumeUse, expected: int | None
) -> None:
    containers = tuple(
        Container(
            f"c{number}",
            resources=ComputeResources(limits={"ephemeral-storage": limit} if limit else {}),
        )
        for number, limit in enumerate(limits)
    )
    assert find_size_limit(Pod(spec=PodSpec(containers=containers)), use) == expected
