"""`WWW-Authenticate`, as registries write it, and as nobody should."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.oci.registry.challenge import Challenge, choose, parse

BEARER = Challenge("bearer", {"realm": "https://a.example/token", "service": "a, b", "scope": "s"})


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ('Bearer realm="https://a.example/token",service="a, b",scope="s"', (BEARER,)),
        ('bearer Realm="https://a.example/token" , service="a, b", scope=s', (BEARER,)),
        ('Basic realm="here"', (Challenge("basic", {"realm": "here"}),)),
        (
            'Basic realm="here", Bearer realm="https://a.example/token",service="a, b",scope="s"',
            (Challenge("basic", {"realm": "here"}), BEARER),
        ),
        (r'Basic realm="a \"b\""', (Challenge("basic", {"realm": 'a "b"'}),)),
        ("Negotiate", (Challenge("negotiate"),)),
        ("", ()),
        ('"', ()),
    ],
)
def test_parsed(header: str, found: tuple[Challenge, ...]) -> None:
    assert parse([header]) == found


@pytest.mark.parametrize(
    ("found", "has_login", "chosen"),
    [
        ((Challenge("basic"), BEARER), True, BEARER),
        ((Challenge("basic"), BEARER), False, BEARER),
        ((Challenge("basic"),), True, Challenge("basic")),
        ((Challenge("basic"),), False, None),
        ((Challenge("bearer"),), True, None),
        ((Challenge("negotiate"),), True, None),
        ((), True, None),
    ],
)
def test_chosen(
    found: tuple[Challenge, ...],
    has_login: bool,  # noqa: FBT001
    chosen: Challenge | None,
) -> None:
    assert choose(found, has_login=has_login) == chosen


@given(st.text(max_size=200))
def test_whatever_it_says_it_is_read(header: str) -> None:
    parse([header, header])
