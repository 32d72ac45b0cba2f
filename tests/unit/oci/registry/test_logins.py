"""Which credentials are for which image, and nothing of them in any text."""

import base64
import json

import pytest

from mooring.model.secret_value import SecretValue
from mooring.oci.registry.logins import Keyring, Login, Unreadable, parse


def named(key: str) -> tuple[str, Login]:
    return key, Login(key, SecretValue(b"s3cret"))


@pytest.mark.parametrize(
    ("key", "host", "repository", "is_for"),
    [
        ("a.example", "a.example", "x", True),
        ("https://a.example/v2/", "a.example", "x", True),
        ("a.example", "b.example", "x", False),
        ("a.example", "a.example:5000", "x", False),
        ("a.example:5000", "a.example:5000", "x", True),
        ("*.example", "a.example", "x", True),
        ("*.example", "a.b.example", "x", False),
        ("*.*.example", "a.b.example", "x", True),
        ("a*.example", "ab.example", "x", True),
        ("a.example/team", "a.example", "team/x", True),
        ("a.example/team", "a.example", "other/x", False),
        ("https://index.docker.io/v1/", "docker.io", "library/busybox", True),
        ("docker.io", "docker.io", "library/busybox", True),
        ("docker.io", "quay.io", "x", False),
    ],
)
def test_for_which_images(
    key: str,
    host: str,
    repository: str,
    is_for: bool,  # noqa: FBT001
) -> None:
    assert bool(Keyring([named(key)]).find(host, repository)) is is_for


def test_the_more_exact_ones_come_first() -> None:
    keys = ["*.example", "a.example", "a.example/team", "a.example/team/x"]
    ring = Keyring(named(key) for key in keys)
    found = [one.username for one in ring.find("a.example", "team/x")]
    assert found == ["a.example/team/x", "a.example/team", "a.example", "*.example"]


def test_of_two_for_one_place_the_first_stays_first() -> None:
    first, second = Login("one"), Login("two")
    assert Keyring([("a.b", first), ("a.b", second)]).find("a.b", "x") == (first, second)


def test_a_docker_config() -> None:
    pair = base64.b64encode(b"bob:s3:cret").decode()
    content = json.dumps({"auths": {"a.b": {"auth": pair}}, "credsStore": "desktop"}).encode()
    ((key, login),) = parse(content)
    assert (key, login.username, login.password.reveal()) == ("a.b", "bob", b"s3:cret")
    ((_, login),) = parse(
        b'{"a.b": {"username": "bob", "password": "p", "email": ""}}', is_old=True
    )
    assert (login.username, login.password.reveal()) == ("bob", b"p")
    ((_, login),) = parse(b'{"auths": {"a.b": {"identitytoken": "t"}}}')
    assert login.identity_token == SecretValue(b"t")
    assert parse(b"{}") == []


@pytest.mark.parametrize(
    "content",
    [
        b"s3cret",
        b"[]",
        b'{"auths": {"a.b": {"auth": "s3cret!"}}}',
        b'{"auths": {"a.b": {"auth": "czNjcmV0"}}}',
        b'{"auths": {"a.b": {"username": "s3cret\\n", "password": "x"}}}',
        b"\xff",
    ],
)
def test_what_cannot_be_read_shows_nothing(content: bytes) -> None:
    with pytest.raises(Unreadable) as caught:
        parse(content)
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(caught.value)


def test_nothing_prints_itself() -> None:
    secret = SecretValue(b"s3cret")
    login = Login("bob", secret, secret, secret)
    assert "s3cret" not in f"{login!r} {login} {Keyring([('a.b', login)])!r}"


def test_keyrings_with_the_same_content_are_alike() -> None:
    one, same, other = Keyring([named("a")]), Keyring([named("a")]), Keyring([named("b")])
    assert one.identity() == same.identity() != other.identity()
