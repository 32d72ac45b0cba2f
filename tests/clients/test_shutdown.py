"""The end of a server, as its clients see it."""

import json
import time

from tests.clients.manifests import a_config_map
from tests.fakes.real_server import RealServer

PROMPTLY = 4.0  # seconds; requests under way are given five


def test_a_client_that_sits_on_its_connection_does_not_hold_up_the_end(
    own_server: RealServer,
) -> None:
    connection = own_server.connect()
    connection.request("GET", "/version")
    connection.getresponse().read()

    began = time.monotonic()
    assert own_server.stop() == 0

    assert time.monotonic() - began < PROMPTLY
    connection.close()


def test_a_watch_ends_cleanly(own_server: RealServer) -> None:
    token = {"Authorization": f"Bearer {own_server.token()}"}
    connection = own_server.connect()
    path = "/api/v1/namespaces/default/configmaps"
    assert own_server.ask("POST", path, a_config_map()).code == 201
    connection.request("GET", f"{path}?watch=true", headers=token)
    answer = connection.getresponse()
    assert json.loads(answer.readline())["type"] == "ADDED"

    assert own_server.stop() == 0

    rest = answer.read()  # raises when the stream is cut off
    assert all(json.loads(line)["type"] == "ADDED" for line in rest.splitlines())
    connection.close()
