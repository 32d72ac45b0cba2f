"""What every verb is given: the backend (store, kinds, clock, ...), and one call of a client."""

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from mooring.apiserver.admission.chain import Chain
from mooring.apiserver.admission.judging import Judging
from mooring.apiserver.auth.user import User
from mooring.apiserver.documents.frames import Frames
from mooring.apiserver.documents.objects import Objects
from mooring.apiserver.kinds.contract import Context, Kind
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.limits.turns import Turns
from mooring.apiserver.policies.mutations import Mutations
from mooring.apiserver.request.message import Answer, Request
from mooring.apiserver.request.negotiation import Form
from mooring.apiserver.request.routes import Route
from mooring.apiserver.schema.contract import Schema
from mooring.apiserver.store.contract import Store
from mooring.apiserver.verbs.charging import Charging
from mooring.apiserver.webhooks.conversions import Conversions
from mooring.apiserver.webhooks.webhooks import Webhooks
from mooring.clock import Clock

_VARIANTS = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))  # of UUIDs: two bits are fixed


@dataclass(frozen=True, slots=True)
class Backend:
    """Built once, never changed."""

    store: Store
    kinds: Kinds
    schema: Schema
    objects: Objects
    admission: Chain
    clock: Clock
    rng: random.Random
    frames: Frames
    watch_events: Callable[[Kind, int], None]  # counts events sent, for /metrics
    turns: Turns
    mutations: Mutations
    webhooks: Webhooks
    conversions: Conversions
    charging: Charging
    judging: Judging

    def now(self) -> str:
        """RFC 3339 in UTC, whole seconds."""
        now = self.clock.now()
        return _spelled(now.year, now.month, now.day, now.hour, now.minute, now.second)

    def context(self, user: User) -> Context:
        return Context(now=self.now(), user=user.name)

    def new_uid(self) -> str:
        """A random UUID (version 4)."""
        text = f"{self.rng.getrandbits(128):032x}"
        variant = _VARIANTS[text[16]]
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


@lru_cache(maxsize=2)
def _spelled(*moment: int) -> str:  # kept for its second: thousands of writes ask for it
    return "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z".format(*moment)


class Call(msgspec.Struct, frozen=True):
    """One parsed request on a resource: its user, verb, kind and options."""

    request: Request
    route: Route
    kind: Kind
    user: User
    form: Form

    @property
    def namespace(self) -> str:
        return self.route.namespace if self.kind.namespaced else ""

    @property
    def name(self) -> str:
        return self.route.name

    @property
    def store_name(self) -> str:
        return f"{self.route.namespace}/{self.name}" if self.kind.namespaced else self.name


Verb = Callable[[Backend, Call], Awaitable[Answer]]

SubresourceVerbs = Mapping[tuple[str, str], Mapping[str, Verb]]
"""What serves a subresource, by the kind's plural and the subresource's name, then by method."""
