"""POST pods/<p>/eviction: a deletion by another name, which `kubectl drain` sends."""

from typing import Any

import pytest

from tests.api.answers import message
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import PODS, a_pod

Doc = dict[str, Any]


def an_eviction(name: str, **options: Any) -> Doc:
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name},
        "deleteOptions": options,
    }


@pytest.mark.parametrize("version", ["policy/v1", "policy/v1beta1"])
async def test_a_pod_that_nobody_runs_goes_at_once(api: ApiUnderTest, version: str) -> None:
    await api.post(PODS, a_pod("web"))
    eviction = {**an_eviction("web"), "apiVersion": version}
    answer = await api.post(f"{PODS}/web/eviction", eviction)
    assert (answer.code, answer.doc["status"]) == (201, "Success")
    assert (await api.get(f"{PODS}/web")).code == 404


async def test_a_running_pod_is_given_the_time_that_was_asked_for(api: ApiUnderTest) -> None:
    pod = a_pod("web")
    pod["spec"]["nodeName"] = "n1"
    await api.post(PODS, pod)
    evicted = await api.post(f"{PODS}/web/eviction", an_eviction("web", gracePeriodSeconds=7))
    assert evicted.code == 201
    left = (await api.get(f"{PODS}/web")).doc
    assert left["metadata"]["deletionGracePeriodSeconds"] == 7
    (condition,) = left["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "EvictionByEvictionAPI")


REFUSED = {
    "a pod that is not there": ("ghost", an_eviction("ghost"), 404),
    "another pod than the URL names": ("web", an_eviction("other"), 400),
    "no eviction": ("web", a_pod("web"), 400),
    "the uid of another pod": ("web", an_eviction("web", preconditions={"uid": "x"}), 409),
    "a policy that does not exist": ("web", an_eviction("web", propagationPolicy="Odd"), 422),
}


@pytest.mark.parametrize(("name", "eviction", "code"), REFUSED.values(), ids=REFUSED)
async def test_what_is_refused(api: ApiUnderTest, name: str, eviction: Doc, code: int) -> None:
    await api.post(PODS, a_pod("web"))
    answer = await api.post(f"{PODS}/{name}/eviction", eviction)
    assert answer.code == code, message(answer)
    assert "conditions" not in (await api.get(f"{PODS}/web")).doc["status"]


@pytest.mark.parametrize("where", ["query", "options"])
async def test_a_dry_run_evicts_nothing(api: ApiUnderTest, where: str) -> None:
    await api.post(PODS, a_pod("web"))
    url = f"{PODS}/web/eviction" + ("?dryRun=All" if where == "query" else "")
    options = {"dryRun": ["All"]} if where == "options" else {}
    assert (await api.post(url, an_eviction("web", **options))).code == 201
    assert (await api.get(f"{PODS}/web")).code == 200
