"""From a URL path to what it names: pure text work, no lookup of kinds."""

from urllib.parse import unquote

import msgspec

from mooring.apiserver.limits.short_memo import short_memo
from mooring.errors import BadRequest


class Route(msgspec.Struct, frozen=True):
    """What a path under /api or /apis names. `plural` is empty for discovery documents."""

    group: str = ""
    version: str = ""
    namespace: str = ""
    plural: str = ""
    name: str = ""
    subresource: str = ""
    watch_prefix: bool = False  # the old /watch/ form
    collection_in_namespace: bool = False


class Plain(msgspec.Struct, frozen=True):
    """A path outside the resource tree: health, version, discovery, OpenAPI, metrics."""

    path: str


NAMESPACE_PARTS = frozenset({"status", "finalize"})
_PROXIED = frozenset({"nodes", "pods", "services"})


@short_memo
def parse(path: str) -> Route | Plain:
    """Read a path as it was sent (still percent-encoded)."""
    if path.endswith("/") and len(path) > 1:
        path = path[:-1]
    segments = path[1:].split("/")
    match segments:
        case ["api", version, _, *_]:
            return _resource("", version, segments[2:], path)
        case ["apis", group, version, _, *_]:
            return _resource(group, version, segments[3:], path)
        case _:
            return Plain(path)


def _resource(group: str, version: str, rest: list[str], path: str) -> Route | Plain:
    rest = _without_proxied(rest)
    if "" in rest:
        return Plain(path)
    watch_prefix = rest[0] == "watch" and len(rest) > 1
    parts = [_segment(part) for part in (rest[1:] if watch_prefix else rest)]
    namespace, in_namespace = "", False
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in NAMESPACE_PARTS:
        namespace, in_namespace = parts[1], True
        parts = parts[2:]
    plural, name, subresource = [*parts, "", ""][:3]
    if len(parts) > 3:
        subresource = "/".join(parts[2:])
    if plural == "namespaces" and not in_namespace:
        namespace = name
    return Route(
        group=group,
        version=version,
        namespace=namespace,
        plural=plural,
        name=name,
        subresource=subresource,
        watch_prefix=watch_prefix,
        collection_in_namespace=in_namespace,
    )


def _without_proxied(rest: list[str]) -> list[str]:
    """What follows `/proxy` is a path of somebody else's."""
    start = 2 if rest[0] == "namespaces" else 0
    match rest[start : start + 3]:
        case [plural, _, "proxy"] if plural in _PROXIED:
            return rest[: start + 3]
        case _:
            return rest


def _segment(text: str) -> str:
    plain = unquote(text) if "%" in text else text
    if plain in (".", ".."):
        raise BadRequest(f"Name parameter invalid: \"{plain}\": may not be '{plain}'")
    return plain
