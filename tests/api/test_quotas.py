"""Quotas and limit ranges: what a namespace may take, and what each of its objects."""

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mooring.apiserver.admission.quota_usage import more, usage_of
from mooring.apiserver.documents.document import to_put
from mooring.apiserver.kinds.claim import CLAIM
from mooring.apiserver.kinds.config_map import CONFIG_MAP
from mooring.model.quantity import parse
from tests.api.answers import message, refusal
from tests.api.definitions import define
from tests.fakes.api import Answered, ApiUnderTest
from tests.fakes.clock import settle
from tests.fakes.definitions import WIDGETS, a_definition, a_version, a_widget
from tests.fakes.objects import (
    CLAIMS,
    CONFIG_MAPS,
    LIMIT_RANGES,
    PODS,
    QUOTAS,
    Doc,
    a_claim,
    a_config_map,
    a_limit_range,
    a_pod,
    a_quota,
)


async def quota(api: ApiUnderTest, **hard: str) -> None:
    assert (await api.post(QUOTAS, a_quota(**hard))).code == 201
    await settle()


async def used(api: ApiUnderTest) -> Doc:
    await settle()
    return dict((await api.get(f"{QUOTAS}/quota")).doc["status"]["used"])


async def test_storage_is_charged_when_it_is_asked_for(api: ApiUnderTest) -> None:
    await quota(api, **{"requests.storage": "10Gi", "persistentvolumeclaims": "5"})
    assert (await api.post(CLAIMS, a_claim("one", "8Gi"))).code == 201
    answer = await api.post(CLAIMS, a_claim("two", "5Gi"))
    assert refusal(answer) == (403, "Forbidden")
    assert message(answer) == (
        'persistentvolumeclaims "two" is forbidden: exceeded quota: quota, '
        "requested: requests.storage=5Gi, used: requests.storage=8Gi, "
        "limited: requests.storage=10Gi"
    )
    assert await used(api) == {"requests.storage": "8Gi", "persistentvolumeclaims": "1"}
    dry = await api.post(f"{CLAIMS}?dryRun=All", a_claim("two", "5Gi"))
    assert refusal(dry) == (403, "Forbidden")


async def test_what_goes_is_given_back(api: ApiUnderTest) -> None:
    await quota(api, **{"count/configmaps": "1"})
    await settle()
    # `kube-root-ca.crt` is there already
    answer = await api.post(CONFIG_MAPS, a_config_map("one"))
    assert message(answer).endswith(
        "exceeded quota: quota, requested: count/configmaps=1, used: count/configmaps=1, "
        "limited: count/configmaps=1"
    )
    await api.delete(f"{CONFIG_MAPS}/kube-root-ca.crt")
    await settle()
    assert (await used(api))["count/configmaps"] in ("0", "1"), "it may be made again at once"


async def test_objects_of_a_kind_with_two_versions_are_counted_once(api: ApiUnderTest) -> None:
    versions = [a_version("v1"), a_version("v1beta1", storage=False)]
    await define(api, a_definition(versions=versions))
    await quota(api, **{"count/widgets.example.com": "3"})
    for name in ("a", "b", "c"):
        assert (await api.post(WIDGETS, a_widget(name))).code == 201
    await api.delete(f"{WIDGETS}/c")
    assert await used(api) == {"count/widgets.example.com": "2"}


async def test_a_claim_that_shrinks_before_it_has_grown_gives_back(api: ApiUnderTest) -> None:
    await quota(api, **{"requests.storage": "10Gi"})
    grows = {"metadata": {"name": "grows"}, "provisioner": "p", "allowVolumeExpansion": True}
    await api.post("/apis/storage.k8s.io/v1/storageclasses", grows)
    claim = a_claim("one", "1Gi")
    claim["spec"]["storageClassName"] = "grows"
    assert (await api.post(CLAIMS, claim)).code == 201
    assert (await api.patch(f"{CLAIMS}/one", {"spec": {"volumeName": "v"}})).code == 200
    bound = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    assert (await api.patch(f"{CLAIMS}/one/status", {"status": bound})).code == 200
    for size in ("8Gi", "2Gi"):
        request = {"resources": {"requests": {"storage": size}}}
        changed = await api.patch(f"{CLAIMS}/one", {"spec": request})
        assert changed.code == 200, changed.text
        assert await used(api) == {"requests.storage": size}


