"""What pods and volume objects say about their volumes."""

import pytest
from msgspec.structs import replace

from mooring.model.csi_driver import LifecycleMode
from mooring.model.pod_volume import PodVolume
from mooring.model.reference import LocalObjectReference, SecretReference
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import VolumeError
from mooring.plugins.csi.source import find_driver_name, inline_handle, persistent, published
from tests.unit.plugins.csi.world import DRIVER, HANDLE, POD, a_persistent_use, an_inline_use


def test_an_inline_volume_has_the_same_handle_at_every_try() -> None:
    handle = inline_handle("11111111-2222-3333-4444-555555555555", "scratch")
    assert handle == "csi-a46bec53679aafe7e6bc42077f33be9e5c533643ed1224b3bfbf2dd627bbf53c"


def test_a_volumes_own_read_only_is_not_the_pods() -> None:
    assert not published(a_persistent_use(read_only=False), POD).read_only
    use = a_persistent_use()
    assert use.volume is not None
    assert use.volume.spec.csi is not None
    spec = replace(use.volume.spec, csi=replace(use.volume.spec.csi, read_only=True))
    use = replace(use, volume=replace(use.volume, spec=spec))
    assert not published(use, POD).read_only
    assert published(replace(use, read_only=True), POD).read_only


def test_an_inline_volume_is_what_its_pod_says() -> None:
    use = an_inline_use(
        read_only=True,
        fs_type="xfs",
        volume_attributes={"size": "1"},
        node_publish_secret_ref=LocalObjectReference("login"),
    )
    volume = published(use, POD)
    assert volume.mode is LifecycleMode.EPHEMERAL
    assert (volume.driver, volume.read_only, volume.fs_type) == (DRIVER, True, "xfs")
    assert volume.attributes == {"size": "1"}
    assert volume.secret == SecretReference("login", POD.namespace)


def test_the_driver_of_a_volume() -> None:
    assert find_driver_name(a_persistent_use()) == DRIVER
    assert find_driver_name(an_inline_use()) == DRIVER
    assert find_driver_name(VolumeUse(inline=PodVolume(name="x"))) is None
    assert persistent(a_persistent_use()).volume_handle == HANDLE


NOT_PERSISTENT = {
    "an inline one": (an_inline_use(), "unexpected api.CSIVolumeSource found in volume.Spec"),
    "none of a driver": (VolumeUse(), "volume source not found in volume.Spec"),
}


@pytest.mark.parametrize(("use", "text"), NOT_PERSISTENT.values(), ids=NOT_PERSISTENT)
def test_what_is_no_persistent_volume(use: VolumeUse, text: str) -> None:
    with pytest.raises(VolumeError, match=text):
        persistent(use)
