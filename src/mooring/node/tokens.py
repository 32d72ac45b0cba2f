"""Tokens of pods' service accounts: the same one until it grows old, then another.

A token is old when it is older than a day, or when less than a fifth of its life is left. A few
seconds of jitter keep pods that started together from asking together.
"""

import json
from datetime import datetime
from random import Random

import msgspec

from mooring import log
from mooring.client.contract import Action, Client
from mooring.clock import Clock
from mooring.errors import ApiError, ConnectionLost
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.secret_value import SecretValue
from mooring.model.service_account import ServiceAccount
from mooring.node.reads import SharedReads
from mooring.plugins.contract import NotStarted
from mooring.plugins.volume_host import Token, TokenWish

REQUESTS_AT_ONCE = 16
OLDEST_SECONDS = 24 * 3600
MOST_JITTER_SECONDS = 10
LEEWAY_SECONDS = 60  # that the server gives a token which is not valid yet

_log = log.get("mooring.node.tokens")


class Tokens:
    def __init__(self, client: Client, clock: Clock, rng: Random) -> None:
        self._client = client
        self._clock = clock
        self._rng = rng
        self._kept: dict[TokenWish, _Kept] = {}
        self._requests: SharedReads[_Kept] = SharedReads(REQUESTS_AT_ONCE)

    async def get(self, wish: TokenWish) -> Token:
        """One that is good for a while.

        Raises: NotStarted when there is none, and none can be had.
        """
        known = self._kept.get(wish)
        if known is not None and not self._is_old(known):
            return known.token
        try:
            fresh = await self._requests.read(wish, lambda: self._request(wish))
        except (ApiError, ConnectionLost) as error:
            if known is None:
                raise NotStarted(f"failed to fetch token: {error}") from error
            if self._now() > known.token.expires_at:
                text = f"token {_shown(wish)} expired and refresh failed: {error}"
                raise NotStarted(text) from error
            _log.warning("token kept for longer", token=_shown(wish), because=error)
            return known.token
        self._kept[wish] = fresh
        return fresh.token

    def forget(self, pod_uid: str) -> None:
        """The pod is gone, and with it what its tokens are bound to."""
        for wish in [wish for wish in self._kept if wish.pod_uid == pod_uid]:
            del self._kept[wish]

    async def _request(self, wish: TokenWish) -> "_Kept":
        answer = await self._client.post(
            ServiceAccount, wish.account, Action.TOKEN, _document(wish)
        )
        status = answer["status"]
        expires_at = datetime.fromisoformat(status["expirationTimestamp"]).timestamp()
        token = Token(SecretValue(status["token"].encode()), expires_at)
        return _Kept(token, answer.get("spec", {}).get("expirationSeconds") or wish.seconds)

    def _is_old(self, kept: "_Kept") -> bool:
        now, jitter = self._now(), self._rng.randrange(MOST_JITTER_SECONDS)
        expires_at = kept.token.expires_at
        return (
            now > expires_at - kept.lifetime + OLDEST_SECONDS - jitter
            or now > expires_at - kept.lifetime * 20 // 100 - jitter
            or now < expires_at - kept.lifetime - LEEWAY_SECONDS  # the clock was set back
        )

    def _now(self) -> float:
        return self._clock.now().timestamp()


class _Kept(msgspec.Struct, frozen=True):
    token: Token
    lifetime: int  # seconds, as the server granted them


def _document(wish: TokenWish) -> Doc:
    spec: Doc = {
        "expirationSeconds": wish.seconds,
        "boundObjectRef": {
            "kind": "Pod",
            "apiVersion": "v1",
            "name": wish.pod_name,
            "uid": wish.pod_uid,
        },
    }
    if wish.audiences:
        spec["audiences"] = list(wish.audiences)
    return {"spec": spec}


def _shown(wish: TokenWish) -> str:
    """A token request as Kubernetes' messages spell it; nothing in it is a secret."""
    audiences = "[]string(nil)"
    if wish.audiences:
        audiences = f"[]string{{{', '.join(map(json.dumps, wish.audiences))}}}"
    bound = (
        f'v1.BoundObjectReference{{Kind:"Pod", APIVersion:"v1", Name:"{wish.pod_name}", '
        f'UID:"{wish.pod_uid}"}}'
    )
    account: Key = wish.account
    return f'"{account.name}"/"{account.namespace}"/{audiences}/{wish.seconds}/{bound}/""'
