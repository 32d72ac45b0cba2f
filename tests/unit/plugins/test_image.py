"""image: nothing for the node to do."""

from pathlib import Path

import pytest

from mooring.model.pod_volume import ImageSource, PodVolume
from mooring.plugins.contract import Attributes, VolumeError
from mooring.plugins.image import Image
from tests.unit.plugins.world import a_pod, a_request, inline

MODEL = inline(PodVolume(name="model", image=ImageSource("registry.example.com/model:1")))


async def test_only_the_runtime_knows_where_an_image_is() -> None:
    mounter = Image().mounter(MODEL, a_pod())
    await mounter.set_up(a_request(fs_group=7))
    assert mounter.path == Path(".")
    assert mounter.attributes == Attributes(read_only=True)
    assert await mounter.usage() is None
    await Image().unmounter("model", a_pod().uid).tear_down()


def test_what_is_behind_it_is_its_reference() -> None:
    assert Image().volume_name(MODEL) == "registry.example.com/model:1"
    with pytest.raises(VolumeError, match="does not reference an Image volume type"):
        Image().volume_name(inline(PodVolume(name="x")))
