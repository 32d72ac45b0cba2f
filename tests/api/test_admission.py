"""Admission: what rules over several objects add to writes, and what they refuse."""

from typing import Any

import pytest

from tests.api.answers import message, refusal
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    ATTRIBUTES_CLASSES,
    CLAIMS,
    CLASSES,
    CONFIG_MAPS,
    PODS,
    PRIORITY_CLASSES,
    SERVICE_ACCOUNTS,
    VOLUMES,
    a_claim,
    a_class,
    a_config_map,
    a_pod,
    a_priority_class,
    a_service_account,
    a_volume,
    an_attributes_class,
)

Doc = dict[str, Any]

DEFAULT = "storageclass.kubernetes.io/is-default-class"
BETA_DEFAULT = "storageclass.beta.kubernetes.io/is-default-class"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"

# the default storage class


async def add_class(
    api: ApiUnderTest, name: str, after: float = 0, annotation: str = DEFAULT, value: str = "true"
) -> None:
    await api.clock.advance(after)
    doc = a_class(name)
    doc["metadata"]["annotations"] = {annotation: value}
    assert (await api.post(CLASSES, doc)).code == 201


async def class_of_a_new_claim(api: ApiUnderTest, **spec: Any) -> str | None:
    answer = await api.post(CLAIMS, a_claim(**spec))
    assert answer.code == 201, answer.text
    found: str | None = answer.doc["spec"].get("storageClassName")
    return found


async def test_without_a_default_class_a_claim_gets_none(api: ApiUnderTest) -> None:
    await api.post(CLASSES, a_class("fast"))
    assert await class_of_a_new_claim(api) is None


@pytest.mark.parametrize("annotation", [DEFAULT, BETA_DEFAULT])
async def test_a_claim_without_a_class_gets_the_default_one(
    api: ApiUnderTest, annotation: str
) -> None:
    await api.post(CLASSES, a_class("fast"))
    await add_class(api, "usual", annotation=annotation)
    assert await class_of_a_new_claim(api) == "usual"


@pytest.mark.parametrize("value", ["false", "True", "1", ""])
async def test_a_class_is_the_default_only_when_it_says_true(api: ApiUnderTest, value: str) -> None:
    await add_class(api, "usual", value=value)
    assert await class_of_a_new_claim(api) is None


async def test_of_two_default_classes_the_newest_is_chosen(api: ApiUnderTest) -> None:
    await add_class(api, "a")
    await add_class(api, "z", after=10)
    assert await class_of_a_new_claim(api) == "z"


async def test_of_two_default_classes_of_the_same_age_the_first_by_name_is_chosen(
    api: ApiUnderTest,
) -> None:
    for name in ("b", "a", "c"):
        await add_class(api, name)
    assert await class_of_a_new_claim(api) == "a"


async def test_an_empty_class_name_means_no_class(api: ApiUnderTest) -> None:
    await add_class(api, "usual")
    assert await class_of_a_new_claim(api, storageClassName="") == ""


async def test_a_class_that_was_chosen_stays(api: ApiUnderTest) -> None:
    await add_class(api, "usual")
    assert await class_of_a_new_claim(api, storageClassName="other") == "other"


async def test_the_old_annotation_is_a_choice_as_well(api: ApiUnderTest) -> None:
    await add_class(api, "usual")
    claim = a_claim()
    claim["metadata"]["annotations"] = {BETA_CLASS: "other"}
    assert "storageClassName" not in (await api.post(CLAIMS, claim)).doc["spec"]


async def test_a_claim_that_exists_is_left_to_the_controller(api: ApiUnderTest) -> None:
    await api.post(CLAIMS, a_claim())
    await add_class(api, "usual")
    answer = await api.patch(f"{CLAIMS}/data", {"metadata": {"labels": {"a": "b"}}})
    assert "storageClassName" not in answer.doc["spec"]


# protection of what is in use

PROTECTED: dict[str, tuple[str, Doc, str]] = {
    "a claim": (CLAIMS, a_claim("x"), "kubernetes.io/pvc-protection"),
    "a volume": (VOLUMES, a_volume("x"), "kubernetes.io/pv-protection"),
    "a class of attributes": (
        ATTRIBUTES_CLASSES,
        an_attributes_class("x"),
        "kubernetes.io/vac-protection",
    ),
}