async def test_storage_of_one_class(api: ApiUnderTest) -> None:
    fast = "fast.storageclass.storage.k8s.io"
    await quota(api, **{f"{fast}/requests.storage": "3Gi", f"{fast}/persistentvolumeclaims": "1"})
    assert (await api.post(CLAIMS, a_claim("a", "9Gi", storageClassName="slow"))).code == 201
    assert (await api.post(CLAIMS, a_claim("b", "2Gi", storageClassName="fast"))).code == 201
    answer = await api.post(CLAIMS, a_claim("c", "1Gi", storageClassName="fast"))
    assert message(answer).endswith(
        f"exceeded quota: quota, requested: {fast}/persistentvolumeclaims=1, "
        f"used: {fast}/persistentvolumeclaims=1, limited: {fast}/persistentvolumeclaims=1"
    )


async def test_a_pod_says_what_a_quota_counts(api: ApiUnderTest) -> None:
    await quota(api, **{"requests.cpu": "1", "limits.memory": "1Gi", "pods": "2"})
    answer = await api.post(PODS, a_pod("web"))
    assert message(answer).endswith(
        "failed quota: quota: must specify limits.memory for: main; requests.cpu for: main"
    )
    pod = a_pod("web")
    wanted = {"requests": {"cpu": "600m"}, "limits": {"memory": "200Mi"}}
    pod["spec"]["containers"][0]["resources"] = wanted
    assert (await api.post(PODS, pod)).code == 201
    pod["metadata"]["name"] = "web2"
    answer = await api.post(PODS, pod)
    assert message(answer).endswith(
        "exceeded quota: quota, requested: requests.cpu=600m, used: requests.cpu=600m, "
        "limited: requests.cpu=1"
    )
    await api.patch(f"{PODS}/web/status", {"status": {"phase": "Succeeded"}})
    assert (await used(api))["requests.cpu"] == "0", "it is over"
    assert (await api.post(PODS, pod)).code == 201


async def test_what_was_begun_before_the_quota_was_there_is_counted_soon(
    api: ApiUnderTest,
) -> None:
    new = a_config_map("one")
    async with api.parts.backend.charging.charged(CONFIG_MAP, "default", new, dry_run=False):
        await quota(api, **{"count/configmaps": "9"})
        assert (await used(api))["count/configmaps"] == "1"
        await api.parts.backend.store.write(
            CONFIG_MAP.store_table, "default/one", lambda _: to_put(new)
        )
    await api.clock.advance(1)
    assert (await used(api))["count/configmaps"] == "2"


async def test_a_write_that_fails_takes_nothing(api: ApiUnderTest) -> None:
    await quota(api, persistentvolumeclaims="5")
    assert (await api.post(CLAIMS, a_claim("one"))).code == 201
    assert (await api.post(CLAIMS, a_claim("one"))).code == 409
    assert (await used(api))["persistentvolumeclaims"] == "1"


async def test_a_quota_that_nobody_has_counted_allows_nothing(api: ApiUnderTest) -> None:
    created = await api.post(QUOTAS, a_quota(persistentvolumeclaims="5"))
    assert created.code == 201
    answer = await api.post(CLAIMS, a_claim("one"))
    if answer.code != 201:  # the count may have been faster
        assert message(answer).endswith(
            "status unknown for quota: quota, resources: persistentvolumeclaims"
        )


