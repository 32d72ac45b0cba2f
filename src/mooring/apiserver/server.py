"""The API server put together: store, kinds, access, HTTP, and its own controllers."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec

from mooring import log
from mooring.apiserver.admission.chain import Chain
from mooring.apiserver.admission.judging import Judging
from mooring.apiserver.api.access import Access
from mooring.apiserver.api.api import Api
from mooring.apiserver.api.discovery import Discovery
from mooring.apiserver.api.health import Health
from mooring.apiserver.api.joining import Joining
from mooring.apiserver.api.metrics import Metrics
from mooring.apiserver.api.pages import Pages
from mooring.apiserver.auth.authenticate import Authenticator
from mooring.apiserver.auth.authorize import Authorizer
from mooring.apiserver.auth.client_certificate import NodeCallers
from mooring.apiserver.auth.pki import Pki, open_pki, server_context
from mooring.apiserver.auth.renewal import Renewal
from mooring.apiserver.auth.service_account_tokens import ServiceAccountTokens
from mooring.apiserver.auth.stored_roles import StoredRoles
from mooring.apiserver.auth.tokens import RoleTokens, open_role_tokens
from mooring.apiserver.documents.following import Follower
from mooring.apiserver.documents.frames import Frames
from mooring.apiserver.documents.node_index import NodeIndex
from mooring.apiserver.documents.objects import Objects
from mooring.apiserver.http.server import Server
from mooring.apiserver.http.writers import frame
from mooring.apiserver.kinds.access_rules import GROUP as RBAC
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.registry import Kinds, builtin
from mooring.apiserver.lifecycle.access_roles.bootstrap import create_roles
from mooring.apiserver.lifecycle.access_roles.run import RoleAggregation
from mooring.apiserver.lifecycle.definitions.run import Definitions
from mooring.apiserver.lifecycle.event_expiry import EventExpiry
from mooring.apiserver.lifecycle.garbage_collector.run import GarbageCollector
from mooring.apiserver.lifecycle.housekeeper import HOUSEKEEPER
from mooring.apiserver.lifecycle.kubernetes_service import announce
from mooring.apiserver.lifecycle.namespace_controller.run import Namespaces
from mooring.apiserver.lifecycle.quota_status import QuotaStatus
from mooring.apiserver.lifecycle.shared_keys import check_shared_keys
from mooring.apiserver.lifecycle.storage_migration.run import StorageMigrations
from mooring.apiserver.lifecycle.system_priority_classes import create_system_priority_classes
from mooring.apiserver.limits.turns import Turns
from mooring.apiserver.node_proxy.dial import Nodes
from mooring.apiserver.node_proxy.http_proxy import HttpProxy
from mooring.apiserver.node_proxy.pods import PodProxy
from mooring.apiserver.openapi.serving import OpenApi
from mooring.apiserver.policies.mutations import Mutations
from mooring.apiserver.policies.policies import Policies
from mooring.apiserver.schema.parse import load
from mooring.apiserver.store.contract import Store
from mooring.apiserver.store.sqlite import SqliteStore
from mooring.apiserver.verbs.backend import Backend
from mooring.apiserver.verbs.charging import Charging
from mooring.apiserver.verbs.in_process_writer import InProcessWriter
from mooring.apiserver.webhooks.asking import Asking
from mooring.apiserver.webhooks.conversions import Conversions
from mooring.apiserver.webhooks.webhooks import Webhooks
from mooring.clock import Clock
from mooring.errors import ApiError, StoreError
from mooring.reconcile.worker import lasting

_log = log.get("mooring.apiserver")

ISSUER = "https://kubernetes.default.svc.cluster.local"


class Address(msgspec.Struct, frozen=True):
    host: str
    port: int

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}"


class Parts(msgspec.Struct, frozen=True):
    """An API without sockets: what tests and in-process callers talk to."""

    api: Api
    backend: Backend
    nodes: NodeIndex
    definitions: Definitions
    namespaces: Namespaces
    garbage: GarbageCollector
    events: EventExpiry
    roles: RoleAggregation
    quotas: QuotaStatus
    migrations: StorageMigrations
    access: Access
    metrics: Metrics
    health: Health
    pages: Pages


def assemble(
    store: Store,
    clock: Clock,
    rng: random.Random,
    pki: Pki,
    tokens: RoleTokens,
    address: str,
    kinds: Kinds | None = None,
) -> Parts:
    """Build an API over an open store. Nothing runs yet."""
    kinds = kinds or builtin()
    schema = load()
    objects = Objects(store, kinds)
    nodes = NodeIndex(store, kinds, objects)
    metrics = Metrics(lambda: store.revision, lambda: _counts(store, kinds))

    def count_events(kind: Kind, events: int) -> None:
        metrics.events_sent(kind.group, kind.version, kind.plural, events)

    roles = StoredRoles(objects, lambda forget: _follow_roles(store, kinds, forget))
    authorizer = Authorizer(nodes, stored=roles, release=kinds.release)
    asking, turns = Asking(objects, rng), Turns(clock)
    conversions = Conversions(asking, turns)
    judging = Judging()
    policies = Policies(store, kinds, objects, authorizer.authorize, judging)
    backend = Backend(
        store,
        kinds,
        schema,
        objects,
        Chain(nodes, policies.judge, policies.concern),
        clock,
        rng,
        Frames(frame),
        count_events,
        turns,
        Mutations(
            store,
            kinds,
            schema,
            objects,
            authorizer.authorize,
            judging,
            conversions.in_version,
        ),
        Webhooks(store, kinds, objects, authorizer.authorize, asking, conversions, judging),
        conversions,
        Charging(store),
        judging,
    )
    account_tokens = ServiceAccountTokens(pki.service_account_key, ISSUER)
    authenticator = Authenticator(tokens, account_tokens, objects.find, clock)
    access = Access(authenticator, authorizer, account_tokens)
    nodes_reached = Nodes(NodeCallers(pki.authority, clock.now).context)
    of_nodes = {
        **PodProxy(nodes_reached, access.check).part_verbs,
        **HttpProxy(nodes_reached).part_verbs,
    }
    health = Health(live={}, ready={"store": lambda: store.trouble})
    openapi = OpenApi(kinds, schema)
    discovery = Discovery(kinds, address)
    pages = Pages(discovery, openapi, health, metrics, pki.ca_certificate, kinds.release)
    writer = InProcessWriter(backend, HOUSEKEEPER)
    return Parts(
        api=Api(backend, access, of_nodes, pages, Joining(tokens, clock), metrics),
        backend=backend,
        nodes=nodes,
        definitions=Definitions(backend, writer),
        namespaces=Namespaces(backend, writer, pki.ca_certificate.decode()),
        garbage=GarbageCollector(backend, writer),
        events=EventExpiry(backend),
        roles=RoleAggregation(backend, writer),
        quotas=QuotaStatus(backend),
        migrations=StorageMigrations(backend, writer),
        access=access,
        metrics=metrics,
        health=health,
        pages=pages,
    )


def _follow_roles(store: Store, kinds: Kinds, forget: Callable[[], None]) -> None:
    Follower(
        store,
        kinds,
        lambda _kind, _entry: forget(),
        lambda _kind, _event: forget(),
        lambda kind: kind.group == RBAC,
    ).start()


def _counts(store: Store, kinds: Kinds) -> dict[str, int]:
    return {k.resource: store.count(k.store_table) for k in kinds.all() if "get" in k.verbs}


FIRST_SECONDS = 10.0  # after which a start waits for its first objects no longer


class Running(msgspec.Struct, frozen=True):
    """A server that answers."""

    address: Address
    pki: Pki
    tokens: RoleTokens
    parts: Parts


OpenStore = Callable[[Kinds], Awaitable[Store]]
"""Opens a store that several servers share, and that removes old events by itself."""

OpenOwn = Callable[[Path, Clock], Store]
"""Opens the store of one server, by its data directory."""


def open_database(data_dir: Path, clock: Clock) -> Store:
    """Raises: UsageError, Damaged."""
    return SqliteStore.open(data_dir / "mooring.db", clock)


@asynccontextmanager
async def running(
    data_dir: Path,
    address: Address,
    clock: Clock,
    names: tuple[str, ...] = (),
    kinds: Kinds | None = None,
    open_shared: OpenStore | None = None,
    open_own: OpenOwn = open_database,
) -> AsyncIterator[Running]:
    """Run an API server on `data_dir` for as long as the context is entered.

    `names` are further names and addresses that clients reach it by. `kinds` are those it starts
    with, and of the release that it follows. Objects are kept in what
    `open_own` opens, a database, or in what `open_shared` opens. Raises UsageError when the
    directory or the port cannot be had, or others on the store have other keys, Damaged when the
    database cannot be trusted.
    """
    kinds = kinds or builtin()
    store = open_own(data_dir, clock) if open_shared is None else await open_shared(kinds)
    try:
        if open_shared is not None:
            check_shared_keys(store, data_dir)

        def certified() -> Pki:
            return open_pki(
                data_dir / "pki",
                now=clock.now(),
                host_name=socket.gethostname(),
                extra_names=_names(address, names),
            )

        pki = certified()
        tokens = open_role_tokens(data_dir / "tokens.json")
        rng = random.Random()  # noqa: S311  seeded by the system; names and uids are no secrets
        at = f"{address.host}:{address.port}"
        parts = assemble(store, clock, rng, pki, tokens, at, kinds)
        if open_shared is not None:
            parts.health.add_check("etcd", lambda: store.trouble)
        server = Server(parts.api.handle, clock, server_context(pki), parts.access.find_caller)
        await server.listen(address.host, address.port)
        parts.nodes.start()
        parts.definitions.start()
        create_first_objects = partial(_create_first_objects, parts, address.host, server.port)
        async with asyncio.TaskGroup() as tasks:
            try:
                async with asyncio.timeout(FIRST_SECONDS):
                    await create_first_objects()
                if open_shared is not None:
                    check_shared_keys(store, data_dir)  # another may have been first meanwhile
                owned = []
            except (StoreError, ApiError, TimeoutError) as error:
                # A full disk can still be read from; a webhook that refuses everything, or hangs,
                # can only be taken away where somebody answers.
                because = str(error) or f"it takes more than {FIRST_SECONDS:g} s"
                _log.warning("serving, but the first objects cannot be written", because=because)
                owned = [tasks.create_task(lasting("first objects", clock, create_first_objects))]
            owned += [
                tasks.create_task(part.run())
                for part in (
                    parts.definitions,
                    parts.namespaces,
                    parts.garbage,
                    *((parts.events,) if open_shared is None else ()),
                    parts.roles,
                    parts.quotas,
                    parts.migrations,
                    Renewal(pki, certified, server.use, clock),
                    server,
                )
            ]
            await server.serving.wait()
            yield Running(Address(address.host, server.port), pki, tokens, parts)
            for task in reversed(owned):
                task.cancel()
            parts.api.compression.close()
            await parts.backend.webhooks.close()
    finally:
        await store.close()


async def _create_first_objects(parts: Parts, host: str, port: int) -> None:
    """What every cluster has. Raises: StoreError, ApiError."""
    writer = InProcessWriter(parts.backend, HOUSEKEEPER)
    await parts.namespaces.create_first()
    await announce(parts.backend, writer, host, port)
    await create_roles(parts.backend, writer)
    await create_system_priority_classes(writer)


def _names(address: Address, names: tuple[str, ...]) -> tuple[str, ...]:
    unspecified = address.host in ("0.0.0.0", "::", "")  # noqa: S104  compared, not bound
    return names if unspecified else (address.host, *names)
