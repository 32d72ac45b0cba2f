"""Which records names have; and that they say what slices say."""

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.node.names.records import Absent, Answer, NotOurs, find_records, may_be_ours
from tests.unit.node.names.catalogs import CATALOG, DOMAIN, FakeCatalog, a_service, a_slice, at

DB = "db.ns.svc.cluster.local"
SIX = "six.ns.svc.cluster.local"
NOTHING: list[str] = []
ASKED: dict[str, tuple[str, str, list[str]]] = {
    "a service: who is ready, each once": (DB, "A", ["10.0.0.1", "10.0.0.3"]),
    "in capitals": (DB.upper(), "A", ["10.0.0.1", "10.0.0.3"]),
    "of the other family": (DB, "AAAA", NOTHING),
    "of another type": (DB, "TXT", NOTHING),
    "a service of the other family": (SIX, "AAAA", ["fd00::1"]),
    "a pod by its hostname": (f"db-2.{DB}", "A", ["10.0.0.1"]),
    "a pod by its address": (f"10-0-0-3.{DB}", "A", ["10.0.0.3"]),
    "a pod by its address of version 6": (f"fd00--1.{SIX}", "AAAA", ["fd00::1"]),
    "the API server": ("kubernetes.default.svc.cluster.local", "A", ["192.0.2.1"]),
    "the port of the API server": (
        "_https._tcp.kubernetes.default.svc.cluster.local",
        "SRV",
        ["0 100 6443 kubernetes.default.svc.cluster.local."],
    ),
    "a port": (
        f"_sql._tcp.{DB}",
        "SRV",
        [
            f"0 100 5432 db-0.{DB}.",
            f"0 100 5432 db-2.{DB}.",
            f"0 100 5432 10-0-0-3.{DB}.",
        ],
    ),
    "all ports": (SIX, "SRV", [f"0 100 5432 six-0.{SIX}."]),
    "a port has no address": (f"_sql._tcp.{DB}", "A", NOTHING),
    "a name elsewhere": ("mail.ns.svc.cluster.local", "A", ["mx.example.com."]),
    "an address": (
        "1.0.0.10.in-addr.arpa",
        "PTR",
        [f"db-0.{DB}.", f"db-2.{DB}."],
    ),
    "an address of version 6": (
        "1." + "0." * 27 + "0.0.d.f.ip6.arpa",
        "PTR",
        [f"six-0.{SIX}."],
    ),
    "the domain": (DOMAIN, "A", NOTHING),
    "the domain of services": (f"svc.{DOMAIN}", "A", NOTHING),
    "a namespace": (f"ns.svc.{DOMAIN}", "A", NOTHING),
}


@pytest.mark.parametrize(("name", "kind", "data"), ASKED.values(), ids=ASKED)
def test_what_is_there(name: str, kind: str, data: list[str]) -> None:
    found = find_records(CATALOG, DOMAIN, name, kind)
    assert isinstance(found, Answer), found
    assert [record.data for record in found.records] == data
    assert all(record.name == name.lower() for record in found.records)


ABSENT = {
    "a service that is not there": f"nobody.ns.svc.{DOMAIN}",
    "one in another namespace": f"db.other.svc.{DOMAIN}",
    "a namespace without services": f"other.svc.{DOMAIN}",
    "a service with nobody behind it": f"empty.ns.svc.{DOMAIN}",
    "a pod that is not ready": f"db-1.{DB}",
    "a pod of another service": f"db-0.{SIX}",
    "a port that is not there": f"_http._tcp.{DB}",
    "a port of another protocol": f"_sql._udp.{DB}",
    "a search domain too many": f"kubernetes.default.svc.ns.svc.{DOMAIN}",
    "a pod below a name elsewhere": f"x.mail.ns.svc.{DOMAIN}",
    "no service": f"db.ns.{DOMAIN}",
    "nonsense": f"..{DOMAIN}",
}


@pytest.mark.parametrize("name", ABSENT.values(), ids=ABSENT)
def test_what_is_not_there(name: str) -> None:
    assert find_records(CATALOG, DOMAIN, name, "A") == Absent()


OTHERS = {
    "a host elsewhere": "example.com",
    "a domain that ends alike": "my-cluster.local",
    "an address that nobody here has": "9.0.0.10.in-addr.arpa",
    "the address of a pod without a hostname": "3.0.0.10.in-addr.arpa",
    "half an address": "10.in-addr.arpa",
    "no address": "x.ip6.arpa",
    "the root": "",
}


@pytest.mark.parametrize("name", OTHERS.values(), ids=OTHERS)
def test_what_others_know(name: str) -> None:
    assert find_records(CATALOG, DOMAIN, name, "PTR") == NotOurs()


def test_addresses_of_targets_go_along() -> None:
    found = find_records(CATALOG, DOMAIN, f"_sql._tcp.{DB}", "SRV")
    assert isinstance(found, Answer)
    assert {(each.name, each.data) for each in found.extra} == {
        (f"db-0.{DB}", "10.0.0.1"),
        (f"db-2.{DB}", "10.0.0.1"),
        (f"10-0-0-3.{DB}", "10.0.0.3"),
    }


def test_an_address_given_by_hand_does_not_hide_the_pods() -> None:
    service = a_service(clusterIP="10.96.0.7")
    catalog = FakeCatalog([service], [a_slice(at("10.0.0.1"))])
    found = find_records(catalog, DOMAIN, DB, "A")
    assert isinstance(found, Answer)
    assert [record.data for record in found.records] == ["10.0.0.1"]


_IPS = st.integers(0x0A000001, 0x0A0000FF).map(lambda number: str(IPv4Address(number)))
_ENDPOINTS = st.lists(
    st.tuples(_IPS, st.one_of(st.none(), st.sampled_from(("a", "b", "c"))), st.booleans()),
    max_size=12,
)


@given(st.lists(_ENDPOINTS, max_size=4))
def test_names_say_what_slices_say(slices: list[list[tuple[str, str | None, bool]]]) -> None:
    catalog = FakeCatalog(
        [a_service()],
        [a_slice(*(at(ip, host, ready=ready) for ip, host, ready in each)) for each in slices],
    )
    ready = [(ip, host) for each in slices for ip, host, is_ready in each if is_ready]
    found = find_records(catalog, DOMAIN, DB, "A")
    if not ready:
        assert found == Absent()
        return
    assert isinstance(found, Answer)
    assert {record.data for record in found.records} == {ip for ip, _ in ready}
    for ip, host in ready:
        for label in (ip.replace(".", "-"), *([host] if host else [])):
            member = find_records(catalog, DOMAIN, f"{label}.{DB}", "A")
            assert isinstance(member, Answer)
            assert ip in {record.data for record in member.records}


@given(st.text(max_size=80), st.text(max_size=6))
def test_any_text_is_a_question(name: str, kind: str) -> None:
    for asked in (name, f"{name}.{DOMAIN}", f"{name}.svc.{DOMAIN}", f"{name}.ip6.arpa"):
        found = find_records(CATALOG, DOMAIN, asked, kind)
        assert may_be_ours(DOMAIN, asked) or found == NotOurs()
