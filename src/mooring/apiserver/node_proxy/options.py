"""Options of log, exec, attach and portforward: checked, and as the path that the kubelet serves.

Pure: a pod and a query in, a path with a query out.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlencode

from mooring.apiserver.request.options import Query, first, flag
from mooring.apiserver.request.refusals import invalid_as
from mooring.errors import BadRequest
from mooring.model.document import Doc
from mooring.model.field_error import forbidden
from mooring.model.pod_log_options import PodLogOptions, validate_pod_log_options

Pairs = list[tuple[str, str]]

_CONTAINER_FIELDS = ("initContainers", "containers", "ephemeralContainers")
_STANDARD_STREAMS = (("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty"))
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST = 1 << 63
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)


def log_path(pod: Doc, query: Query) -> str:
    """Raises: Invalid, BadRequest."""
    options = _log_options(pod["metadata"]["name"], query)
    return f"{_container_path('containerLogs', pod, query)}?{urlencode(sorted(options))}"


def exec_path(pod: Doc, query: Query) -> str:
    """Raises: BadRequest."""
    commands = [("command", word) for word in query.get("command", ())]
    options = [*commands, *_standard_streams(query)]
    return f"{_container_path('exec', pod, query)}?{_encoded(options)}"


def attach_path(pod: Doc, query: Query) -> str:
    """Raises: BadRequest."""
    return f"{_container_path('attach', pod, query)}?{_encoded(_standard_streams(query))}"


def port_forward_path(pod: Doc, query: Query) -> str:
    """Raises: BadRequest."""
    ports = ",".join(str(_integer(port)) for port in query.get("ports", ()))
    return f"{_pod_path('portForward', pod)}?{_encoded([('port', ports)] if ports else [])}"


def _encoded(options: Iterable[tuple[str, str]]) -> str:
    return urlencode(sorted(options, key=lambda option: option[0]))


def _pod_path(word: str, pod: Doc) -> str:
    metadata = pod["metadata"]
    return f"/{word}/{quote(metadata['namespace'])}/{quote(metadata['name'])}"


def _container_path(word: str, pod: Doc, query: Query) -> str:
    container = choose_container(pod, first(query, "container"))
    return f"{_pod_path(word, pod)}/{quote(container)}"


def choose_container(pod: Doc, asked: str) -> str:
    """The container that is meant. Raises: BadRequest."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    names = [c["name"] for field in _CONTAINER_FIELDS for c in spec.get(field, ())]
    if asked:
        if asked not in names:
            raise BadRequest(f"container {asked} is not valid for pod {name}")
        return asked
    if len(spec["containers"]) == 1:
        return str(spec["containers"][0]["name"])
    choice = " ".join(names)
    raise BadRequest(
        f"a container name must be specified for pod {name}, choose one of: [{choice}]"
    )


def _standard_streams(query: Query) -> Iterator[tuple[str, str]]:
    return ((told, "1") for asked, told in _STANDARD_STREAMS if flag(query, asked))


def _log_options(name: str, query: Query) -> Pairs:
    flags = [word for word in ("follow", "previous", "timestamps") if flag(query, word)]
    numbers = {
        word: _integer(query[word][0])
        for word in ("sinceSeconds", "tailLines", "limitBytes")
        if word in query
    }
    since = _moment(query["sinceTime"][0]) if first(query, "sinceTime") else None
    options = PodLogOptions(
        tail_lines=numbers.get("tailLines"),
        since_seconds=numbers.get("sinceSeconds"),
        since_time=None if since is None else (since - _EPOCH) // _SECOND * 10**9,
        limit_bytes=numbers.get("limitBytes"),
    )
    errors = list(validate_pod_log_options(options))
    if "stream" in query:  # a feature that is off by default
        errors.append(forbidden("stream", "may not be specified"))
    if errors:
        raise invalid_as("PodLogOptions", "", name, errors)
    told = [(word, "true") for word in flags]
    told += [(word, str(number)) for word, number in numbers.items()]
    if since is not None:
        told.append(("sinceTime", since.strftime("%Y-%m-%dT%H:%M:%SZ")))
    return told


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    number = int(text) if len(text) <= 20 else _MOST
    if not -_MOST <= number < _MOST:
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": value out of range')
    return number


def _moment(text: str) -> datetime:
    """A point in time, in UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or "T" not in text:
        raise BadRequest(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse it')
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise BadRequest(f'parsing time "{text}": year out of range') from error


PATHS: dict[str, Callable[[Doc, Query], str]] = {
    "exec": exec_path,
    "attach": attach_path,
    "portforward": port_forward_path,
}
"""By subresource; each needs an upgrade."""
