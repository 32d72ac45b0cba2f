"""Reading a Content-Type."""

import pytest

from mooring.apiserver.codec.media import JSON, PROTOBUF, YAML, media_type

TYPES = {
    "no header is JSON, as the Python client relies on": (None, JSON),
    "an empty header is JSON": ("", JSON),
    "parameters do not matter": ("application/yaml; charset=utf-8", YAML),
    "letter case does not matter": ("Application/JSON", JSON),
    "protobuf": ("application/vnd.kubernetes.protobuf", PROTOBUF),
    "others are as they are": ("text/plain", "text/plain"),
}


@pytest.mark.parametrize(("header", "media"), TYPES.values(), ids=TYPES)
def test_media_type(header: str | None, media: str) -> None:
    assert media_type(header) == media
