"""How a webhook is reached: the rules that admission and conversion webhooks share."""

import base64
import ssl
from collections.abc import Iterable
from urllib.parse import urlsplit

from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, required
from mooring.model.names import dns_subdomain

_FORM = "desired format: https://host[/path]"
_MOST_PORT = 65535


def default_client_config(config: Doc) -> None:
    service = config.get("service")
    if service is not None:
        service.setdefault("port", 443)


def validate_client_config(config: Doc, path: str) -> Iterable[FieldError]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _validate_url(url, f"{path}.url")
    elif service is not None:
        yield from _validate_service(service, f"{path}.service")


def is_usable_bundle(bundle: str) -> bool:
    """Whether a caBundle, as JSON has it, holds certificates; an empty one says nothing."""
    if not bundle:
        return True
    try:
        text = base64.b64decode(bundle, validate=True).decode()
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError):
        return False
    return True


def _validate_url(url: str, path: str) -> Iterable[FieldError]:
    try:
        parts = urlsplit(url)
        host = parts.netloc
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}; {_FORM}")
        return
    if parts.scheme != "https":
        problem = f"'https' is the only allowed URL scheme; {_FORM}"
        yield invalid(path, parts.scheme, problem)
    if not host:
        yield invalid(path, host, f"host must be specified; {_FORM}")
    if "@" in host:
        yield invalid(path, host.rpartition("@")[0], "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid(path, parts.query, "query parameters are not permitted in the URL")


def _validate_service(service: Doc, path: str) -> Iterable[FieldError]:
    for field in ("name", "namespace"):
        if not service.get(field):
            yield required(f"{path}.{field}", f"service {field} is required")
    port = service.get("port", 443)
    if not 0 < port <= _MOST_PORT:
        problem = "port is not valid: must be between 1 and 65535, inclusive"
        yield invalid(f"{path}.port", port, problem)
    if way := service.get("path"):  # empty, it is `/`
        yield from _validate_path(way, f"{path}.path")


def _validate_path(way: str, path: str) -> Iterable[FieldError]:
    if not way.startswith("/"):
        yield invalid(path, way, "must start with a '/'")
        return
    steps = way.split("/")[1:]
    if steps and not steps[-1]:
        steps.pop()
    for index, step in enumerate(steps):
        if not step:
            yield invalid(path, way, f"segment[{index}] may not be empty")
            continue
        for problem in dns_subdomain(step):
            yield invalid(path, way, f"segment[{index}]: {problem}")
