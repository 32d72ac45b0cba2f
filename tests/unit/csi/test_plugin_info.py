"""What a registration socket says, and the version that is taken."""

import pytest

from mooring.csi.plugin_info import (
    CSI_PLUGIN,
    OFFERED_VERSIONS,
    Plugin,
    UnsupportedVersions,
    Version,
    highest_version,
)

PLUGIN = Plugin(CSI_PLUGIN, "fake.csi", "/var/lib/plugins/fake/csi.sock", OFFERED_VERSIONS)


def test_without_an_endpoint_the_registration_socket_is_it() -> None:
    assert PLUGIN.endpoint_at("/reg.sock") == "/var/lib/plugins/fake/csi.sock"
    assert Plugin(CSI_PLUGIN, "fake.csi", "", ()).endpoint_at("/reg.sock") == "/reg.sock"


VERSIONS = {
    "the one that all registrars offer": (("1.0.0",), "1.0.0"),
    "the highest of several": (("1.0.0", "1.12.1", "1.2.0"), "1.12.1"),
    "two numbers are enough": (("v1.5",), "1.5"),
    "what is above is passed over": (("1.0.0", "2.0.0"), "1.0.0"),
    "what cannot be read is passed over": (("one", "1.1.0", "1"), "1.1.0"),
    "what follows the numbers does not count": (("1.2.0-rc.1",), "1.2.0"),
}


@pytest.mark.parametrize(("offered", "expected"), VERSIONS.values(), ids=VERSIONS)
def test_the_version_taken(offered: tuple[str, ...], expected: str) -> None:
    assert str(highest_version(offered)) == expected


NO_VERSION = {
    "none": ((), "empty array for supported versions"),
    "only what is above": (
        ("2.0.0",),
        "could not find a highest supported version from versions ([2.0.0]) reported: <nil>",
    ),
    "only what cannot be read": (
        ("one", "1"),
        "could not find a highest supported version from versions ([one 1])"
        ' reported: could not parse "one" as version',
    ),
    "a number without a point": (
        ("1",),
        "could not find a highest supported version from versions ([1])"
        ' reported: illegal version string "1"',
    ),
    "a leading zero": (
        ("01.0",),
        "could not find a highest supported version from versions ([01.0])"
        ' reported: illegal zero-prefixed version component "01" in "01.0"',
    ),
    "only what is below": (
        ("0.3.0",),
        "highest supported version reported is 0.3.0, must be v1.x",
    ),
}


@pytest.mark.parametrize(("offered", "text"), NO_VERSION.values(), ids=NO_VERSION)
def test_no_version_will_do(offered: tuple[str, ...], text: str) -> None:
    with pytest.raises(UnsupportedVersions) as caught:
        highest_version(offered)
    assert str(caught.value) == text


def test_versions_compare_as_numbers() -> None:
    assert Version((1, 9)).is_below(Version((1, 10)))
    assert not Version((1, 0)).is_below(Version((1, 0, 0)))
    assert Version((1, 0)).is_below(Version((1, 0, 1)))
