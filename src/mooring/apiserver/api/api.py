"""One request from end to end: authenticate, route, authorize, call the verb, answer.

The order decides which refusal wins, as in Kubernetes: 401, 403, 404/405, 406, then whatever the
verb itself finds wrong.
"""

from collections.abc import Awaitable, Callable, Mapping

from mooring import log
from mooring.apiserver.api.absent_kinds import find_advice
from mooring.apiserver.api.access import Access
from mooring.apiserver.api.compression import Compression
from mooring.apiserver.api.joining import Joining
from mooring.apiserver.api.metrics import Load, Metrics, Target
from mooring.apiserver.api.pages import Pages
from mooring.apiserver.api.streams import RETRY_AFTER, Streams
from mooring.apiserver.auth.attributes import AccessAttributes
from mooring.apiserver.auth.roles import JOIN_PATH
from mooring.apiserver.auth.user import User
from mooring.apiserver.documents.document import encode
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.request.message import (
    TEXT,
    Answer,
    Handler,
    Request,
    Response,
    Stream,
    StreamSource,
    Tunnel,
)
from mooring.apiserver.request.negotiation import JSON, accepts_gzip, negotiate
from mooring.apiserver.request.options import first, flag, list_options, parse_query
from mooring.apiserver.request.refusals import method_not_allowed, unknown_resource
from mooring.apiserver.request.routes import Plain, Route, parse
from mooring.apiserver.verbs.answering import warning_headers
from mooring.apiserver.verbs.backend import Backend, Call, SubresourceVerbs, Verb
from mooring.apiserver.verbs.bind import bind
from mooring.apiserver.verbs.create import create
from mooring.apiserver.verbs.custom_scale import ON_CUSTOM_SCALE
from mooring.apiserver.verbs.delete import delete
from mooring.apiserver.verbs.delete_collection import delete_collection
from mooring.apiserver.verbs.evict import evict
from mooring.apiserver.verbs.finalize import finalize
from mooring.apiserver.verbs.get import get
from mooring.apiserver.verbs.list import list_objects
from mooring.apiserver.verbs.patch import patch
from mooring.apiserver.verbs.update import update
from mooring.apiserver.verbs.watch import watch
from mooring.apiserver.verbs.workload_scale import ON_SCALE
from mooring.errors import ApiError, InternalError, StoreError, TooManyRequests

LOG = log.get("mooring.api")

