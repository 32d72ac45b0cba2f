"""DNS messages: questions read from untrusted bytes, answers written. It alone imports dnspython.

dnspython takes a moment to import: nothing imports this module before a DNS server runs.
"""

import struct
from collections.abc import Iterable

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import msgspec

from mooring.node.names.records import Record

TTL_SECONDS = 5
HEADER_BYTES = 12
LEAST_DATAGRAM = 512  # that every client takes
MOST_DATAGRAM = 1232  # that passes every network in one piece
MOST_MESSAGE = 65535
_UNREADABLE = (dns.exception.DNSException, ValueError, IndexError, struct.error)
_IS_ANSWER = 0x80  # in the third byte


class Question(msgspec.Struct, frozen=True):
    name: str  # without a dot at its end
    kind: str  # of records: A, SRV, ...
    message: dns.message.Message

    @property
    def datagram_bytes(self) -> int:
        """As long an answer the client takes without a stream."""
        if self.message.edns < 0:
            return LEAST_DATAGRAM
        return max(LEAST_DATAGRAM, min(self.message.payload, MOST_DATAGRAM))


class Refused(msgspec.Struct, frozen=True):
    """No question that is answered; what to send back."""

    data: bytes


def read_question(data: bytes) -> Question | Refused | None:
    """None: nothing may be sent back, or two servers would answer each other for ever."""
    if len(data) < HEADER_BYTES or data[2] & _IS_ANSWER:
        return None
    try:
        message = dns.message.from_wire(data)
    except _UNREADABLE:
        return Refused(_bare_refusal(data, dns.rcode.FORMERR))
    if message.opcode() != dns.opcode.QUERY:
        return Refused(_bare_refusal(data, dns.rcode.NOTIMP))
    if len(message.question) != 1:
        return Refused(_bare_refusal(data, dns.rcode.FORMERR))
    asked = message.question[0]
    if asked.rdclass != dns.rdataclass.IN:
        return Refused(_bare_refusal(data, dns.rcode.REFUSED))
    name = asked.name.to_text(omit_final_dot=True)
    return Question(name, dns.rdatatype.to_text(asked.rdtype), message)


def positive(question: Question, records: Iterable[Record], extra: Iterable[Record]) -> bytes:
    """As it goes over a stream. Without records: the name is there, but none of this type."""
    message = _response(question, dns.rcode.NOERROR)
    message.answer.extend(_sets(records))
    message.additional.extend(_sets(extra))
    return message.to_wire(max_size=MOST_MESSAGE, prefer_truncation=True)


def negative(question: Question) -> bytes:
    """There is no such name."""
    return _response(question, dns.rcode.NXDOMAIN).to_wire()


def failed(question: Question) -> bytes:
    """Nobody knows, for now."""
    return _response(question, dns.rcode.SERVFAIL).to_wire()


def fitted(question: Question, data: bytes) -> bytes:
    """For a datagram: a longer answer is cut and says so, so that clients ask by stream."""
    if len(data) <= question.datagram_bytes:
        return data
    message = _response(question, dns.rcode.NOERROR)
    message.flags |= dns.flags.TC
    return message.to_wire()


def question_for(name: str, kind: str) -> bytes:
    """A question of our own."""
    made = dns.message.make_query(name, kind, use_edns=0, payload=MOST_DATAGRAM)
    return made.to_wire()


def followed(question: Question, aliases: Iterable[Record], answer: bytes | None) -> bytes:
    """The aliases, and what others know of the name that the last one stands for."""
    message = _response(question, dns.rcode.NOERROR)
    message.answer.extend(_sets(aliases))
    try:
        found = None if answer is None else dns.message.from_wire(answer)
    except _UNREADABLE:
        found = None
    if found is None:
        message.set_rcode(dns.rcode.SERVFAIL)
    else:
        message.set_rcode(found.rcode())
        message.answer.extend(found.answer)
    return message.to_wire(max_size=MOST_MESSAGE, prefer_truncation=True)


def _response(question: Question, code: dns.rcode.Rcode) -> dns.message.Message:
    message = dns.message.make_response(question.message, recursion_available=True)
    message.set_rcode(code)
    return message


def _sets(records: Iterable[Record]) -> list[dns.rrset.RRset]:
    found: dict[tuple[str, str], list[str]] = {}
    for record in records:
        found.setdefault((f"{record.name}.", record.type.value), []).append(record.data)
    return [
        dns.rrset.from_text_list(name, TTL_SECONDS, dns.rdataclass.IN, kind, data)
        for (name, kind), data in found.items()
    ]


def _bare_refusal(data: bytes, code: dns.rcode.Rcode) -> bytes:
    """Of a question that cannot be repeated: its number, and why not."""
    opcode = data[2] & 0x78
    return data[:2] + bytes((_IS_ANSWER | opcode, int(code))) + bytes(8)
