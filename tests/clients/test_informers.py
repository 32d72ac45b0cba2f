"""What the informers of client-go rely on, over a real connection: lists that become watches."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

from tests.clients.manifests import Doc, a_config_map
from tests.fakes.real_server import RealServer

END = "k8s.io/initial-events-end"


def path_of(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


@contextmanager
def watching(server: RealServer, path: str, **query: str) -> Iterator[Iterator[Doc]]:
    """The events of a watch, as they come."""
    connection = server.connect()
    connection.request(
        "GET",
        f"{path}?{urlencode({'watch': 'true', 'timeoutSeconds': '60'} | query)}",
        headers={"Authorization": f"Bearer {server.token()}"},
    )
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    try:
        yield events(answer)
    finally:
        connection.close()


def events(answer: http.client.HTTPResponse) -> Iterator[Doc]:
    while line := answer.readline():
        yield json.loads(line)


def create(server: RealServer, namespace: str, name: str) -> Doc:
    answer = server.ask("POST", path_of(namespace), a_config_map(name))
    assert answer.code == 201
    return answer.doc


def version(doc: Doc) -> int:
    return int(doc["metadata"]["resourceVersion"])


STREAMING = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}


def test_a_streaming_list_ends_with_a_bookmark_and_goes_on_live(
    server: RealServer, namespace: str
) -> None:
    wanted = {create(server, namespace, f"m{number}")["metadata"]["name"] for number in range(3)}

    with watching(server, path_of(namespace), **STREAMING) as stream:
        seen = set()
        for event in stream:
            if event["type"] == "BOOKMARK":
                break
            assert event["type"] == "ADDED"
            seen.add(event["object"]["metadata"]["name"])
        assert seen == wanted | {"kube-root-ca.crt"}
        end = event["object"]
        assert end["kind"] == "ConfigMap"
        assert end["metadata"]["annotations"] == {END: "true"}
        assert "name" not in end["metadata"]
        late = create(server, namespace, "late")
        event = next(stream)
        assert (event["type"], event["object"]) == ("ADDED", late)
        assert version(late) > version(end)


def test_a_streaming_list_of_nothing_ends_at_once(server: RealServer, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"

    with watching(server, path, **STREAMING) as stream:
        event = next(stream)

    assert event["type"] == "BOOKMARK"
    assert event["object"]["metadata"]["annotations"] == {END: "true"}


def test_a_list_and_a_watch_from_it_miss_nothing(server: RealServer, namespace: str) -> None:
    create(server, namespace, "before")
    listed = server.ask("GET", f"{path_of(namespace)}?limit=500&resourceVersion=0").doc
    create(server, namespace, "between")

    with watching(
        server, path_of(namespace), resourceVersion=listed["metadata"]["resourceVersion"]
    ) as stream:
        create(server, namespace, "after")
        server.ask("DELETE", f"{path_of(namespace)}/before")
        seen = [next(stream) for _ in range(3)]

    assert [(event["type"], event["object"]["metadata"]["name"]) for event in seen] == [
        ("ADDED", "between"),
        ("ADDED", "after"),
        ("DELETED", "before"),
    ]
    versions = [version(event["object"]) for event in seen]
    assert versions == sorted(set(versions))
    assert min(versions) > version(listed)


def test_a_broken_watch_goes_on_where_it_was(server: RealServer, namespace: str) -> None:
    first = create(server, namespace, "first")
    with watching(server, path_of(namespace), resourceVersion=str(version(first))) as stream:
        second = create(server, namespace, "second")
        assert next(stream)["object"] == second

    third = create(server, namespace, "third")

    with watching(server, path_of(namespace), resourceVersion=str(version(second))) as stream:
        assert next(stream)["object"] == third


def test_a_streaming_list_by_pages_of_many(server: RealServer, namespace: str) -> None:
    """More than fits one write of the server."""
    count = 700
    connection = server.connect()
    headers = {"Authorization": f"Bearer {server.token()}", "Content-Type": "application/json"}
    for number in range(count):
        body = json.dumps(a_config_map(f"m{number}", text="x" * 500))
        connection.request("POST", path_of(namespace), body, headers)
        assert connection.getresponse().read()
    connection.close()

    with watching(server, path_of(namespace), **STREAMING) as stream:
        names = []
        for event in stream:
            if event["type"] == "BOOKMARK":
                break
            names.append(event["object"]["metadata"]["name"])

    assert len(names) == len(set(names)) == count + 1