ON_OBJECT: dict[str, tuple[str, Verb]] = {
    "GET": ("get", get),
    "PUT": ("update", update),
    "PATCH": ("patch", patch),
    "DELETE": ("delete", delete),
}
ON_COLLECTION: dict[str, tuple[str, Verb]] = {
    "GET": ("list", list_objects),
    "POST": ("create", create),
    "DELETE": ("deletecollection", delete_collection),
}
ON_STATUS: Mapping[str, Verb] = {"GET": get, "PUT": update, "PATCH": patch}
SCALED = ("deployments", "replicasets", "replicationcontrollers", "statefulsets")
ON_PART: SubresourceVerbs = {
    ("pods", "binding"): {"POST": bind},
    ("pods", "eviction"): {"POST": evict},
    ("namespaces", "finalize"): {"PUT": finalize},
    **{(plural, "scale"): ON_SCALE for plural in SCALED},
}
UI_PATH = "/ui"
MUTATING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Api:
    """Answers requests. Knows nothing of sockets; callers in this process use `InProcessApi`."""

    def __init__(
        self,
        backend: Backend,
        access: Access,
        of_nodes: SubresourceVerbs,
        pages: Pages,
        joining: Joining,
        metrics: Metrics,
    ) -> None:
        self._backend = backend
        self._access = access
        self._of_nodes = of_nodes
        self._pages = pages
        self._joining = joining
        self._metrics = metrics
        self._streams = Streams()
        self.compression = Compression()
        self._targets: dict[tuple[str, ...], Target] = {}
        self._ui: Handler | None = None

    def show_ui(self, handler: Handler) -> None:
        """Serve what is below /ui by `handler`, which lets in who may see it by itself."""
        self._ui = handler

    async def handle(self, request: Request) -> Answer:
        """Serve a request from outside: never raises, refusals are answers."""
        load = Load.MUTATING if request.method in MUTATING else Load.READ_ONLY
        self._metrics.started(load)
        began = self._backend.clock.monotonic()
        target: Target | None = None
        release = _nothing
        try:
            if request.method in MUTATING:  # decided on what other servers have acknowledged
                await self._backend.store.catch_up()
            user = self._access.who(request)
            if request.crowded:
                raise crowded()
            route = parse(request.path)
            if isinstance(route, Plain):
                answer: Answer = await self._page(request, user, route.path)
                if isinstance(answer, Stream):
                    release = self._streams.take(user.name, through_node=False)
            else:
                word = _word(request, route)
                kind = self._kind(route)
                if kind is None:  # perhaps another server has just heard of it
                    await self._backend.store.catch_up()
                    kind = self._kind(route)
                target = self._target(word, kind, route)
                is_through_node = self._is_through_node(kind, route)
                if word == "watch" or is_through_node:
                    release = self._streams.take(user.name, through_node=is_through_node)
                answer = await self._resource(request, user, route, kind, word)
                if not is_through_node:
                    self._compress(request, word, answer)
        except ApiError as error:
            answer = refused(error)
        except StoreError as error:
            LOG.warning("the store refused", because=str(error))
            answer = refused(InternalError(f"the database refused: {error}"))
        except Exception:  # the one broad except: a bug in one request stays there
            LOG.exception("request failed", method=request.method, path=request.path)
            answer = refused(InternalError("Internal error occurred: see the log of mooring"))
        if target is None:
            target = Target(request.method)
        if isinstance(answer, Response):
            release()
        else:
            closed = self._count_stream(target, release)
            if isinstance(answer, Stream):
                answer.source = _Counted(answer.source, closed)
            else:
                answer.tunnel = _CountedTunnel(answer.tunnel, closed)
        seconds = self._backend.clock.monotonic() - began
        self._metrics.finished(load, target, answer.status, seconds)
        return answer

    def _compress(self, request: Request, word: str, answer: Answer) -> None:
        """What is worth it, for clients that ask so."""
        asked = request.header("accept-encoding")
        if not asked or not accepts_gzip(asked):
            return
        if isinstance(answer, Response):
            self.compression.compress(answer)
        elif isinstance(answer, Stream) and word == "watch":
            lists_first = list_options(request.query).initial_events
            if lists_first and self._backend.kinds.release.compresses_watch_lists:
                self.compression.compress_stream(answer)

    def _count_stream(self, target: Target, release: Callable[[], None]) -> Callable[[], None]:
        """Count a stream as open; call what is returned when it is not any more."""
        self._metrics.stream_opened(target)

        def closed() -> None:
            self._metrics.stream_closed(target)
            release()

        return closed

    async def _page(self, request: Request, user: User, path: str) -> Answer:
        if self._ui is not None and (path == UI_PATH or path.startswith(f"{UI_PATH}/")):
            return await self._ui(request)
        self._access.check(user, AccessAttributes(request.method.lower(), path=path))
        if path == JOIN_PATH and request.method == "POST":
            return await self._joining.join(request, user)
        answer = self._pages.find(path, request)
        if answer is None:
            return self._missing(path)
        if request.method != "GET":
            raise method_not_allowed()
        return answer

    def _kind(self, route: Route) -> Kind | None:
        return self._backend.kinds.find(route.group, route.version, route.plural)

    def _resource(
        self, request: Request, user: User, route: Route, kind: Kind | None, word: str
    ) -> Awaitable[Answer]:
        self._access.check(user, _attributes(request, route, word))
        if kind is None:
            if (advice := find_advice(route)) is not None:
                raise advice
            return _at_once(self._missing(request.path))
        verb = self._verb(kind, request.method, route, word)
        if self._is_through_node(kind, route):
            form = JSON  # for a refusal; otherwise the node decides
        else:
            form = negotiate(request.headers.get("accept"))
        answer = verb(self._backend, Call(request, route, kind, user, form))
        return _warned(answer, kind.deprecation) if kind.deprecation else answer

    def _is_through_node(self, kind: Kind | None, route: Route) -> bool:
        is_known = (route.plural, route.subresource) in self._of_nodes
        return is_known and (kind is None or kind.structure is None)

    def _verb(self, kind: Kind, method: str, route: Route, word: str) -> Verb:
        """What serves this method on this path; raises what is answered when nothing does."""
        if kind.namespaced != route.collection_in_namespace and (
            route.collection_in_namespace or route.name
        ):
            raise unknown_resource()
        if route.subresource:
            return self._part_verb(kind, method, route)
        by_method = ON_OBJECT if route.name else ON_COLLECTION
        if method not in by_method or word not in kind.verbs:
            raise method_not_allowed()
        is_everywhere = kind.namespaced and not route.collection_in_namespace
        if is_everywhere and word in ("create", "deletecollection"):
            raise method_not_allowed()
        if word == "create" and kind.structure is None:
            return self._access.review_verbs.get(kind.plural, create)
        if word == "watch":
            return watch
        return by_method[method][1]

    def _part_verb(self, kind: Kind, method: str, route: Route) -> Verb:
        verbs = self._verbs_of_part(kind, route.subresource)
        if (route.subresource == "status" and kind.status) or route.subresource in kind.strategies:
            verbs = ON_STATUS
        if verbs is None or route.watch_prefix:
            raise unknown_resource()
        if method not in verbs:
            raise method_not_allowed()
        return verbs[method]

    def _verbs_of_part(self, kind: Kind, name: str) -> Mapping[str, Verb] | None:
        if kind.structure is not None:
            return ON_CUSTOM_SCALE if name == "scale" and kind.scale is not None else None
        part = (kind.plural, name)
        return ON_PART.get(part) or self._access.part_verbs.get(part) or self._of_nodes.get(part)

    def _missing(self, path: str) -> Response:
        """404: a Status under a group that is known, plain text anywhere else."""
        segments = path[1:].split("/")
        if segments[0] == "version":
            raise unknown_resource()
        if len(segments) > 1 and segments[0] in ("api", "apis"):
            group = "" if segments[0] == "api" else segments[1]
            if any(known.name == group for known in self._backend.kinds.groups()):
                raise unknown_resource()
        return Response(404, b"404 page not found\n", content_type=TEXT)

    def _target(self, word: str, kind: Kind | None, route: Route) -> Target:
        if kind is None:
            return Target(word.upper())  # paths that clients make up must not become labels
        scope = "resource" if route.name else "namespace" if route.namespace else "cluster"
        key = (word, kind.api_version, kind.plural, route.subresource, scope)
        known = self._targets.get(key)
        if known is None:
            known = self._targets[key] = Target(
                word.upper(), kind.group, kind.version, kind.plural, route.subresource, scope
            )
        return known