async def scoped(api: ApiUnderTest, *scopes: str, **hard: str) -> None:
    doc = a_quota(**hard)
    doc["spec"]["scopes"] = list(scopes)
    assert (await api.post(QUOTAS, doc)).code == 201
    await settle()


async def test_a_quota_counts_what_is_in_its_scope(api: ApiUnderTest) -> None:
    await scoped(api, "BestEffort", pods="1")
    assert (await api.post(PODS, a_pod("careless"))).code == 201
    answer = await api.post(PODS, a_pod("another"))
    assert message(answer).endswith(
        "exceeded quota: quota, requested: pods=1, used: pods=1, limited: pods=1"
    )
    careful = a_pod("careful")
    careful["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    assert (await api.post(PODS, careful)).code == 201
    assert await used(api) == {"pods": "1"}


async def test_a_pod_says_nothing_for_a_quota_whose_scope_it_is_not_in(api: ApiUnderTest) -> None:
    await scoped(api, "NotBestEffort", **{"requests.cpu": "1"})
    assert (await api.post(PODS, a_pod("careless"))).code == 201
    assert await used(api) == {"requests.cpu": "0"}


async def test_a_change_brings_a_pod_into_a_scope_or_is_refused(api: ApiUnderTest) -> None:
    await scoped(api, "Terminating", pods="1")
    for name in ("one", "two"):
        assert (await api.post(PODS, a_pod(name))).code == 201
    ends = {"spec": {"activeDeadlineSeconds": 60}}
    assert (await api.patch(f"{PODS}/one", ends)).code == 200
    assert await used(api) == {"pods": "1"}
    answer = await api.patch(f"{PODS}/two", ends)
    assert message(answer).endswith(
        "exceeded quota: quota, requested: pods=1, used: pods=1, limited: pods=1"
    )


async def test_claims_of_a_class_of_attributes(api: ApiUnderTest) -> None:
    doc = a_quota(**{"requests.storage": "2Gi"})
    gold = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]}
    doc["spec"]["scopeSelector"] = {"matchExpressions": [gold]}
    assert (await api.post(QUOTAS, doc)).code == 201
    await settle()
    assert (await api.post(CLAIMS, a_claim("plain", "9Gi"))).code == 201
    fine = a_claim("fine", "1Gi", volumeAttributesClassName="gold")
    assert (await api.post(CLAIMS, fine)).code == 201
    assert await used(api) == {"requests.storage": "1Gi"}
    fine = a_claim("finer", "2Gi", volumeAttributesClassName="gold")
    assert refusal(await api.post(CLAIMS, fine)) == (403, "Forbidden")
    bound = {"currentVolumeAttributesClassName": "gold"}
    assert (await api.patch(f"{CLAIMS}/plain/status", {"status": bound})).code == 200
    assert await used(api) == {"requests.storage": "10Gi"}


async def test_scopes_stay_as_they_are(api: ApiUnderTest) -> None:
    await scoped(api, "Terminating", pods="1")
    answer = await api.patch(f"{QUOTAS}/quota", {"spec": {"scopes": ["NotTerminating"]}})
    assert message(answer).endswith(
        'spec.scopes: Invalid value: ["NotTerminating"]: field is immutable'
    )


