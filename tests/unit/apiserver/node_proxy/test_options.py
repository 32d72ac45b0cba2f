"""What is asked of a pod's node: checked, and in its own words."""

import pytest

from mooring.apiserver.node_proxy.options import PATHS, choose_container, log_path
from mooring.apiserver.request.options import parse_query
from mooring.errors import ApiError, BadRequest, Invalid
from mooring.model.document import Doc


def a_pod(*containers: str, **others: list[str]) -> Doc:
    named = {field: [{"name": name} for name in names] for field, names in others.items()}
    return {
        "metadata": {"namespace": "ns", "name": "web"},
        "spec": {"containers": [{"name": name} for name in containers], **named},
    }


ONE = a_pod("main")
MANY = a_pod("a", "b", initContainers=["first"], ephemeralContainers=["debug"])

LOGS = {
    "nothing said": ("", ""),
    "flags that are off are left out": (
        "follow=false&previous=0&timestamps=true",
        "timestamps=true",
    ),
    "a flag without a value is on": ("follow", "follow=true"),
    "numbers": (
        "tailLines=0&limitBytes=10&sinceSeconds=5",
        "limitBytes=10&sinceSeconds=5&tailLines=0",
    ),
    "a time is told in UTC": (
        "sinceTime=2026-01-02T03:04:05%2B01:00",
        "sinceTime=2026-01-02T02%3A04%3A05Z",
    ),
    "what nodes do not know is not passed on": ("pretty=true&x=1", ""),
}


@pytest.mark.parametrize(("query", "told"), LOGS.values(), ids=LOGS)
def test_log(query: str, told: str) -> None:
    assert log_path(ONE, parse_query(query)) == f"/containerLogs/ns/web/main?{told}"


REFUSED: dict[str, tuple[str, type[ApiError], str]] = {
    "fewer than no lines": (
        "tailLines=-1",
        Invalid,
        'PodLogOptions "web" is invalid: tailLines: Invalid value: -1: '
        "must be greater than or equal to 0",
    ),
    "no bytes": (
        "limitBytes=0",
        Invalid,
        'PodLogOptions "web" is invalid: limitBytes: Invalid value: 0: must be greater than 0',
    ),
    "no seconds": (
        "sinceSeconds=0",
        Invalid,
        'PodLogOptions "web" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0',
    ),
    "two beginnings": (
        "sinceSeconds=1&sinceTime=2026-01-02T03:04:05Z",
        Invalid,
        'PodLogOptions "web" is invalid: : Forbidden: '
        "at most one of `sinceTime` or `sinceSeconds` may be specified",
    ),
    "one of its streams": (
        "stream=Stdout",
        Invalid,
        'PodLogOptions "web" is invalid: stream: Forbidden: may not be specified',
    ),
    "no number": (
        "tailLines=many",
        BadRequest,
        'strconv.ParseInt: parsing "many": invalid syntax',
    ),
    "a number beyond all bounds": (
        f"limitBytes={'9' * 30}",
        BadRequest,
        f'strconv.ParseInt: parsing "{"9" * 30}": value out of range',
    ),
    "no time": (
        "sinceTime=yesterday",
        BadRequest,
        'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse it',
    ),
}


@pytest.mark.parametrize(("query", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_log_refused(query: str, error: type[ApiError], words: str) -> None:
    with pytest.raises(error) as refused:
        log_path(ONE, parse_query(query))
    assert str(refused.value) == words


STREAMS = {
    "exec, its command in order": (
        "exec",
        "command=sh&command=-c&command=b%26a&stdout=true&stderr=1&stdin=false&tty=0",
        "/exec/ns/web/main?command=sh&command=-c&command=b%26a&error=1&output=1",
    ),
    "attach with a terminal": (
        "attach",
        "stdin=true&stdout=true&tty=true&command=ignored",
        "/attach/ns/web/main?input=1&output=1&tty=1",
    ),
    "ports": ("portforward", "ports=80&ports=443", "/portForward/ns/web?port=80%2C443"),
    "no ports": ("portforward", "", "/portForward/ns/web?"),
}


@pytest.mark.parametrize(("part", "query", "told"), STREAMS.values(), ids=STREAMS)
def test_stream(part: str, query: str, told: str) -> None:
    assert PATHS[part](ONE, parse_query(query)) == told


@pytest.mark.parametrize("name", ["a", "b", "first", "debug"])
def test_every_kind_of_container_may_be_meant(name: str) -> None:
    assert choose_container(MANY, name) == name


def test_of_several_one_has_to_be_named() -> None:
    with pytest.raises(BadRequest) as refused:
        choose_container(MANY, "")
    assert str(refused.value) == (
        "a container name must be specified for pod web, choose one of: [first a b debug]"
    )
