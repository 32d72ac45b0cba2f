"""The DNS server on real sockets of this machine, between clients and the host's servers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import dns.flags
import dns.message
import dns.rcode
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mooring.node.names import messages, server
from mooring.node.names.answering import Answering
from mooring.node.names.forward import Forwarder, HostServers
from mooring.node.names.server import DnsServer
from tests.fakes.clock import VirtualClock
from tests.fakes.dns_upstream import OUTSIDE, OUTSIDE_IP, FakeUpstream, cut, running_upstream
from tests.unit.node.names.catalogs import CATALOG, DOMAIN, FakeCatalog, a_service, a_slice, at

Address = tuple[str, int]
WAIT = 30.0  # seconds, on a busy machine
DB = f"db.ns.svc.{DOMAIN}"


class World:
    """A server in front of a fake one, and its client."""

    def __init__(self, upstream: FakeUpstream, outside: Address) -> None:
        self.upstream = upstream
        self.servers: list[Address] = [outside]
        self.catalog = FakeCatalog(CATALOG.services.values(), CATALOG.all_slices)
        self.is_known = True
        self.server = DnsServer("127.0.0.1", 0)
        self.server.bind()
        forwarder = Forwarder(self._find_servers, Random(1))  # noqa: S311  not for secrets
        self.answering = Answering(self.catalog, DOMAIN, forwarder, self._known)

    async def _find_servers(self) -> list[Address]:
        return self.servers

    async def _known(self) -> bool:
        return self.is_known

    async def ask(
        self, name: str, kind: str = "A", *, by_stream: bool = False, **how: int
    ) -> dns.message.Message:
        question = dns.message.make_query(name, kind, **how)  # type: ignore[arg-type]
        send = self.stream if by_stream else self.datagram
        answer = dns.message.from_wire(await send(question.to_wire()))
        assert answer.id == question.id
        assert answer.question == question.question
        return answer

    async def datagram(self, data: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[bytes] = loop.create_future()

        class Client(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, _: object) -> None:
                arrived.set_result(data)

        transport, _ = await loop.create_datagram_endpoint(Client, remote_addr=self.server.address)
        transport.sendto(data)
        try:
            async with asyncio.timeout(WAIT):
                return await arrived
        finally:
            transport.close()

    async def stream(self, data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(*self.server.address)
        try:
            async with asyncio.timeout(WAIT):
                writer.write(len(data).to_bytes(2, "big") + data)
                length = int.from_bytes(await reader.readexactly(2), "big")
                return await reader.readexactly(length)
        finally:
            writer.close()
            await writer.wait_closed()


def texts(answer: dns.message.Message) -> list[str]:
    """Set by set: within one, their order is the server's to choose."""
    return [text for found in answer.answer for text in sorted(item.to_text() for item in found)]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with running_upstream() as (upstream, outside):
        made = World(upstream, outside)
        running = asyncio.create_task(made.server.run(made.answering))
        yield made
        running.cancel()
        await asyncio.wait({running})


@pytest.mark.parametrize("by_stream", [False, True], ids=["datagram", "stream"])
async def test_a_service_and_a_name_outside(world: World, *, by_stream: bool) -> None:
    inside = await world.ask(DB, by_stream=by_stream)
    assert texts(inside) == ["10.0.0.1", "10.0.0.3"]
    assert inside.flags & dns.flags.RA
    assert world.upstream.asked == []
    outside = await world.ask(OUTSIDE, by_stream=by_stream)
    assert texts(outside) == [OUTSIDE_IP]
    assert world.upstream.asked == [OUTSIDE]


async def test_what_is_not_there_is_not_asked_of_others(world: World) -> None:
    absent = await world.ask(f"nobody.ns.svc.{DOMAIN}")
    assert (absent.rcode(), texts(absent)) == (dns.rcode.NXDOMAIN, [])
    other_type = await world.ask(DB, "AAAA")
    assert (other_type.rcode(), texts(other_type)) == (dns.rcode.NOERROR, [])
    assert world.upstream.asked == []


async def test_a_refusal_of_others_is_passed_on(world: World) -> None:
    assert (await world.ask("nobody.example.com")).rcode() == dns.rcode.NXDOMAIN


async def test_ports(world: World) -> None:
    found = await world.ask(f"_sql._tcp.{DB}", "SRV")
    assert f"0 100 5432 db-0.{DB}." in texts(found)
    assert {item.to_text() for each in found.additional for item in each} == {
        "10.0.0.1",
        "10.0.0.3",
    }


async def test_a_name_that_stands_for_one_elsewhere_is_followed(world: World) -> None:
    world.catalog.services[a_service("out").key] = a_service(
        "out", type="ExternalName", selector={}, externalName=OUTSIDE
    )
    assert texts(await world.ask(f"out.ns.svc.{DOMAIN}")) == [OUTSIDE, OUTSIDE_IP]
    world.upstream.mangle = cut
    assert texts(await world.ask(f"out.ns.svc.{DOMAIN}")) == [OUTSIDE, OUTSIDE_IP]


async def test_names_that_stand_for_each_other_come_to_an_end(world: World) -> None:
    for name, other in (("ping", "pong"), ("pong", "ping")):
        service = a_service(
            name, type="ExternalName", selector={}, externalName=f"{other}.ns.svc.{DOMAIN}"
        )
        world.catalog.services[service.key] = service
    found = await world.ask(f"ping.ns.svc.{DOMAIN}")
    assert found.rcode() == dns.rcode.SERVFAIL


