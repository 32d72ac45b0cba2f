"""One node name, one machine: a node process that starts makes the node's Lease its own.

A second machine under the same name is refused while the first one lives: two of them would fight
over pods and volumes. Which of them lives is seen, not computed from their clocks.
"""

from datetime import datetime

import msgspec

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    ConnectionLost,
    Forbidden,
    NotFound,
    Unauthorized,
    UsageError,
)
from mooring.model.backoff import Backoff
from mooring.model.document import Doc
from mooring.model.keys import Key
from mooring.model.lease import Lease
from mooring.model.node import Node
from mooring.model.timestamp import to_micros
from mooring.node.instance import ANNOTATION, host_of, is_same
from mooring.node.status.heartbeat import LEASE_SECONDS, NAMESPACE, rival_text

LOOK_SECONDS = 2.0
LONG_SILENT = 2.0 * LEASE_SECONDS  # by the clocks of two machines
AGAIN = Backoff(first=0.2, cap=5.0)

_log = log.get("mooring.node.status")


class ClaimView(msgspec.Struct, frozen=True):
    """What was seen of the Lease of a node's name."""

    own: str  # instance
    holder: str = ""  # instance; empty: nobody, or one that does not say
    was_renewed: bool = False  # since it was first looked at
    silent_for: float = 0.0  # seconds since then
    age: float = 0.0  # of its last renewal, by the clocks of two machines
    has_left: bool = False  # its node has said goodbye


class Take(msgspec.Struct, frozen=True):
    because: str


class Wait(msgspec.Struct, frozen=True):
    because: str


class Refuse(msgspec.Struct, frozen=True):
    because: str


def decide_claim(view: ClaimView) -> Take | Wait | Refuse:
    if not view.holder:
        return Take("nobody has it")
    if is_same(view.holder, view.own):
        return Take("it is this node's own")
    if view.has_left:
        return Take("the node has left the machine that had it")
    if view.was_renewed:
        return Refuse("another machine renews it")
    if view.age >= LONG_SILENT:
        return Take(f"it was not renewed for {view.age:.0f} s")
    if view.silent_for >= LEASE_SECONDS:
        return Take(f"it was not renewed for {LEASE_SECONDS} s")
    return Wait("another machine had it a moment ago")


async def claim_name(client: Client, clock: Clock, name: str, instance: str) -> None:
    """After: the Lease of the node `name` says that this instance has it.

    Waits for the API server, and up to 40 s for a machine that may be dead. Raises: UsageError
    when another machine is that node, or the server does not take the node's credentials.
    """
    key = Key(NAMESPACE, name)
    first: Lease | None = None
    began, failures, is_told = clock.monotonic(), 0, False
    while True:
        try:
            lease = await _find(client, key)
            if first is None or (lease and holder_of(lease) != holder_of(first)):
                first, began = lease, clock.monotonic()
            view = await _look(client, clock, instance, (first, lease), began)
            match decide_claim(view):
                case Take():
                    await _write(client, clock, key, lease, instance)
                    return
                case Refuse():
                    raise UsageError(rival_text(name, view.holder))
                case Wait(because):
                    if not is_told:
                        seconds = f"up to {LEASE_SECONDS} s"
                        host = host_of(view.holder)
                        _log.warning(
                            "waiting", node=name, host=host, seconds=seconds, because=because
                        )
                    is_told = True
            pause, failures = LOOK_SECONDS, 0
        except Unauthorized as error:
            raise UsageError(
                f"the API server does not take the credentials of the node {name} (any more): make "
                f"a join token with `mooring token create --node {name}` where it runs"
            ) from error
        except Forbidden as error:
            _log.warning("the node's lease is not checked", node=name, because=error)
            return
        except (ApiError, ConnectionLost) as error:
            failures += 1
            is_race = isinstance(error, Conflict | AlreadyExists)
            if not is_race:
                _log.warning("waiting for the API server", node=name, because=error)
            pause = AGAIN.delay(failures)
        await clock.sleep(pause)


async def _look(
    client: Client,
    clock: Clock,
    instance: str,
    leases: tuple[Lease | None, Lease | None],
    began: float,
) -> ClaimView:
    first, lease = leases
    holder = holder_of(lease) if lease else ""
    if first is None or lease is None or not holder or is_same(holder, instance):
        return ClaimView(instance, holder)
    return ClaimView(
        instance,
        holder,
        was_renewed=lease.spec.renew_time != first.spec.renew_time,
        silent_for=clock.monotonic() - began,
        age=_age(lease, clock.now()),
        has_left=await _has_left(client, lease.name),
    )


async def _find(client: Client, key: Key) -> Lease | None:
    try:
        return await client.get(Lease, key)
    except NotFound:
        return None


async def _has_left(client: Client, name: str) -> bool:
    try:
        return (await client.get(Node, Key("", name))).has_left
    except NotFound:
        return False


async def _write(
    client: Client, clock: Clock, key: Key, lease: Lease | None, instance: str
) -> None:
    """Raises: Conflict or AlreadyExists when somebody was faster."""
    spec: Doc = {
        "holderIdentity": key.name,
        "leaseDurationSeconds": LEASE_SECONDS,
        "renewTime": to_micros(clock.now()),
    }
    mark = {"annotations": {ANNOTATION: instance}}
    if lease is None:
        metadata: Doc = {"name": key.name, "namespace": key.namespace} | mark
        await client.create(Lease, {"metadata": metadata, "spec": spec})
    else:
        await client.patch(lease, {"metadata": mark, "spec": spec})


def holder_of(lease: Lease) -> str:
    """The instance that has it; empty: nobody, or one that does not say."""
    return lease.metadata.annotations.get(ANNOTATION, "")


def _age(lease: Lease, now: datetime) -> float:
    try:
        return (now - datetime.fromisoformat(lease.spec.renew_time or "")).total_seconds()
    except (ValueError, TypeError):
        return 0.0