@pytest.mark.parametrize(("url", "doc", "finalizer"), PROTECTED.values(), ids=PROTECTED)
async def test_what_can_be_in_use_is_born_protected(
    api: ApiUnderTest, url: str, doc: Doc, finalizer: str
) -> None:
    answer = await api.post(url, doc)
    assert answer.doc["metadata"]["finalizers"] == [finalizer]
    unprotected = await api.patch(f"{url}/x", {"metadata": {"finalizers": None}})
    assert "finalizers" not in unprotected.doc["metadata"]  # only at birth


@pytest.mark.parametrize(("url", "doc", "finalizer"), PROTECTED.values(), ids=PROTECTED)
async def test_protection_is_added_once_beside_others(
    api: ApiUnderTest, url: str, doc: Doc, finalizer: str
) -> None:
    given = ["example.com/hold", finalizer]
    answer = await api.post(url, doc | {"metadata": {"name": "x", "finalizers": given}})
    assert answer.doc["metadata"]["finalizers"] == given


async def test_nothing_else_is_protected(api: ApiUnderTest) -> None:
    for url, doc in ((CLASSES, a_class("x")), (CONFIG_MAPS, a_config_map("x")), (PODS, a_pod("x"))):
        assert "finalizers" not in (await api.post(url, doc)).doc["metadata"]


# growing claims


async def a_bound_claim(api: ApiUnderTest, **spec: Any) -> None:
    await api.post(CLAIMS, a_claim(storage="2Gi", **spec))
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    answer = await api.patch(f"{CLAIMS}/data/status", {"status": status})
    assert answer.code == 200, answer.text


async def resize(api: ApiUnderTest, storage: str) -> Any:
    patch = {"spec": {"resources": {"requests": {"storage": storage}}}}
    return await api.patch(f"{CLAIMS}/data", patch)


NOT_EXPANDABLE = (
    'persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be resized '
    "and the storageclass that provisions the pvc must support resize"
)


async def test_a_bound_claim_grows_when_its_class_allows_it(api: ApiUnderTest) -> None:
    await api.post(CLASSES, a_class("fast", allowVolumeExpansion=True))
    await a_bound_claim(api, storageClassName="fast")
    answer = await resize(api, "3Gi")
    assert answer.code == 200, answer.text
    assert answer.doc["spec"]["resources"]["requests"] == {"storage": "3Gi"}


@pytest.mark.parametrize(
    "body", [{"allowVolumeExpansion": False}, {}], ids=["says no", "says nothing"]
)
async def test_a_claim_cannot_grow_when_its_class(api: ApiUnderTest, body: Doc) -> None:
    await api.post(CLASSES, a_class("fast", **body))
    await a_bound_claim(api, storageClassName="fast")
    answer = await resize(api, "3Gi")
    assert refusal(answer) == (403, "Forbidden")
    assert message(answer) == NOT_EXPANDABLE


@pytest.mark.parametrize("name", ["", "gone"])
async def test_a_claim_without_a_class_that_exists_cannot_grow(
    api: ApiUnderTest, name: str
) -> None:
    await a_bound_claim(api, storageClassName=name)
    answer = await resize(api, "3Gi")
    assert refusal(answer) == (403, "Forbidden")
    assert message(answer) == NOT_EXPANDABLE


async def test_a_claim_may_shrink_back_to_what_it_has_but_not_below(
    api: ApiUnderTest,
) -> None:
    await a_bound_claim(api, storageClassName="gone")
    assert (await resize(api, "1536Mi")).code == 200  # recovering needs no class
    answer = await resize(api, "512Mi")
    assert refusal(answer) == (422, "Invalid")
    assert "field can not be less than status.capacity" in message(answer)


async def test_an_unbound_claim_cannot_grow(api: ApiUnderTest) -> None:
    await api.post(CLASSES, a_class("fast", allowVolumeExpansion=True))
    await api.post(CLAIMS, a_claim(storageClassName="fast"))
    answer = await resize(api, "3Gi")
    assert refusal(answer) == (422, "Invalid")
    assert "spec is immutable after creation" in message(answer)


# service accounts of pods

MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


