"""Credentials for registries: from `imagePullSecrets`, or a file that `docker login` wrote. Pure.

Which of them are for an image is decided as Kubernetes does: by host, in which `*` stands for part
of a name between dots, and by the beginning of the path; the more exact ones first.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import msgspec

from mooring.model.secret_value import SecretValue
from mooring.oci.reference import DOCKER

JSON_TYPE = "kubernetes.io/dockerconfigjson"
OLD_TYPE = "kubernetes.io/dockercfg"
KEYS = {JSON_TYPE: ".dockerconfigjson", OLD_TYPE: ".dockercfg"}
_DOCKER_HOSTS = frozenset(("index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"))


class Login(msgspec.Struct, frozen=True):
    """What a registry is shown; nothing of it prints itself."""

    username: str = ""
    password: SecretValue = SecretValue(b"")
    identity_token: SecretValue | None = None  # traded for tokens, instead of a password
    registry_token: SecretValue | None = None  # sent as it is


class Unreadable(Exception):
    """A text that holds no credentials; says why, and shows nothing of it."""


class _Entry(msgspec.Struct, frozen=True):
    auth: str | None = None
    username: str | None = None
    password: str | None = None
    identitytoken: str | None = None
    registrytoken: str | None = None


class _ConfigJson(msgspec.Struct, frozen=True):
    auths: dict[str, _Entry] | None = None


class Keyring:
    """Credentials by what they are for."""

    def __init__(self, entries: Iterable[tuple[str, Login]] = ()) -> None:
        """`entries` are of the more important first."""
        named = [(_place(key), login) for key, login in entries]
        # sorted() is stable: of two for one place the first given stays first
        self._entries = sorted(named, key=lambda entry: entry[0], reverse=True)

    def find(self, host: str, repository: str) -> tuple[Login, ...]:
        """All that may be for this image, the most exact first."""
        image = f"{_known_host(host)}/{repository}"
        found = [login for place, login in self._entries if _is_for(place, image)]
        return tuple(dict.fromkeys(found))

    def identity(self) -> int:
        """Equal for keyrings with the same content, in one process."""
        return hash(tuple(self._entries))


def parse(content: bytes, *, is_old: bool = False) -> list[tuple[str, Login]]:
    """What is in a docker config.json, or in the older file without `auths`. Raises: Unreadable."""
    try:
        if is_old:
            found: Mapping[str, _Entry] = msgspec.json.decode(content, type=dict[str, _Entry])
        else:
            found = msgspec.json.decode(content, type=_ConfigJson).auths or {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Unreadable("it is no JSON of the kind that `docker login` writes") from None
    return [(key, _login(key, entry)) for key, entry in found.items()]


def _login(key: str, entry: _Entry) -> Login:
    username, password = entry.username or "", entry.password or ""
    if entry.auth:
        try:
            decoded = base64.b64decode(entry.auth, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise Unreadable(f"the auth of {_host_of(key)!r} is no base64 of text") from None
        username, colon, password = decoded.rstrip("\0").partition(":")
        if not colon:
            raise Unreadable(f"the auth of {_host_of(key)!r} has no colon in it")
    if any(not character.isprintable() for character in username + password):
        raise Unreadable(f"the credentials of {_host_of(key)!r} have control characters")
    return Login(
        username,
        SecretValue(password.encode()),
        _secret(entry.identitytoken),
        _secret(entry.registrytoken),
    )


def _secret(text: str | None) -> SecretValue | None:
    return SecretValue(text.encode()) if text else None


def _host_of(key: str) -> str:
    return _place(key).partition("/")[0]


def _place(key: str) -> str:
    """Host and path, without scheme and API version."""
    bare = key.partition("://")[2] if "://" in key else key
    host, _, path = bare.partition("/")
    path = path.strip("/")
    if path in ("v1", "v2"):
        path = ""
    host = _known_host(host)
    return f"{host}/{path}" if path else host


def _known_host(host: str) -> str:
    return DOCKER if host in _DOCKER_HOSTS else host


def _is_for(place: str, image: str) -> bool:
    host, _, path = place.partition("/")
    its_host, _, its_path = image.partition("/")
    name, _, port = host.partition(":")
    its_name, _, its_port = its_host.partition(":")
    if port != its_port:
        return False
    parts, its_parts = name.split("."), its_name.split(".")
    if len(parts) != len(its_parts):
        return False
    if not all(map(fnmatchcase, its_parts, parts)):
        return False
    return its_path.startswith(path)
