"""Formats of strings, as Kubernetes reads them."""

import pytest

from mooring.apiserver.structural.formats import CHECKS, check_of, format_of

UUID4 = "a987fbc9-4bed-4078-8f07-9141ba07c9f3"

GOOD = {
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "uri": [
        "http://example.com/a?b#c",
        "/a/b",
        "urn:x",
        "https://u:p@[::1]:80/x",
        "*",
        "file:///x",
    ],
    "email": ["a@example.com", "A B <a.b@example.com>", '"a b"@example.com', "<a@b>"],
    "hostname": ["a", "example.com", "a-b", "a1.example.london", "é.com", "my-host.example.com"],
    "ipv4": ["10.0.0.1", "010.000.0.1", "::ffff:1.2.3.4"],
    "ipv6": ["::1", "fe80::1", "::ffff:1.2.3.4"],
    "cidr": ["10.0.0.0/8", "10.1.2.3/32", "fd00::/64", "010.0.0.0/8"],
    "mac": ["01:23:45:67:89:ab", "01-23-45-67-89-AB", "0123.4567.89ab", "01:23:45:67:89:ab:cd:ef"],
    "uuid": [UUID4, UUID4.upper(), UUID4.replace("-", "")],
    "uuid3": ["a987fbc9-4bed-3078-cf07-9141ba07c9f3"],
    "uuid4": [UUID4],
    "uuid5": ["a987fbc9-4bed-5078-8f07-9141ba07c9f3"],
    "isbn": ["0321751043", "978-0321751041"],
    "isbn10": ["0321751043", "0-8044-2957-X"],
    "isbn13": ["978-0321751041"],
    "creditcard": ["4111-1111-1111-1111", "5555555555554444"],
    "ssn": ["111-11-1111", "111 11 1111"],
    "hexcolor": ["#FFFFFF", "fff"],
    "rgbcolor": ["rgb(0, 255,31)"],
    "byte": ["aGk=", "YWI=", "YWJj"],
    "password": ["", "anything"],
    "date": ["2026-02-28", "2024-02-29", "0000-01-01"],
    "duration": ["1h30m", "-1.5s", "0", "3 days", "22 ns", "1week", "5 Minutes", ".5h"],
    "datetime": ["2014-12-15T19:30:20.000Z", "2026-02-28t23:59:59z", "2026-02-28T10:00:00+01:00"],
    "k8sshortname": ["a", "a-b", "1"],
    "k8slongname": ["a.b-c", "a" * 253],
}
BAD = {
    "bsonobjectid": ["507f", "g" * 24],
    "uri": ["", "a/b", "http://a b/", "http://x/%zz", "http://x:port/", "/a\n"],
    "email": ["", "a", "@b", "a@", "a@b@c", "A <a@b", "a b@c", "a\n@b"],
    "hostname": [
        "",
        "-a",
        "my-host",
        "a..b",
        "a_b.com",
        "x" * 64,
        "a.b1",
        "a.1",
        "x." * 127 + "com",
    ],
    "ipv4": ["", "1.2.3", "256.1.1.1", "::1", "1.2.3.4.5", "a.b.c.d"],
    "ipv6": ["", "1.2.3.4", "fe80::1%eth0", ":::"],
    "cidr": ["10.0.0.0", "10.0.0.0/33", "fd00::/129", "10.0.0.0/x", "/8", "10.0.0.0/-1"],
    "mac": ["", "01:23:45", "01:23-45:67:89:ab", "0123.4567"],
    "uuid": ["", UUID4 + "0", UUID4 + "\n"],
    "uuid3": [UUID4],
    "uuid4": ["a987fbc9-4bed-4078-cf07-9141ba07c9f3"],
    "uuid5": [UUID4],
    "isbn": ["0321751044"],
    "isbn10": ["978-0321751041"],
    "isbn13": ["978-0321751042", "0321751043"],
    "creditcard": ["4111111111111112", "1"],
    "ssn": ["", "111111111", "1111-1-1111"],
    "hexcolor": ["#ff", "#gggggg"],
    "rgbcolor": ["rgb(256,0,0)", "rgb(0,0)"],
    "byte": ["", "a", "a===", "YW\n="],
    "date": ["2026-02-29", "2026-13-01", "2026-1-01", "26-01-01", "2026-02-28T"],
    "duration": ["", "x", "5", "1 fortnight", "9" * 30 + " days", "1" * 600],
    "datetime": [
        "",
        "2026-02-28",
        "2026-02-28T24:00:00Z",
        "2026-02-28T10:00:60Z",
        "2026-02-28 10:00:00Z",
        "2026-02-28T10:00:00",
    ],
    "k8sshortname": ["", "A", "-a", "a.b", "a" * 64],
    "k8slongname": ["", "a..b", "A", "a" * 254],
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in GOOD.items() for t in texts])
def test_it_is_of_the_format(name: str, text: str) -> None:
    assert CHECKS[name](text)


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in BAD.items() for t in texts])
def test_it_is_not_of_the_format(name: str, text: str) -> None:
    assert not CHECKS[name](text)


def test_every_format_is_tried() -> None:
    assert GOOD.keys() == CHECKS.keys()
    assert CHECKS.keys() - BAD.keys() == {"password"}


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_a_long_text_is_looked_at_in_no_time(name: str) -> None:
    """The limit of time of tests is what fails here."""
    for part in ("1", "a", ".", "-", "1 ", "a.", "AAAA", "%", "@", '"', "0:", "\\", "<", "a "):
        CHECKS[name](part * 200_000)
        CHECKS[name]("http://" + part * 100_000 + "\n")


def test_hyphens_in_names_of_formats_are_ignored_and_numbers_have_formats_of_their_own() -> None:
    assert format_of({"type": "string", "format": "date-time"}) == "date-time"
    assert check_of({"type": "string", "format": "u-u-i-d"}) is CHECKS["uuid"]
    assert format_of({"type": "integer", "format": "int32"}) == "int32"
    assert format_of({"type": "integer", "format": "date"}) == ""
    assert format_of({"type": "number", "format": "double"}) == "double"
    assert format_of({"type": "object", "format": "date"}) == ""
    assert format_of({"format": "date"}) == "date"
    assert check_of({"type": "string", "format": "semver"}) is None
