"""`/mooring/v1/csi-calls`: the CSI calls of this process, for those who may read that path."""

import pytest

from mooring.apiserver.request.message import Stream
from mooring.csi.call_log import CallLog
from mooring.csi.call_query import PATH
from mooring.stack.csi_calls_page import CsiCallsPage
from tests.fakes.api import ApiUnderTest
from tests.fakes.clock import settle

PUBLISH = "/csi.v1.Node/NodePublishVolume"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
READER = "mooring:csi-calls"


@pytest.fixture
def log(api: ApiUnderTest) -> CallLog:
    log = CallLog(most_calls=100)
    api.parts.pages.add(PATH, CsiCallsPage(api.clock, log).answer)
    return log


def finish(api: ApiUnderTest, log: CallLog, volume: str, seconds: float = 0.25) -> None:
    call = log.begin("d.example.com", PUBLISH, api.clock.now(), api.clock.monotonic())
    log.named(call, volume)
    log.end(call, "OK", seconds)


async def test_calls_in_flight_come_first_then_the_newest(api: ApiUnderTest, log: CallLog) -> None:
    finish(api, log, "old")
    finish(api, log, "new")
    log.named(log.begin("d.example.com", PUBLISH, api.clock.now(), 0.0), "stuck")
    await api.clock.advance(3)
    answer = await api.get(PATH)
    assert answer.code == 200, answer.text
    assert answer.header("cache-control") == "no-store"
    shown = [(one["volume"], one["seconds"]) for one in answer.doc["calls"]]
    assert shown == [("stuck", 3.0), ("new", 0.25), ("old", 0.25)]
    assert answer.doc["calls"][0]["inFlight"] is True
    assert answer.doc["process"]["pid"] > 0


async def test_only_the_calls_that_are_asked_for(api: ApiUnderTest, log: CallLog) -> None:
    finish(api, log, "fast", 0.01)
    finish(api, log, "slow", 4.0)
    assert [c["volume"] for c in (await api.get(f"{PATH}?slow=1s")).doc["calls"]] == ["slow"]
    assert [c["volume"] for c in (await api.get(f"{PATH}?volume=fast")).doc["calls"]] == ["fast"]
    assert (await api.get(f"{PATH}?driver=other")).doc["calls"] == []
    refused = await api.get(f"{PATH}?slow=soon")
    assert (refused.code, refused.doc["reason"]) == (400, "BadRequest"), refused.text


async def test_a_watch_brings_what_is_there_and_then_every_change(
    api: ApiUnderTest, log: CallLog
) -> None:
    finish(api, log, "before")
    watching = await api.watch(f"{PATH}?watch=1")
    call = log.begin("d.example.com", PUBLISH, api.clock.now(), api.clock.monotonic())
    log.named(call, "v")
    await settle()
    log.end(call, "Internal", 1.0)
    await settle()
    seen = [(one["type"], one["call"]["volume"]) for one in watching.events]
    assert seen == [("FINISHED", "before"), ("STARTED", "v"), ("FINISHED", "v")]
    watching.end()
    finish(api, log, "after")
    await settle()
    assert len(watching.events) == 3


async def test_a_client_that_does_not_read_costs_nothing_and_hears_what_it_missed(
    api: ApiUnderTest, log: CallLog
) -> None:
    finish(api, log, "first")
    watching = await api.watch(f"{PATH}?watch=1")
    await settle()
    watching.pause()
    for _ in range(150):
        finish(api, log, "v")
    await settle()
    assert len(watching.events) == 1
    watching.resume()
    await settle()
    assert watching.events[1]["type"] == "LOST"
    assert watching.events[1]["lost"] == 50
    assert len(watching.events) == 102
    watching.end()


async def test_a_watch_counts_as_a_stream_of_its_user(api: ApiUnderTest, log: CallLog) -> None:
    opened = []
    while isinstance(answer := await api.send("GET", f"{PATH}?watch=1"), Stream):
        opened.append(answer)
        assert len(opened) < 10_000, "there is no end to them"
    assert answer.status == 429
    for stream in opened:
        stream.source.on_closed()
    assert isinstance(await api.send("GET", f"{PATH}?watch=1"), Stream)


async def test_who_may_not_get_the_path_is_refused_and_a_role_allows_it(
    api: ApiUnderTest, log: CallLog
) -> None:
    token = api.token_of("scheduler")
    refused = await api.ask("GET", PATH, token=token)
    assert refused.code == 403, refused.text
    rules = [{"nonResourceURLs": [PATH], "verbs": ["get"]}]
    made = await api.post(f"{RBAC}/clusterroles", {"metadata": {"name": READER}, "rules": rules})
    assert made.code == 201, made.text
    binding = {
        "metadata": {"name": READER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER},
        "subjects": [
            {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "User",
                "name": "system:kube-scheduler",
            }
        ],
    }
    bound = await api.post(f"{RBAC}/clusterrolebindings", binding)
    assert bound.code == 201, bound.text
    allowed = await api.ask("GET", PATH, token=token)
    assert allowed.code == 200, allowed.text


SPELLINGS = (PATH, f"{PATH}/", f"/{PATH}", PATH.replace("csi", "%63si"), f"/api/..{PATH}")


@pytest.mark.parametrize("who", ["node:n1", "namespaced", "nobody", "nonsense"])
@pytest.mark.parametrize("path", SPELLINGS)
@pytest.mark.parametrize("query", ["", "?watch=1"])
async def test_no_spelling_lets_in_who_has_no_right(
    who: str, path: str, query: str, api: ApiUnderTest, log: CallLog
) -> None:
    """A node, an account with all rights in one namespace, and nobody at all."""
    finish(api, log, "hidden-volume")
    api.token = await _token(who, api)
    answer = await api.ask("GET", f"{path}{query}")
    assert answer.code in {301, 400, 401, 403, 404}, answer.text
    assert "hidden-volume" not in answer.text


async def _token(who: str, api: ApiUnderTest) -> str | None:
    if who.startswith("node:"):
        return api.token_of(who)
    if who != "namespaced":
        return None if who == "nobody" else "no-token"
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    await api.post(accounts, {"metadata": {"name": "tenant"}})
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    local = f"{RBAC}/namespaces/default"
    await api.post(f"{local}/roles", {"metadata": {"name": "all"}, "rules": everything})
    subject = {"kind": "ServiceAccount", "name": "tenant", "namespace": "default"}
    binding = {
        "metadata": {"name": "all"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "all"},
        "subjects": [subject],
    }
    assert (await api.post(f"{local}/rolebindings", binding)).code == 201
    made = await api.post(f"{accounts}/tenant/token", {"spec": {}})
    assert made.code == 201, made.text
    return str(made.doc["status"]["token"])


async def test_it_is_read_and_not_written(api: ApiUnderTest, log: CallLog) -> None:
    assert (await api.post(PATH, {})).code == 405


async def test_a_server_without_other_roles_has_no_such_page(api: ApiUnderTest) -> None:
    assert (await api.get(PATH)).code == 404
