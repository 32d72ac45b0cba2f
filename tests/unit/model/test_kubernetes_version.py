"""Releases of Kubernetes: how they are named, and that the newest is the default."""

import pytest

from mooring.errors import UsageError
from mooring.model.kubernetes_version import NEWEST, V1_35, V1_37, KubernetesVersion, parse_version

WRITTEN: dict[str, tuple[str, KubernetesVersion]] = {
    "as the release is called": ("1.35", V1_35),
    "the newest": ("1.37", V1_37),
    "with its v": ("v1.37", V1_37),
    "with a patch": ("1.35.4", V1_35),
}


@pytest.mark.parametrize(("text", "wanted"), WRITTEN.values(), ids=WRITTEN)
def test_a_release_is_read(text: str, wanted: KubernetesVersion) -> None:
    assert parse_version(text) is wanted


@pytest.mark.parametrize("text", ["", "1.36", "2.35", "35", "1.375"])
def test_another_release_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(UsageError, match=r"must be one of 1\.35, 1\.37"):
        parse_version(text)


def test_the_newest_is_followed_unless_told_otherwise() -> None:
    assert str(NEWEST) == "1.37"


def test_all_that_parts_releases_is_off_in_the_oldest() -> None:
    assert KubernetesVersion(35) == V1_35
