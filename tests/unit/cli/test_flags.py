"""Flags that several commands share: what they are split into, and what is refused."""

import pytest

from mooring.cli.flags import dns_servers_of, domain_of
from mooring.errors import UsageError


def test_dns_servers() -> None:
    assert dns_servers_of("") == ()
    assert dns_servers_of(" 10.96.0.10, fd00::a,") == ("10.96.0.10", "fd00::a")
    with pytest.raises(UsageError, match="is no IP address"):
        dns_servers_of("dns.example.com")


def test_the_domain_of_the_cluster() -> None:
    assert domain_of("Cluster.Local.") == "cluster.local"
    for wrong in ("", "a_b", "a..b"):
        with pytest.raises(UsageError, match=f'--cluster-domain: "{wrong}" is no domain'):
            domain_of(wrong)
