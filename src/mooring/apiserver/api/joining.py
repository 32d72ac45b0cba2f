"""POST /join: a machine with a join token gets the credentials of its node.

The token is the request's bearer token. `attempt` is a random text of the machine's, with which it
may ask once more when the answer was lost.
"""

import msgspec

from mooring import log
from mooring.apiserver.auth.join_tokens import Declined, Granted
from mooring.apiserver.auth.tokens import RoleTokens
from mooring.apiserver.auth.user import User, find_join_token
from mooring.apiserver.request.message import Request, Response
from mooring.clock import Clock
from mooring.errors import BadRequest, Forbidden, HostError, InternalError, UsageError
from mooring.host.blocking import in_thread

_SHORTEST = 20  # characters of an attempt, so that nobody guesses it

_log = log.get("mooring.tokens")


class JoinRequest(msgspec.Struct, frozen=True):
    attempt: str
    node: str = ""  # empty: the one that the token is for

    def __repr__(self) -> str:
        return f"JoinRequest(node={self.node!r})"


class Joining:
    def __init__(self, tokens: RoleTokens, clock: Clock) -> None:
        self._tokens = tokens
        self._clock = clock

    async def join(self, request: Request, user: User) -> Response:
        """Raises: BadRequest, Forbidden with the reason, InternalError."""
        token_id = find_join_token(user)
        if token_id is None:
            raise Forbidden("only a join token joins: see `mooring token create --help`")
        asked = _read(request.body)
        try:
            granted, token = await in_thread(self._join, token_id, asked)
        except (UsageError, HostError, OSError) as error:
            _log.warning("no machine can join", because=error)
            raise InternalError("the server's tokens cannot be written: see its log") from error
        _log.info("a machine joined", node=granted.kept.node, join_token=token_id)
        answer = msgspec.json.encode({"node": granted.kept.node, "token": token})
        return Response(200, answer, headers=(("Cache-Control", "no-store"),))

    def _join(self, token_id: str, asked: JoinRequest) -> tuple[Granted, str]:
        """Reads and writes the disk. The node's token is made last: a next try finds it again."""
        now = self._clock.now()
        verdict = self._tokens.joins.join(token_id, asked.node, asked.attempt, now)
        if isinstance(verdict, Declined):
            raise Forbidden(verdict.because)
        return verdict, self._tokens.node_token(verdict.kept.node).reveal()


def _read(body: bytes) -> JoinRequest:
    try:
        asked = msgspec.json.decode(body, type=JoinRequest)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise BadRequest("a machine joins with an object of `attempt` and `node`") from None
    if len(asked.attempt) < _SHORTEST:
        raise BadRequest(f"`attempt` is a random text of {_SHORTEST} characters or more")
    return asked