async def test_an_answer_too_long_for_a_datagram_is_had_by_stream(world: World) -> None:
    many = a_service("many")
    world.catalog.services[many.key] = many
    ips = [f"10.0.{number // 250}.{number % 250}" for number in range(300)]
    world.catalog.all_slices.append(a_slice(*map(at, ips), service="many"))
    name = f"many.ns.svc.{DOMAIN}"
    cut_off = await world.ask(name)
    assert cut_off.flags & dns.flags.TC
    assert (await world.ask(name, use_edns=0, payload=65535)).flags & dns.flags.TC
    whole = await world.ask(name, by_stream=True)
    assert not whole.flags & dns.flags.TC
    assert set(texts(whole)) == set(ips)


async def test_a_server_that_lies_or_is_away_is_passed_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mooring.node.names.forward.ASK_SECONDS", 0.2)
    async with running_upstream() as (liar, address):

        def lie(made: dns.message.Message) -> bytes:
            made.id ^= 1
            return made.to_wire()

        liar.mangle = lie
        world.servers.insert(0, address)
        assert texts(await world.ask(OUTSIDE)) == [OUTSIDE_IP]
        assert liar.asked == [OUTSIDE]
    world.servers[:] = [address]  # nobody listens there any more
    assert (await world.ask(OUTSIDE)).rcode() == dns.rcode.SERVFAIL
    world.servers.clear()
    assert (await world.ask(OUTSIDE)).rcode() == dns.rcode.SERVFAIL


async def test_where_services_may_not_be_read_all_names_are_asked_of_others(world: World) -> None:
    world.is_known = False
    assert (await world.ask(DB)).rcode() == dns.rcode.NXDOMAIN
    assert world.upstream.asked == [f"{DB}."]


QUERY = dns.message.make_query(DB, "A").to_wire()
HOSTILE = {
    "nothing": b"",
    "too little": QUERY[:11],
    "half a question": QUERY[:20],
    "an answer": QUERY[:2] + b"\x80" + QUERY[3:],
    "a name that points at itself": QUERY[:12] + b"\xc0\x0c\x00\x01\x00\x01",
    "no question": QUERY[:4] + bytes(8),
    "many questions": QUERY[:4] + b"\x00\x09" + bytes(6) + QUERY[12:] * 9,
    "more records than there are": QUERY[:6] + b"\xff\xff" * 3 + QUERY[12:],
    "a notification": QUERY[:2] + b"\x20" + QUERY[3:],
    "another class": QUERY[:-2] + b"\x00\x03",
    "too long": QUERY + bytes(server.MOST_QUESTION),
    "noise": bytes(range(256)),
}


@pytest.mark.parametrize("packet", HOSTILE.values(), ids=HOSTILE)
async def test_hostile_packets_do_not_end_it(world: World, packet: bytes) -> None:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        asyncio.DatagramProtocol, remote_addr=world.server.address
    )
    for _ in range(20):
        transport.sendto(packet)
    reader, writer = await asyncio.open_connection(*world.server.address)
    writer.write((len(packet) % 65536).to_bytes(2, "big") + packet)
    writer.write_eof()
    async with asyncio.timeout(WAIT):
        await reader.read()  # to the end
    writer.close()
    assert texts(await world.ask(DB, by_stream=True)) == ["10.0.0.1", "10.0.0.3"]
    transport.close()
    assert texts(await world.ask(DB)) == ["10.0.0.1", "10.0.0.3"]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=600),
        st.binary(max_size=40).map(lambda tail: QUERY[:12] + tail),
        st.tuples(st.integers(0, len(QUERY) - 1), st.integers(0, 255)).map(
            lambda drawn: QUERY[: drawn[0]] + bytes([drawn[1]]) + QUERY[drawn[0] + 1 :]
        ),
    )
)
def test_any_bytes_are_read(data: bytes) -> None:
    found = messages.read_question(data)
    if isinstance(found, messages.Question):
        assert len(messages.fitted(found, messages.negative(found))) <= messages.MOST_DATAGRAM
        assert messages.positive(found, (), ())[:2] == data[:2]
    elif isinstance(found, messages.Refused):
        assert (found.data[:2], found.data[2] & 0x80) == (data[:2], 0x80)


@pytest.mark.poisons
async def test_a_bug_costs_one_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as bug:
        bug.setattr(world.catalog, "service", broken)
        with pytest.raises(asyncio.IncompleteReadError):
            await world.stream(QUERY)
    assert texts(await world.ask(DB)) == ["10.0.0.1", "10.0.0.3"]


async def test_streams_beyond_the_budget_are_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_STREAMS", 2)
    waiting = [await asyncio.open_connection(*world.server.address) for _ in range(2)]
    assert texts(await world.ask(DB)) == ["10.0.0.1", "10.0.0.3"]  # they are let in by now
    reader, writer = await asyncio.open_connection(*world.server.address)
    async with asyncio.timeout(WAIT):
        assert await reader.read() == b""
    for _, each in (*waiting, (reader, writer)):
        each.close()


async def test_questions_beyond_the_budget_are_dropped(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_AT_ONCE", 0)
    with pytest.raises(asyncio.IncompleteReadError):
        await world.stream(QUERY)


RESOLV_CONF = """
# a comment
nameserver 127.53.0.1
nameserver 192.0.2.53
nameserver nonsense
nameserver fe80::1%eth0
nameserver
search example.com
"""


async def test_the_hosts_servers_without_this_one(tmp_path: Path) -> None:
    path, clock = tmp_path / "resolv.conf", VirtualClock()
    servers = HostServers(path, "127.53.0.1", clock)
    assert await servers.find() == ()
    path.write_text(RESOLV_CONF)
    assert await servers.find() == ()
    await clock.advance(5)
    assert await servers.find() == (("192.0.2.53", 53), ("fe80::1%eth0", 53))
