"""What a volume is called on a node."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.model.pod_volume import ImageSource, PodVolume
from mooring.plugins.contract import VolumeError
from mooring.plugins.image import Image
from mooring.plugins.local import Local
from mooring.plugins.unique_name import split, unique_name
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.world import a_host, a_local_use, inline

IMAGE = inline(PodVolume(name="model", image=ImageSource("m:1")))


def test_a_volume_whose_device_is_mounted_once_has_one_name_for_all_pods(
    tmp_path: Path,
) -> None:
    plugin = Local(a_host(tmp_path, FakeMounts()))
    use = a_local_use("/disk")
    assert unique_name(plugin, use, "u1") == "kubernetes.io/local-volume/pv1"
    assert unique_name(plugin, use, "u2") == "kubernetes.io/local-volume/pv1"


def test_any_other_volume_is_the_pods_own() -> None:
    assert unique_name(Image(), IMAGE, "u1") == "kubernetes.io/image/u1-model"
    assert unique_name(Image(), IMAGE, "u2") == "kubernetes.io/image/u2-model"


def test_a_plugin_that_declines_to_mount_the_device_leaves_it_to_each_pod(tmp_path: Path) -> None:
    class Declining(Local):
        def can_mount_device(self, use: object) -> bool:
            return False

    plugin = Declining(a_host(tmp_path, FakeMounts()))
    name = unique_name(plugin, a_local_use("/disk"), "u1")
    assert name == "kubernetes.io/local-volume/u1-pv1"


def test_a_shared_volume_without_anything_behind_it_has_no_name(tmp_path: Path) -> None:
    class Nameless(Local):
        def volume_name(self, use: object) -> str:
            return ""

    with pytest.raises(VolumeError) as refused:
        unique_name(Nameless(a_host(tmp_path, FakeMounts())), a_local_use("/disk"), "u1")
    assert str(refused.value) == (
        'failed to GetVolumeName from volumePlugin for volumeSpec "pv1" err=<nil>'
    )


WORDS = st.text(st.characters(blacklist_characters="/"), min_size=1)


@given(vendor=WORDS, driver=WORDS, volume=st.text())
def test_a_name_is_split_where_it_was_joined(vendor: str, driver: str, volume: str) -> None:
    assert split(f"{vendor}/{driver}/{volume}") == (f"{vendor}/{driver}", volume)


@pytest.mark.parametrize("name", ["", "a", "kubernetes.io/csi"])
def test_fewer_than_three_parts_are_no_name(name: str) -> None:
    with pytest.raises(VolumeError) as refused:
        split(name)
    assert str(refused.value) == (
        f"cannot split volume unique name {name} to plugin/volume components"
    )
