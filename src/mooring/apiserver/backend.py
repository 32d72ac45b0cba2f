"""What every verb works with: the store, the kinds, time and chance. Built once, never changed."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from mooring.apiserver.admission.chain import Chain
from mooring.apiserver.auth.user import User
from mooring.apiserver.frames import Frames
from mooring.apiserver.http.message import Request
from mooring.apiserver.kinds.contract import Context, Kind
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.negotiation import Form
from mooring.apiserver.objects import Objects
from mooring.apiserver.routes import Route
from mooring.apiserver.schema.contract import Schema
from mooring.apiserver.store.contract import Store
from mooring.clock import Clock, to_seconds

_UUID_MASK = (0xF000 << 64) | (0xC000 << 48)  # the bits that say version and variant
_UUID_4 = (0x4000 << 64) | (0x8000 << 48)


@dataclass(frozen=True, slots=True)
class Backend:
    store: Store
    kinds: Kinds
    schema: Schema
    objects: Objects
    admission: Chain
    clock: Clock
    chance: random.Random
    frames: Frames
    watch_events: Callable[[Kind, int], None]  # counts events sent, for /metrics

    def now(self) -> str:
        return to_seconds(self.clock.now())

    def context(self, user: User) -> Context:
        return Context(now=self.now(), user=user.name)

    def new_uid(self) -> str:
        """A random UUID (version 4)."""
        bits = self.chance.getrandbits(128) & ~_UUID_MASK | _UUID_4
        text = f"{bits:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class Call(msgspec.Struct, frozen=True):
    """One request on a resource, understood: who asks what of which kind."""

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