async def test_a_pod_runs_as_the_default_account_and_finds_its_token(api: ApiUnderTest) -> None:
    pod = a_pod("web")
    pod["spec"]["initContainers"] = [{"name": "first", "image": "busybox:1"}]
    spec = (await api.post(PODS, pod)).doc["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    assert len(volume["name"]) == len("kube-api-access-") + 5
    assert volume["projected"] == {
        "defaultMode": 0o644,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {
                "configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "namespace",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                        }
                    ]
                }
            },
        ],
    }
    mount = {"name": volume["name"], "readOnly": True, "mountPath": MOUNT_PATH}
    for container in (*spec["containers"], *spec["initContainers"]):
        assert container["volumeMounts"] == [mount]


async def test_two_pods_have_token_volumes_of_different_names(api: ApiUnderTest) -> None:
    specs = [(await api.post(PODS, a_pod(name))).doc["spec"] for name in ("a", "b")]
    assert specs[0]["volumes"][0]["name"] != specs[1]["volumes"][0]["name"]


TOKENS: dict[str, tuple[Doc, Doc, list[str]]] = {
    "the pod wants none": ({"automountServiceAccountToken": False}, {}, []),
    "the account wants none": ({}, {"automountServiceAccountToken": False}, []),
    "the pod wants it, the account does not": (
        {"automountServiceAccountToken": True},
        {"automountServiceAccountToken": False},
        [MOUNT_PATH],
    ),
    "both are silent": ({}, {}, [MOUNT_PATH]),
}


@pytest.mark.parametrize(("spec", "account", "mounted"), TOKENS.values(), ids=TOKENS)
async def test_who_decides_whether_a_token_is_mounted(
    api: ApiUnderTest, spec: Doc, account: Doc, mounted: list[str]
) -> None:
    await api.post(SERVICE_ACCOUNTS, a_service_account("robot") | account)
    pod = a_pod("web")
    pod["spec"] |= {"serviceAccountName": "robot"} | spec
    container = (await api.post(PODS, pod)).doc["spec"]["containers"][0]
    assert [mount["mountPath"] for mount in container.get("volumeMounts", ())] == mounted


async def test_a_container_that_brings_its_own_token_keeps_it(api: ApiUnderTest) -> None:
    pod = a_pod("web")
    pod["spec"]["volumes"] = [{"name": "own", "emptyDir": {}}]
    own = {"name": "own", "mountPath": MOUNT_PATH}
    pod["spec"]["containers"][0]["volumeMounts"] = [own]
    spec = (await api.post(PODS, pod)).doc["spec"]
    assert [volume["name"] for volume in spec["volumes"]] == ["own"]
    assert spec["containers"][0]["volumeMounts"] == [own]


@pytest.mark.parametrize("field", ["serviceAccountName", "serviceAccount"])
async def test_an_account_that_is_missing_is_named(api: ApiUnderTest, field: str) -> None:
    pod = a_pod("web")
    pod["spec"][field] = "ghost"
    answer = await api.post(PODS, pod)
    assert refusal(answer) == (403, "Forbidden")
    assert message(answer) == (
        'pods "web" is forbidden: error looking up service account default/ghost: '
        'serviceaccount "ghost" not found'
    )


async def test_the_secrets_to_pull_images_with_come_from_the_account(api: ApiUnderTest) -> None:
    account = a_service_account("robot") | {"imagePullSecrets": [{"name": "registry"}]}
    await api.post(SERVICE_ACCOUNTS, account)
    for name, own, expected in (("a", None, "registry"), ("b", "mine", "mine")):
        pod = a_pod(name)
        pod["spec"]["serviceAccountName"] = "robot"
        if own:
            pod["spec"]["imagePullSecrets"] = [{"name": own}]
        stored = (await api.post(PODS, pod)).doc["spec"]
        assert stored["imagePullSecrets"] == [{"name": expected}]


async def test_a_mirror_pod_has_no_account(api: ApiUnderTest) -> None:
    pod = a_pod("web", node="n1")
    pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "hash"}
    spec = (await api.post(PODS, pod)).doc["spec"]
    assert not spec.keys() & {"serviceAccountName", "volumes"}
    pod["spec"]["serviceAccountName"] = "default"
    pod["metadata"]["name"] = "other"
    answer = await api.post(PODS, pod)
    assert refusal(answer) == (403, "Forbidden")
    assert "a mirror pod may not reference service accounts" in message(answer)


# priorities of pods

