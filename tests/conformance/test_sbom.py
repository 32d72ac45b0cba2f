"""The SBOM is what CycloneDX calls valid, and names what is in the image."""

import json
from pathlib import Path

import pytest

from release.debian import Package
from release.root import ARCHITECTURES, Root, Wheel

validation = pytest.importorskip("cyclonedx.validation.json", reason="make conformance installs it")

PACKAGES = (Package(Path("libc6.deb"), "libc6", "2.41-12", "amd64", ""),)
WHEELS = (
    Wheel("mooring", "1.2", "Apache-2.0", ("grpcio", "not-here")),
    Wheel("grpcio", "1.66", "Apache-2.0", ()),
    Wheel("odd_one", "3", "", ()),
)


def test_the_sbom_is_valid_and_names_every_part() -> None:
    from cyclonedx.schema import SchemaVersion

    from release import sbom

    root = Root(ARCHITECTURES[0], (), (), (), PACKAGES, WHEELS)
    text = sbom.document(root, "1.2", 1_700_000_000)
    wrong = validation.JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    assert wrong is None, wrong
    said = json.loads(text)
    assert {part["purl"] for part in said["components"]} == {
        "pkg:deb/debian/libc6@2.41-12?arch=amd64&distro=trixie",
        "pkg:pypi/grpcio@1.66",
        "pkg:pypi/odd-one@3",
    }
    needs = {one["ref"]: one.get("dependsOn", []) for one in said["dependencies"]}
    assert needs["mooring@1.2"] == ["deb:libc6@2.41-12", "grpcio@1.66"]
    assert sbom.document(root, "1.2", 1_700_000_000) == text
