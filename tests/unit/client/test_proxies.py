"""Which proxy to go through."""

import pytest

from mooring.client.proxies import find_proxy
from mooring.errors import UsageError

P = "http://proxy:3128"
FOUND: dict[str, tuple[str, str, dict[str, str], str]] = {
    "none at all": ("", "https://a.example", {}, ""),
    "the cluster's own": (P, "https://a.example", {"HTTPS_PROXY": "http://other"}, P),
    "the environment's": ("", "https://a.example", {"HTTPS_PROXY": P}, P),
    "in small letters": ("", "https://a.example", {"https_proxy": P}, P),
    "without a scheme": ("", "https://a.example", {"HTTPS_PROXY": "proxy:3128"}, P),
    "not the one for http": ("", "https://a.example", {"HTTP_PROXY": P}, ""),
    "the one for http": ("", "http://a.example", {"HTTP_PROXY": P}, P),
}
SPARED: dict[str, tuple[str, str, bool]] = {
    "localhost, always": ("https://localhost:6443", "", True),
    "loopback, always": ("https://127.0.0.1:6443", "", True),
    "loopback of IPv6, always": ("https://[::1]:6443", "", True),
    "everything": ("https://a.example", "*", True),
    "a host by its name": ("https://a.example", "b.example, a.example", True),
    "a host below a domain": ("https://x.a.example", "a.example", True),
    "a host below a domain with a dot": ("https://x.a.example", ".a.example", True),
    "not the domain with a dot itself": ("https://a.example", ".a.example", False),
    "not a host that ends alike": ("https://ba.example", "a.example", False),
    "a network": ("https://10.1.2.3", "10.0.0.0/8", True),
    "not an address outside": ("https://11.1.2.3", "10.0.0.0/8", False),
    "not what is no network": ("https://10.1.2.3", "10.0.0.0/x", False),
    "a host and port": ("https://a.example:6443", "a.example:6443", True),
    "not another port": ("https://a.example:6443", "a.example:443", False),
    "nothing by an empty entry": ("https://a.example", ",", False),
}


@pytest.mark.parametrize(("given", "server", "environment", "then"), FOUND.values(), ids=FOUND)
def test_the_proxy_is(given: str, server: str, environment: dict[str, str], then: str) -> None:
    assert find_proxy(given, server, environment) == then


@pytest.mark.parametrize(("server", "no_proxy", "is_spared"), SPARED.values(), ids=SPARED)
def test_no_proxy_for(server: str, no_proxy: str, is_spared: bool) -> None:  # noqa: FBT001  a column
    found = find_proxy("", server, {"HTTPS_PROXY": P, "NO_PROXY": no_proxy})
    assert (found == "") is is_spared


def test_a_proxy_that_is_none_does_not_show_its_password() -> None:
    with pytest.raises(UsageError) as told:
        find_proxy("socks5://u:hidden@proxy", "https://a.example", {})
    assert "hidden" not in str(told.value)