async def test_many_at_once_spend_no_more_than_there_is(api: ApiUnderTest) -> None:
    await quota(api, **{"requests.storage": "5Gi"})

    async def ask(number: int) -> Answered:
        return await api.post(CLAIMS, a_claim(f"c{number}", "1Gi"))

    answers = await asyncio.gather(*(ask(number) for number in range(12)))
    assert sorted(answer.code for answer in answers) == [201] * 5 + [403] * 7
    assert await used(api) == {"requests.storage": "5Gi"}


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    actions=st.lists(
        st.tuples(st.sampled_from(("create", "delete")), st.integers(0, 5), st.integers(1, 4)),
        max_size=25,
    )
)
async def test_a_quota_is_never_overspent(
    api: ApiUnderTest, actions: list[tuple[str, int, int]]
) -> None:
    await api.post(QUOTAS, a_quota(**{"requests.storage": "7Gi"}))
    await settle()
    waiting = []
    for action, number, size in actions:
        path = f"{CLAIMS}/c{number}"
        if action == "create":
            waiting.append(
                asyncio.create_task(api.post(CLAIMS, a_claim(f"c{number}", f"{size}Gi")))
            )
        else:
            await api.patch(path, {"metadata": {"finalizers": None}})
            await api.delete(path)
        await settle(1)
        assert await _taken(api) <= 7
    await asyncio.gather(*waiting)
    assert await _taken(api) <= 7
    for claim in (await api.get(CLAIMS)).doc["items"]:
        name = claim["metadata"]["name"]
        await api.patch(f"{CLAIMS}/{name}", {"metadata": {"finalizers": None}})
        await api.delete(f"{CLAIMS}/{name}")
    await settle(50)
    assert (await used(api))["requests.storage"] == "0"


async def _taken(api: ApiUnderTest) -> int:
    items = (await api.get(CLAIMS)).doc["items"]
    sizes = (item["spec"]["resources"]["requests"]["storage"] for item in items)
    return sum(int(size.removesuffix("Gi")) for size in sizes)


def test_a_change_takes_what_it_adds() -> None:
    new, old = (usage_of(CLAIM, a_claim("x", size)) for size in ("5Gi", "3Gi"))
    assert more(new, old) == {"requests.storage": parse("2Gi")}
    assert more(old, new) == {}


def test_a_claim_takes_what_its_volume_may_have_grown_to() -> None:
    claim = a_claim("x", "2Gi")
    claim["status"] = {"allocatedResources": {"storage": "8Gi"}}
    assert usage_of(CLAIM, claim)["requests.storage"] == parse("8Gi")


CLAIM_LIMITS: dict[str, tuple[str, str]] = {
    "too small": (
        "500Mi",
        "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi",
    ),
    "too large": (
        "5Gi",
        "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 5Gi",
    ),
}


@pytest.mark.parametrize(("size", "said"), CLAIM_LIMITS.values(), ids=CLAIM_LIMITS)
async def test_a_claim_stays_within_its_limits(api: ApiUnderTest, size: str, said: str) -> None:
    await api.post(LIMIT_RANGES, a_limit_range())
    answer = await api.post(CLAIMS, a_claim("data", size))
    assert refusal(answer) == (403, "Forbidden")
    assert message(answer) == f'persistentvolumeclaims "data" is forbidden: {said}'
    assert (await api.post(CLAIMS, a_claim("data", "1Gi"))).code == 201


async def test_containers_get_defaults_and_limits(api: ApiUnderTest) -> None:
    limit: dict[str, Any] = {
        "type": "Container",
        "max": {"cpu": "1"},
        "defaultRequest": {"cpu": "200m"},
        "default": {"cpu": "500m"},
    }
    assert (await api.post(LIMIT_RANGES, a_limit_range(**limit))).code == 201
    made = (await api.post(PODS, a_pod("web"))).doc
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "500m"},
        "requests": {"cpu": "200m"},
    }
    assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu request for container main; cpu limit for container main"
    )
    pod = a_pod("greedy")
    pod["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "2"}}
    answer = await api.post(PODS, pod)
    assert message(answer) == (
        'pods "greedy" is forbidden: maximum cpu usage per Container is 1, but limit is 2'
    )


async def test_limits_that_contradict_each_other(api: ApiUnderTest) -> None:
    limit: dict[str, Any] = {"min": {"storage": "3Gi"}, "max": {"storage": "2Gi"}}
    answer = await api.post(LIMIT_RANGES, a_limit_range(**limit))
    assert message(answer).endswith(
        'spec.limits[0].min[storage]: Invalid value: "3Gi": min value 3Gi is greater than max '
        "value 2Gi"
    )