def crowded() -> TooManyRequests:
    return TooManyRequests(
        "Too many requests: more bytes of requests are under way than the server takes at a time",
        retry_after=RETRY_AFTER,
    )


def _nothing() -> None:
    """Of a request that takes no stream."""


async def _warned(answer: Awaitable[Answer], text: str) -> Answer:
    """An answer that begins with a warning, be it a refusal."""
    try:
        answered = await answer
    except ApiError as error:
        error.warnings = (text, *error.warnings)
        raise
    if isinstance(answered, Response | Stream):
        answered.headers = (*warning_headers([text]), *answered.headers)
    return answered


async def _at_once(answer: Answer) -> Answer:
    return answer


def refused(error: ApiError) -> Response:
    headers = warning_headers(error.warnings)
    if error.retry_after:
        headers += (("Retry-After", str(error.retry_after)),)
    return Response(error.code, encode(error.status()), headers=headers)


def _word(request: Request, route: Route) -> str:
    """The verb, as authorization and metrics call it."""
    match request.method:
        case "GET" | "HEAD":
            if route.watch_prefix:
                return "watch"
            if route.name:
                return "get"
            return "watch" if flag(parse_query(request.query), "watch") else "list"
        case "POST":
            return "create"
        case "PUT":
            return "update"
        case "PATCH":
            return "patch"
        case "DELETE":
            return "delete" if route.name else "deletecollection"
        case other:
            return other.lower()


def _attributes(request: Request, route: Route, word: str) -> AccessAttributes:
    query = parse_query(request.query) if request.query else {}
    return AccessAttributes(
        word,
        group=route.group,
        version=route.version,
        resource=route.plural,
        subresource=route.subresource,
        namespace=route.namespace,
        name=route.name,
        field_selector=first(query, "fieldSelector"),
        label_selector=first(query, "labelSelector"),
    )


class _Counted:
    """A stream that is counted while it is open."""

    def __init__(self, source: StreamSource, closed: Callable[[], None]) -> None:
        self._source = source
        self._closed = closed
        self.start = source.start
        self.on_ready = source.on_ready

    def on_closed(self) -> None:
        self._closed()
        self._source.on_closed()


class _CountedTunnel:
    """A tunnel that is counted while it is open."""

    def __init__(self, tunnel: Tunnel, closed: Callable[[], None]) -> None:
        self._tunnel = tunnel
        self._closed = closed
        self.start = tunnel.start
        self.received = tunnel.received
        self.on_full = tunnel.on_full
        self.on_ready = tunnel.on_ready

    def on_closed(self) -> None:
        self._closed()
        self._tunnel.on_closed()
