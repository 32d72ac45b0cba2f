"""Endpoints, as a node reads them."""

from mooring.model.endpoints import EndpointAddress, Endpoints, EndpointSubset


def test_addresses_come_in_their_order_and_each_once() -> None:
    def subset(*ips: str) -> EndpointSubset:
        return EndpointSubset(tuple(EndpointAddress(ip) for ip in ips))

    found = Endpoints(subsets=(subset("10.0.0.2", "10.0.0.1"), subset("10.0.0.2", ""), subset()))
    assert list(found.ips()) == ["10.0.0.2", "10.0.0.1"]