PRIORITIES = {
    "": 0,
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


@pytest.mark.parametrize(("name", "priority"), PRIORITIES.items())
async def test_the_class_of_a_pod_is_its_priority(
    api: ApiUnderTest, name: str, priority: int
) -> None:
    pod = a_pod("web")
    if name:
        pod["spec"]["priorityClassName"] = name
    spec = (await api.post(PODS, pod)).doc["spec"]
    assert spec["priority"] == priority
    assert spec["preemptionPolicy"] == "PreemptLowerPriority"


async def test_a_class_gives_its_priority_and_its_policy(api: ApiUnderTest) -> None:
    created = await api.post(
        PRIORITY_CLASSES, a_priority_class("vip", 77, preemptionPolicy="Never")
    )
    assert created.code == 201, created.text
    pod = a_pod("web")
    pod["spec"]["priorityClassName"] = "vip"
    spec = (await api.post(PODS, pod)).doc["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (77, "Never")


async def test_pods_without_a_class_get_the_default_one(api: ApiUnderTest) -> None:
    await api.post(PRIORITY_CLASSES, a_priority_class("usual", 5, globalDefault=True))
    spec = (await api.post(PODS, a_pod("web"))).doc["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (5, "usual")


async def test_there_is_one_default_priority_class(api: ApiUnderTest) -> None:
    await api.post(PRIORITY_CLASSES, a_priority_class("usual", 5, globalDefault=True))
    said = "PriorityClass usual is already marked as default. Only one default can exist"
    answer = await api.post(PRIORITY_CLASSES, a_priority_class("other", globalDefault=True))
    assert refusal(answer) == (403, "Forbidden")
    assert message(answer) == (f'priorityclasses.scheduling.k8s.io "other" is forbidden: {said}')
    await api.post(PRIORITY_CLASSES, a_priority_class("other"))
    answer = await api.patch(f"{PRIORITY_CLASSES}/other", {"globalDefault": True})
    assert refusal(answer) == (403, "Forbidden")
    answer = await api.patch(f"{PRIORITY_CLASSES}/usual", {"description": "x"})
    assert answer.code == 200, answer.text


async def test_the_classes_of_the_system_stay(api: ApiUnderTest) -> None:
    name = "system-node-critical"
    created = await api.post(PRIORITY_CLASSES, a_priority_class(name, 2_000_001_000))
    assert created.code == 201, created.text
    answer = await api.delete(f"{PRIORITY_CLASSES}/{name}")
    assert refusal(answer) == (403, "Forbidden")
    assert message(answer).endswith("this is a system priority class and cannot be deleted")


NOT_PRIORITIES: dict[str, tuple[Doc, str]] = {
    "a class that is not there": (
        {"priorityClassName": "vip"},
        "no PriorityClass with name vip was found",
    ),
    "a priority of its own": (
        {"priority": 7},
        "the integer value of priority (7) must not be provided in pod spec; "
        "priority admission controller computed 0 from the given PriorityClass name",
    ),
    "a policy of its own": (
        {"preemptionPolicy": "Never"},
        "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
        "priority admission controller computed PreemptLowerPriority from the given "
        "PriorityClass name",
    ),
}


@pytest.mark.parametrize(("spec", "said"), NOT_PRIORITIES.values(), ids=NOT_PRIORITIES)
async def test_a_pod_does_not_choose(api: ApiUnderTest, spec: Doc, said: str) -> None:
    pod = a_pod("web")
    pod["spec"] |= spec
    answer = await api.post(PODS, pod)
    assert refusal(answer) == (403, "Forbidden")
    assert message(answer) == f'pods "web" is forbidden: {said}'


async def test_a_pod_may_repeat_the_priority_of_its_class(api: ApiUnderTest) -> None:
    pod = a_pod("web")
    pod["spec"] |= {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
    assert (await api.post(PODS, pod)).code == 201


async def test_who_leaves_the_priority_out_does_not_change_it(api: ApiUnderTest) -> None:
    stored = (await api.post(PODS, a_pod("web"))).doc
    spec = {k: v for k, v in stored["spec"].items() if k not in ("priority", "preemptionPolicy")}
    answer = await api.put(f"{PODS}/web", {**stored, "spec": spec})
    assert (answer.code, answer.doc) == (200, stored)


async def test_what_is_refused_leaves_nothing(api: ApiUnderTest) -> None:
    pod = a_pod("web")
    pod["spec"]["priorityClassName"] = "vip"
    revision = api.parts.backend.store.revision
    await api.post(PODS, pod)
    assert (await api.get(f"{PODS}/web")).code == 404
    assert api.parts.backend.store.revision == revision
