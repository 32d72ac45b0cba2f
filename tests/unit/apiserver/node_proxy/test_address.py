"""Where a node serves, and how to know that it is the node."""

import pytest

from mooring.apiserver.node_proxy.address import NodeAddress, address_of
from mooring.errors import ServerError, Unavailable
from mooring.model.document import Doc
from mooring.model.wellknown import Annotation

PRINT = "ab" * 32


def a_node(*addresses: tuple[str, str], port: int = 0, fingerprint: str = PRINT) -> Doc:
    told = [{"type": kind, "address": address} for kind, address in addresses]
    endpoint = {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}} if port else {}
    return {
        "metadata": {"name": "n1", "annotations": {Annotation.SERVING_CERTIFICATE: fingerprint}},
        "status": {"addresses": told, **endpoint},
    }


INSIDE = ("InternalIP", "192.0.2.7")

FOUND = {
    "its address inside the cluster comes before its name": (
        a_node(("Hostname", "n1"), INSIDE, port=1234),
        ("192.0.2.7", 1234, "192.0.2.7:1234"),
    ),
    "of several the first": (
        a_node(INSIDE, ("InternalIP", "192.0.2.8")),
        ("192.0.2.7", 10250, "192.0.2.7:10250"),
    ),
    "a name, when there is nothing else": (
        a_node(("Hostname", "n1")),
        ("n1", 10250, "n1:10250"),
    ),
    "an address of version 6 is put in brackets": (
        a_node(("InternalIP", "2001:db8::7"), port=5),
        ("2001:db8::7", 5, "[2001:db8::7]:5"),
    ),
}


@pytest.mark.parametrize(("node", "then"), FOUND.values(), ids=FOUND)
def test_address(node: Doc, then: tuple[str, int, str]) -> None:
    found = address_of(node)
    assert (found.host, found.port, found.authority) == then


def test_where_it_says_that_it_serves_comes_before_all() -> None:
    node = a_node(INSIDE)
    node["metadata"]["annotations"][Annotation.SERVING_ADDRESS] = "127.0.0.1"
    assert address_of(node).host == "127.0.0.1"


def test_a_fingerprint_may_be_written_with_colons() -> None:
    node = a_node(INSIDE, fingerprint=":".join(["AB"] * 32))
    assert address_of(node) == NodeAddress("n1", "192.0.2.7", 10250, PRINT)


@pytest.mark.parametrize("fingerprint", ["", "abc", "zz" * 32, "ab" * 33])
def test_a_node_that_cannot_be_told_from_others_is_not_called(fingerprint: str) -> None:
    with pytest.raises(Unavailable, match="node n1 lets nobody look into its containers"):
        address_of(a_node(INSIDE, fingerprint=fingerprint))


def test_a_node_without_an_address() -> None:
    with pytest.raises(ServerError) as refused:
        address_of(a_node(("Other", "x")))
    assert str(refused.value) == "no preferred addresses found; known addresses: [{Other x}]"
