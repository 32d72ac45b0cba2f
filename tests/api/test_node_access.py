"""What a node sees: what its pods lead to, and nothing else."""

from typing import Any

import pytest

from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CONFIG_MAPS,
    PODS,
    SECRETS,
    VOLUMES,
    a_claim,
    a_pod,
    a_secret,
    a_volume,
    an_attachment,
)


async def test_a_node_reads_what_its_pods_lead_to(api: ApiUnderTest) -> None:
    node = api.token_of("node:n1")
    reference = {"namespace": "default", "name": "data"}
    secret_ref = {"namespace": "default", "name": "password"}
    source = {"driver": "d.example.com", "volumeHandle": "h", "nodePublishSecretRef": secret_ref}
    await api.post(VOLUMES, a_volume("disk", claimRef=reference, csi=source))
    await api.post(VOLUMES, a_volume("other"))
    await api.post(CLAIMS, a_claim("data", volumeName="disk"))
    await api.post(SECRETS, a_secret("password"))
    await api.post(ATTACHMENTS, an_attachment("link", "n1"))
    await api.post(ATTACHMENTS, an_attachment("link2", "n2"))
    reachable = [
        f"{VOLUMES}/disk",
        f"{CLAIMS}/data",
        f"{SECRETS}/password",
        f"{CONFIG_MAPS}/kube-root-ca.crt",
        f"{PODS}/web",
    ]
    for path in reachable:
        answer = await api.ask("GET", path, token=node)
        assert answer.code == 403, path
        assert answer.doc["message"].endswith(
            ": no relationship found between node 'n1' and this object"
        )
    await api.post(PODS, a_pod("web", node="n1", claim="data"))
    for path in (*reachable, f"{ATTACHMENTS}/link"):
        assert (await api.ask("GET", path, token=node)).code == 200, path
    for path in (f"{VOLUMES}/other", f"{ATTACHMENTS}/link2"):
        assert (await api.ask("GET", path, token=node)).code == 403, path
    assert (await api.ask("GET", f"{VOLUMES}/disk", token=api.token_of("node:n2"))).code == 403


async def test_a_node_loses_sight_of_what_its_pods_no_longer_need(api: ApiUnderTest) -> None:
    node = api.token_of("node:n1")
    await api.post(CLAIMS, a_claim("data"))
    await api.post(PODS, a_pod("web", node="n1", claim="data"))
    assert (await api.ask("GET", f"{CLAIMS}/data", token=node)).code == 200
    await api.delete(f"{PODS}/web", {"gracePeriodSeconds": 0})
    assert (await api.ask("GET", f"{CLAIMS}/data", token=node)).code == 403


async def test_a_node_watches_what_it_may_read_and_nothing_beside(api: ApiUnderTest) -> None:
    pod = a_pod("web", node="n1")
    pod["spec"]["volumes"] = [{"name": "s", "secret": {"secretName": "mine"}}]
    for name in ("mine", "other"):
        await api.post(SECRETS, a_secret(name))
    await api.post(PODS, pod)
    api.token = api.token_of("node:n1")
    for url in (
        f"{SECRETS}?watch=true&fieldSelector=metadata.name%3Dmine",
        "/api/v1/watch/namespaces/default/secrets/mine",
    ):
        watching = await api.watch(url)
        assert watching.names == [("ADDED", "mine")]
    for url in (
        f"{SECRETS}?watch=true",
        f"{SECRETS}?watch=true&fieldSelector=metadata.name%3Dother",
        f"{SECRETS}?watch=true&fieldSelector=metadata.name!%3Dmine",
        "/api/v1/watch/namespaces/default/secrets",
        "/api/v1/watch/namespaces/default/secrets/other",
        "/api/v1/watch/secrets",
    ):
        assert (await api.get(url)).code == 403, url


async def test_a_node_reports_the_size_of_a_claim_and_nothing_else(api: ApiUnderTest) -> None:
    node = api.token_of("node:n1")
    await api.post(CLAIMS, a_claim("data"))
    await api.post(PODS, a_pod("web", node="n1", claim="data"))
    merge = {"content-type": "application/merge-patch+json"}
    url = f"{CLAIMS}/data/status"
    size = {"status": {"capacity": {"storage": "2Gi"}}}
    assert (await api.ask("PATCH", url, size, merge, token=node)).code == 200
    phase = {"status": {"phase": "Bound"}}
    assert (await api.ask("PATCH", url, phase, merge, token=node)).code == 403
    assert (await api.ask("PATCH", f"{CLAIMS}/data", {"spec": {}}, merge, token=node)).code == 403


MIRROR = "kubernetes.io/config.mirror"
NOT_THROUGH_STATUS = {
    "makes no mirror of its pod": (
        {"annotations": {MIRROR: "hash"}},
        f"metadata.annotations[{MIRROR}]: Forbidden: may not add mirror pod annotation",
    ),
    "takes nothing from what confines its pod": (
        {"annotations": {"container.apparmor.security.beta.kubernetes.io/main": "unconfined"}},
        "may not add AppArmor annotations",
    ),
    "relabels no pod": ({"labels": {"a": "b"}}, "cannot update labels through pod status"),
}


@pytest.mark.parametrize(("metadata", "words"), NOT_THROUGH_STATUS.values(), ids=NOT_THROUGH_STATUS)
async def test_through_the_status_a_node(
    api: ApiUnderTest, metadata: dict[str, Any], words: str
) -> None:
    await api.post(PODS, a_pod("web", node="n1"))
    headers = {"content-type": "application/merge-patch+json"}
    path, token = f"{PODS}/web/status", api.token_of("node:n1")
    answer = await api.ask("PATCH", path, {"metadata": metadata}, headers, token=token)
    assert answer.code in (403, 422)
    assert words in answer.doc["message"]


async def test_a_mirror_stays_one_whoever_asks(api: ApiUnderTest) -> None:
    pod = a_pod("web", node="n1")
    pod["metadata"]["annotations"] = {MIRROR: "hash"}
    pod["spec"]["automountServiceAccountToken"] = False
    assert (await api.post(PODS, pod)).code == 201
    for path in (f"{PODS}/web", f"{PODS}/web/status"):
        answer = await api.patch(path, {"metadata": {"annotations": {MIRROR: None}}})
        assert answer.code == 422
        assert "may not remove or update mirror pod annotation" in answer.doc["message"]


async def test_a_mirror_has_a_node(api: ApiUnderTest) -> None:
    pod = a_pod("web", node="")
    pod["metadata"]["annotations"] = {MIRROR: "hash"}
    answer = await api.post(PODS, pod)
    assert answer.code == 422
    assert "must set spec.nodeName if mirror pod annotation is set" in answer.doc["message"]
