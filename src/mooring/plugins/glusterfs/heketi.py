"""heketi, the REST manager of Gluster clusters.

What takes long is answered with an address where its end is told. Each request carries a token of
its own, for one method and one path. The token is signed with a key of any length, as
administrators choose it, so it is made here.
"""

import base64
import hashlib
import hmac
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

import msgspec

from mooring.clock import Clock
from mooring.model.document import Doc
from mooring.plugins.contract import PluginError
from mooring.plugins.rest import Answer, Ask, Request, origin_of

POLL_SECONDS = 0.4
MOST_SECONDS = 120.0  # that something may take; it goes on, and is found at the next try
TOKEN_SECONDS = 300
PENDING = "x-pending"

OK, ACCEPTED, NO_CONTENT, SEE_OTHER, NOT_FOUND = 200, 202, 204, 303, 404

T = TypeVar("T")


class Manager(msgspec.Struct, frozen=True):
    """Where it is, and as whom it is asked."""

    url: str
    user: str
    key: str

    def __repr__(self) -> str:
        return f"Manager(url={self.url!r}, user={self.user!r})"


class HeketiVolume(msgspec.Struct, frozen=True):
    id: str
    name: str
    size: int  # GiB
    cluster: str = ""
    gid: int = 0


class _Ids(msgspec.Struct):
    volumes: tuple[str, ...] = ()


class _Cluster(msgspec.Struct):
    nodes: tuple[str, ...] = ()


class _Hostnames(msgspec.Struct):
    storage: tuple[str, ...] = ()


class _Node(msgspec.Struct):
    hostnames: _Hostnames = msgspec.field(default_factory=_Hostnames)


class Heketi:
    def __init__(self, manager: Manager, ask: Ask, clock: Clock) -> None:
        self._manager = manager
        self._ask = ask
        self._clock = clock

    async def create(self, wish: Doc) -> HeketiVolume:
        return _read(await self._long("POST", "/volumes", wish), HeketiVolume)

    async def find(self, name: str) -> HeketiVolume | None:
        """By asking for every volume: only for one that may have been made before."""
        for id in _read(await self._get("/volumes"), _Ids).volumes:
            volume = await self.find_by_id(id)
            if volume is not None and volume.name == name:
                return volume
        return None

    async def find_by_id(self, id: str) -> HeketiVolume | None:
        answer = await self._send("GET", self._manager.url + f"/volumes/{_word(id)}")
        return None if answer.status == NOT_FOUND else _read(_checked(answer, OK), HeketiVolume)

    async def expand(self, id: str, gib: int) -> HeketiVolume:
        """By so many GiB."""
        path = f"/volumes/{_word(id)}/expand"
        return _read(await self._long("POST", path, {"expand_size": gib}), HeketiVolume)

    async def delete(self, id: str) -> None:
        """Gone already is a success."""
        await self._long("DELETE", f"/volumes/{_word(id)}")

    async def addresses(self, cluster: str) -> tuple[str, ...]:
        """Where the nodes of a cluster serve. Raises: PluginError when there is none."""
        nodes = _read(await self._get(f"/clusters/{_word(cluster)}"), _Cluster).nodes
        found = []
        for id in nodes:
            node = _read(await self._get(f"/nodes/{_word(id)}"), _Node)
            found.append("".join(node.hostnames.storage))
        if not found:
            raise PluginError("no hosts found")
        return tuple(found)

    async def _get(self, path: str) -> Answer:
        return _checked(await self._send("GET", self._manager.url + path), OK)

    async def _long(self, method: str, path: str, wish: Doc | None = None) -> Answer:
        """What is begun by this request, once it has ended."""
        answer = await self._send(method, self._manager.url + path, wish)
        if method == "DELETE" and answer.status == NOT_FOUND:
            return answer
        place = self._here(_checked(answer, ACCEPTED))
        until = self._clock.monotonic() + MOST_SECONDS
        while True:
            answer = await self._send("GET", place)
            if answer.status == SEE_OTHER:
                answer = await self._send("GET", self._here(answer))
            if answer.headers.get(PENDING) != "true":
                return _checked(answer, OK, NO_CONTENT)
            _checked(answer, OK)
            if self._clock.monotonic() >= until:
                raise PluginError(f"heketi is still at work after {MOST_SECONDS:g} s")
            await self._clock.sleep(POLL_SECONDS)

    def _here(self, answer: Answer) -> str:
        """Where the answer sends us, if that is this very server. Raises: PluginError."""
        place = urljoin(self._manager.url, answer.headers.get("location", ""))
        if origin_of("location", place) != origin_of("resturl", self._manager.url):
            raise PluginError("heketi sends us to another server, which is not followed")
        return place

    async def _send(self, method: str, url: str, wish: Doc | None = None) -> Answer:
        headers = {"Authorization": f"bearer {self._token(method, urlsplit(url).path)}"}
        body = b"" if wish is None else msgspec.json.encode(wish)
        if body:
            headers["Content-Type"] = "application/json"
        return await self._ask(Request(method, url, headers, body))

    def _token(self, method: str, path: str) -> str:
        now = int(self._clock.now().timestamp())
        claims: Doc = {
            "iss": self._manager.user,
            "iat": now,
            "exp": now + TOKEN_SECONDS,
            "qsh": hashlib.sha256(f"{method}&{path}".encode()).hexdigest(),
        }
        signed = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part(claims)}"
        proof = hmac.digest(self._manager.key.encode(), signed.encode(), "sha256")
        return f"{signed}.{_base64(proof)}"


def _part(content: Doc) -> str:
    return _base64(msgspec.json.encode(content))


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _word(id: str) -> str:
    """Raises: PluginError for what would lead to another path."""
    if not id.isascii() or not id.isalnum():
        raise PluginError(f"{id[:64]!r} is no id of heketi")
    return id


def _checked(answer: Answer, *wanted: int) -> Answer:
    if answer.status not in wanted:
        raise PluginError(f"heketi answered {answer.status}")
    return answer


def _read(answer: Answer, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer.content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PluginError(f"heketi's answer cannot be read: {error}") from error
