"""Names that Kubernetes gives, byte by byte."""

import pytest

from mooring.plugins.csi.attachment_name import CsiName, attachment_name, find_csi_name


def test_the_name_of_an_attachment() -> None:
    name = attachment_name("vol-1", "ebs.csi.example.com", "node-a")
    assert name == "csi-873560f987d010c2b5d5ee976df943d2faf0948e0f1111d5de2a843bd9e937f7"


NAMES = {
    "driver and handle": ("kubernetes.io/csi/d.example.com^h1", CsiName("d.example.com", "h1")),
    "a handle with slashes": (
        "kubernetes.io/csi/d.example.com^projects/a/b",
        CsiName("d.example.com", "projects/a/b"),
    ),
    "a handle with the separator": ("kubernetes.io/csi/d^a^b", CsiName("d", "a^b")),
    "another plugin": ("kubernetes.io/aws-ebs/vol-1", None),
    "no handle": ("kubernetes.io/csi/d^", None),
    "no driver": ("kubernetes.io/csi/^h", None),
    "no separator": ("kubernetes.io/csi/d", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("text", "found"), NAMES.values(), ids=NAMES)
def test_the_name_of_a_volume(text: str, found: CsiName | None) -> None:
    assert find_csi_name(text) == found
    if found is not None:
        assert found.unique == text
