"""`--image-config`: what is understood, and what is refused in one line."""

from pathlib import Path
from typing import Any

import pytest

from mooring.errors import UsageError
from mooring.oci.registry.settings import GcSettings, ImageSettings, read, understood


def test_nothing_said_is_the_defaults() -> None:
    assert understood({}) == ImageSettings()


def test_everything_said() -> None:
    found = understood(
        {
            "registries": {
                "docker.io": {"mirrors": ["https://mirror.example.com", "http://127.0.0.1:5000"]},
                "registry.example:5000": {"caFile": "/etc/ca.pem"},
                "old.example": {"insecureSkipTLSVerify": True},
            },
            "maxParallelImagePulls": 2,
            "maxParallelLayers": 1,
            "maxImageSize": "1Gi",
            "maxUnpackedImageSize": 4096,
            "imageGCHighThresholdPercent": 70,
            "imageGCLowThresholdPercent": 60,
            "imageMinimumGCAge": "1h30m",
            "maxImagesSize": "20Gi",
        }
    )
    assert (found.pulls.pulls_at_once, found.pulls.layers_at_once) == (2, 1)
    assert (found.pulls.most_packed, found.pulls.most_unpacked) == (1 << 30, 4096)
    assert found.gc == GcSettings(70, 60, 5400.0, 20 << 30)
    assert found.pulls.of("registry.example:5000").ca_file == "/etc/ca.pem"
    assert found.pulls.of("old.example").insecure_skip_tls_verify
    assert not found.pulls.of("other.example").insecure_skip_tls_verify


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ([], "Expected `object`"),
        ({"mirrors": {}}, "unknown field `mirrors`"),
        ({"registries": {"a.b": {"insecure": True}}}, "unknown field `insecure`"),
        ({"registries": {"a.b/c": {}}}, "must be a host"),
        ({"registries": {"a.b": {"mirrors": ["mirror"]}}}, "must be URLs"),
        ({"registries": {"a.b": {"mirrors": ["https://u:p@m.example"]}}}, "without credentials"),
        ({"registries": {"a.b": {"mirrors": ["http://m.example"]}}}, "loopback only"),
        (
            {"registries": {"a.b": {"caFile": "/x", "insecureSkipTLSVerify": True}}},
            "drop one",
        ),
        ({"maxParallelImagePulls": 0}, "from 1 to 64"),
        ({"maxParallelLayers": 99}, "from 1 to 16"),
        ({"maxImageSize": "much"}, "must be a quantity"),
        ({"maxImagesSize": 0}, "more than nothing"),
        ({"imageGCHighThresholdPercent": 50}, "must be below"),
        ({"imageGCHighThresholdPercent": 101}, "from 0 to 100"),
        ({"imageMinimumGCAge": "soon"}, "must be a duration"),
        ({"imageMinimumGCAge": ""}, "must be a duration"),
    ],
)
def test_refused(said: Any, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        understood(said)
    assert told in str(caught.value)
    assert "u:p" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "images.yaml"
    file.write_text("imageMinimumGCAge: 10s\n")
    assert read(file).gc.minimum_age == 10.0
    file.write_text("")
    assert read(file) == ImageSettings()
    file.write_text("a: [")
    with pytest.raises(UsageError, match="cannot be understood"):
        read(file)
    with pytest.raises(UsageError, match="cannot read --image-config"):
        read(tmp_path / "none")
