"""Where an image is asked for, and in which order."""

import pytest

from mooring.oci.reference import names_registry, parse
from mooring.oci.registry.endpoints import endpoints
from mooring.oci.registry.loopback import find_askable
from mooring.oci.registry.settings import PullSettings, RegistrySettings

PLAIN = PullSettings()


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("busybox", ["https://registry-1.docker.io/v2/library/busybox"]),
        ("docker.io/team/tool:2", ["https://registry-1.docker.io/v2/team/tool"]),
        ("quay.io/a/b/c", ["https://quay.io/v2/a/b/c"]),
        ("r.example:5000/x", ["https://r.example:5000/v2/x"]),
        ("127.0.0.1:5000/x", ["https://127.0.0.1:5000/v2/x", "http://127.0.0.1:5000/v2/x"]),
        ("localhost:5000/x", ["https://localhost:5000/v2/x", "http://localhost:5000/v2/x"]),
        ("[::1]:5000/x", ["https://[::1]:5000/v2/x", "http://[::1]:5000/v2/x"]),
        ("192.168.0.7:5000/x", ["https://192.168.0.7:5000/v2/x"]),
    ],
)
def test_a_registry_and_plain_http_on_loopback_only(name: str, asked: list[str]) -> None:
    found = endpoints(parse(name), PLAIN)
    assert [f"{one.url}/v2/{one.repository}" for one in found] == asked


def test_certificates_are_verified_everywhere_but_on_loopback() -> None:
    (far,) = endpoints(parse("quay.io/x"), PLAIN)
    assert not far.skips_verify
    near, _ = endpoints(parse("127.0.0.1:5000/x"), PLAIN)
    assert near.skips_verify


def test_a_registry_on_loopback_with_an_authority_is_asked_with_tls_only() -> None:
    own = {"127.0.0.1:5000": RegistrySettings(ca_file="/ca.pem")}
    (only,) = endpoints(parse("127.0.0.1:5000/x"), PullSettings(registries=own))
    assert (only.url, only.skips_verify, only.ca_file) == (
        "https://127.0.0.1:5000",
        False,
        "/ca.pem",
    )


def test_mirrors_come_first_with_their_own_settings() -> None:
    own = {
        "docker.io": RegistrySettings(mirrors=("https://m.example/hub/", "http://127.0.0.1:9")),
        "m.example": RegistrySettings(ca_file="/m.pem"),
    }
    found = endpoints(parse("busybox"), PullSettings(registries=own))
    assert [(one.url, one.repository, one.is_mirror, one.ca_file) for one in found] == [
        ("https://m.example", "hub/library/busybox", True, "/m.pem"),
        ("http://127.0.0.1:9", "library/busybox", True, ""),
        ("https://registry-1.docker.io", "library/busybox", False, ""),
    ]
    assert [one.host for one in found] == ["m.example", "127.0.0.1:9", "docker.io"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("busybox", False),
        ("busybox:1", False),
        ("team/tool", False),
        (f"tool@sha256:{'a' * 64}", False),
        ("docker.io/library/busybox", True),
        ("quay.io/tool", True),
        ("localhost/tool", True),
        ("host:5000/tool", True),
    ],
)
def test_names_that_say_their_registry(name: str, says: bool) -> None:  # noqa: FBT001
    assert names_registry(name) is says


@pytest.mark.parametrize(
    ("url", "is_askable"),
    [
        ("https://a.example/x", True),
        ("http://127.0.0.1:5000/x", True),
        ("http://a.example/x", False),
        ("http://169.254.169.254/latest", False),
        ("file:///etc/shadow", False),
        ("https://", False),
        ("//[", False),
        ("https://a.example/x y", False),
        ("https://a.example/x\r\nHost: b", False),
        ("https://ä.example/", False),
        ("", False),
    ],
)
def test_urls_that_may_be_asked(url: str, is_askable: bool) -> None:  # noqa: FBT001
    assert (find_askable(url) is not None) is is_askable
