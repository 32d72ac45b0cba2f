"""Paths that are no resources: version, health, metrics, discovery, OpenAPI."""

import platform
from collections.abc import Callable

from mooring import __version__
from mooring.apiserver.api.discovery import Discovery
from mooring.apiserver.api.health import Health
from mooring.apiserver.api.metrics import Metrics
from mooring.apiserver.documents.document import encode
from mooring.apiserver.documents.published import Published
from mooring.apiserver.openapi.serving import OpenApi
from mooring.apiserver.request.message import TEXT, Answer, Request, Response
from mooring.apiserver.request.negotiation import DiscoveryForm, discovery_form, swagger_form
from mooring.apiserver.request.options import check_timeout, first, parse_query
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion

REVALIDATE = "no-cache, private"
KEEP = "public"
KEEP_FOR_GOOD = "public, immutable"  # what is found by its hash never changes

Page = Callable[[Request], Answer]


class Pages:
    def __init__(
        self,
        discovery: Discovery,
        openapi: OpenApi,
        health: Health,
        metrics: Metrics,
        authority: bytes,
        release: KubernetesVersion = NEWEST,
    ) -> None:
        self._discovery = discovery
        self._openapi = openapi
        self._health = health
        self._metrics = metrics
        self._authority = authority
        self._version = encode(version(release))
        self._others: dict[str, Page] = {}

    def add(self, path: str, page: Page) -> None:
        """A page of another role in this process; who may read it is decided by its path."""
        self._others[path] = page

    def find(self, path: str, request: Request) -> Answer | None:
        """The page at `path` (no trailing slash); None: there is none."""
        check_timeout(parse_query(request.query))
        if path in self._others:
            return self._others[path](request)
        match path[1:].split("/"):
            case ["version"]:
                return Response(200, self._version)
            case ["healthz" | "livez" | "readyz", *_]:
                code, text = self._health.answer(path, parse_query(request.query))
                return Response(code, text.encode(), content_type=TEXT)
            case ["cacerts"]:
                return Response(200, self._authority, content_type=TEXT)
            case ["metrics"]:
                return Response(200, self._metrics.render(), self._metrics.content_type)
            case ["openapi", "v2"]:
                swagger = self._openapi.swagger(swagger_form(request.header("accept")))
                return published(swagger, request, vary=True)
            case ["openapi", "v3"]:
                return published(self._openapi.index(), request)
            case ["openapi", "v3", *rest]:
                return self._group_version("/".join(rest), request)
            case ["api" | "apis", *_]:
                form = discovery_form(request.header("accept"))
                page = self._discovery.find(path, form)
                cache = KEEP if form is DiscoveryForm.AGGREGATED else REVALIDATE
                return None if page is None else published(page, request, cache, vary=True)
            case _:
                return None

    def _group_version(self, name: str, request: Request) -> Response | None:
        page = self._openapi.group_version(name)
        if page is None:
            return None
        asked = first(parse_query(request.query), "hash")
        if asked and asked != page.digest:
            right = f"/openapi/v3/{name}?hash={page.digest}"
            return Response(301, headers=(("Location", right),))
        return published(page, request, KEEP_FOR_GOOD if asked else REVALIDATE)


def published(
    page: Published, request: Request, cache: str = REVALIDATE, *, vary: bool = False
) -> Response:
    """A page that clients may keep, and how."""
    headers = [("Cache-Control", cache), ("ETag", page.etag)]
    if vary:
        headers.append(("Vary", "Accept"))
    if request.header("if-none-match") == page.etag:
        return Response(304, content_type=page.content_type, headers=tuple(headers))
    return Response(200, page.body, page.content_type, tuple(headers))


def version(release: KubernetesVersion) -> dict[str, str]:
    return {
        "major": str(release.major),
        "minor": str(release.minor),
        "gitVersion": f"v{release}.0+mooring-{__version__}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "go0",
        "compiler": "cpython",
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
