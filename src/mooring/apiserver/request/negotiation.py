"""From an Accept header to the form of the answer.

Clauses are tried by descending quality; the first one that the server can serve wins. Every
function here is called once per request, so the results are cached by header text.
"""

from collections.abc import Iterator
from enum import Enum

import msgspec

from mooring.apiserver.limits.short_memo import short_memo
from mooring.errors import NotAcceptable

META_V1 = "meta.k8s.io/v1"
META_V1BETA1 = "meta.k8s.io/v1beta1"

SWAGGER_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""As it is answered. Clients ask for it with `v2@v1.0`, but Go cannot read an `@` in an answer."""

_SWAGGER_PROTOBUF_ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_WILD = ("*/*", "*")


class What(Enum):
    OBJECT = ""
    TABLE = "Table"
    PARTIAL = "PartialObjectMetadata"
    PARTIAL_LIST = "PartialObjectMetadataList"


class Form(msgspec.Struct, frozen=True):
    """The form of an answer: the object itself, or a view of it in a version of meta.k8s.io."""

    what: What
    api_version: str = ""


class DiscoveryForm(Enum):
    PLAIN = "plain"
    AGGREGATED = "aggregated"


class SwaggerForm(Enum):
    JSON = "json"
    PROTOBUF = "protobuf"


JSON = Form(What.OBJECT)

_VIEWS = {
    (what.value, api_version): Form(what, api_version)
    for what in What
    if what is not What.OBJECT
    for api_version in (META_V1, META_V1BETA1)
}


class _Clause(msgspec.Struct, frozen=True):
    media: str
    parameters: dict[str, str]
    quality: float

    def takes(self, media: str) -> bool:
        return self.media in (media, "application/*", *_WILD)

    def target(self) -> tuple[str, str] | None:
        """The kind and group-version that the answer shall be turned into, if any."""
        asked = self.parameters
        if not asked.keys() & {"as", "g", "v"}:
            return None
        return asked.get("as", ""), f"{asked.get('g', '')}/{asked.get('v', '')}"


@short_memo
def negotiate(accept: str | None) -> Form:
    """The form for an object, a list or a watch. Raises: NotAcceptable."""
    if not accept:
        return JSON
    for clause in _clauses(accept):
        if not clause.takes("application/json") or not _streams(clause):
            continue
        target = clause.target()
        if target is None:
            return JSON
        if target in _VIEWS:
            return _VIEWS[target]
    raise _not_acceptable("application/json")


@short_memo
def discovery_form(accept: str | None) -> DiscoveryForm:
    """The form for `/api` and `/apis`. Raises: NotAcceptable."""
    if not accept:
        return DiscoveryForm.PLAIN
    for clause in _clauses(accept):
        if not clause.takes("application/json"):
            continue
        target = clause.target()
        if target is None:
            return DiscoveryForm.PLAIN
        if target == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2"):
            return DiscoveryForm.AGGREGATED
    raise _not_acceptable("application/json")


@short_memo
def swagger_form(accept: str | None) -> SwaggerForm:
    """The form for `/openapi/v2`. Raises: NotAcceptable."""
    if not accept:
        return SwaggerForm.JSON
    for clause in _clauses(accept):
        if clause.takes("application/json"):
            return SwaggerForm.JSON
        if clause.media in (SWAGGER_PROTOBUF, _SWAGGER_PROTOBUF_ASKED):
            return SwaggerForm.PROTOBUF
    raise _not_acceptable("application/json", SWAGGER_PROTOBUF)


@short_memo
def accepts_gzip(accept_encoding: str | None) -> bool:
    return any(clause.media == "gzip" for clause in _clauses(accept_encoding or ""))


def _streams(clause: _Clause) -> bool:
    return clause.parameters.get("stream", "watch") == "watch"


def _clauses(header: str) -> list[_Clause]:
    """The clauses, best first: by quality, then the exact ones before wildcards, then as sent."""
    wished = [clause for clause in _parse(header) if clause.quality > 0]
    return sorted(wished, key=lambda clause: (-clause.quality, "*" in clause.media))


def _parse(header: str) -> Iterator[_Clause]:
    for text in header.replace("\n", ",").split(","):
        media, *parts = (part.strip() for part in text.split(";"))
        pairs = (part.partition("=") for part in parts)
        parameters = {name.strip().lower(): value.strip() for name, _, value in pairs}
        yield _Clause(media.lower(), parameters, _quality(parameters.pop("q", "1")))


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _not_acceptable(*served: str) -> NotAcceptable:
    return NotAcceptable(f"only the following media types are accepted: {', '.join(served)}")
