"""Probes and lifecycle hooks of a container."""

import re
from collections.abc import Iterable

from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_NOT_NEGATIVE = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_SCHEMES = ("HTTP", "HTTPS")
_HEADER = "[-A-Za-z0-9]+"
_is_header = re.compile(_HEADER).fullmatch
_HEADER_TEXT = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
    f"regex used for validation is '{_HEADER}')"
)
_is_port_alphabet = re.compile("[-a-z0-9]+").fullmatch
_has_letter = re.compile("[a-z]").search


def validate_probes(container: Doc, grace: int, path: str) -> Iterable[FieldError]:
    for name in PROBES:
        if (probe := container.get(name)) is not None:
            yield from _validate_probe(probe, name, grace, f"{path}.{name}")


def validate_lifecycle(lifecycle: Doc, grace: int, path: str) -> Iterable[FieldError]:
    for hook in ("postStart", "preStop"):
        if (handler := lifecycle.get(hook)) is not None:
            yield from _validate_handler(handler, grace, f"{path}.{hook}")


def _validate_probe(probe: Doc, name: str, grace: int, path: str) -> Iterable[FieldError]:
    yield from _validate_handler(probe, grace, path)
    for field in _NOT_NEGATIVE:
        if (value := probe.get(field, 0)) < 0:
            yield invalid(f"{path}.{field}", value, "must be greater than or equal to 0")
    own_grace = probe.get("terminationGracePeriodSeconds")
    if own_grace is not None and own_grace <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", own_grace, "must be greater than 0")
    if name == "readinessProbe":
        if own_grace is not None:
            yield invalid(
                f"{path}.terminationGracePeriodSeconds",
                own_grace,
                "must not be set for readinessProbes",
            )
    elif (threshold := probe.get("successThreshold", 1)) != 1:
        yield invalid(f"{path}.successThreshold", threshold, "must be 1")


def _validate_handler(handler: Doc, grace: int, path: str) -> Iterable[FieldError]:
    given = [name for name in _HANDLERS if name in handler]
    if not given:
        yield required(path, "must specify a handler type")
        return
    first, *others = given
    yield from _validate_action(first, handler[first], grace, f"{path}.{first}")
    for name in others:
        yield forbidden(f"{path}.{name}", "may not specify more than 1 handler type")


def _validate_action(name: str, action: Doc, grace: int, path: str) -> Iterable[FieldError]:
    match name:
        case "exec":
            if not action.get("command"):
                yield required(f"{path}.command")
        case "httpGet":
            yield from _validate_http(action, path)
        case "sleep":
            if not 0 <= (seconds := action.get("seconds", 0)) <= grace:
                yield invalid(
                    path,
                    seconds,
                    f"must be non-negative and less than terminationGracePeriodSeconds ({grace})",
                )
        case _:
            yield from validate_port(action.get("port", 0), f"{path}.port")


def _validate_http(action: Doc, path: str) -> Iterable[FieldError]:
    if not action.get("path"):
        yield required(f"{path}.path")
    yield from validate_port(action.get("port", 0), f"{path}.port")
    if (scheme := action.get("scheme", "")) not in _SCHEMES:
        yield not_supported(f"{path}.scheme", scheme, _SCHEMES)
    for header in action.get("httpHeaders", ()):
        if not _is_header(header.get("name", "")):
            yield invalid(f"{path}.httpHeaders", header.get("name", ""), _HEADER_TEXT)


def validate_port(port: int | str, field: str) -> Iterable[FieldError]:
    """A number, or the name of one of the container's ports."""
    problems = port_number(port) if isinstance(port, int) else port_name(port)
    for problem in problems:
        yield invalid(field, port, problem)


def port_number(port: int) -> Iterable[str]:
    return () if 1 <= port <= 65535 else ("must be between 1 and 65535, inclusive",)


def port_name(name: str) -> Iterable[str]:
    if len(name) > 15:
        yield "must be no more than 15 characters"
    if not _is_port_alphabet(name):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not _has_letter(name):
        yield "must contain at least one letter (a-z)"
    if "--" in name:
        yield "must not contain consecutive hyphens"
    if name.startswith("-") or name.endswith("-"):
        yield "must not begin or end with a hyphen"
