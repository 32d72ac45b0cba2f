"""Whatever comes in whatever order, nothing that is for one is given to two."""

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mooring.apiserver.auth.pki import Pki
from tests.fakes.api import make_pki, running_api
from tests.fakes.objects import CLAIMS, CSI_NODES, NODES, PODS, VOLUMES, Doc, a_claim, a_csi_node
from tests.scenarios.scheduling.cluster import (
    Cluster,
    a_local_volume,
    a_pod_with,
    a_ready_node,
)
from tests.scenarios.scheduling.test_crashes import check_volumes

MOST_PODS, MOST_VOLUMES = 3, 2  # per node
ALONE = "ReadWriteOncePod"

CLAIM_NAMES = [f"c{number}" for number in range(4)]
NODE_NAMES = ["n1", "n2"]
volumes = st.lists(
    st.tuples(st.sampled_from(NODE_NAMES), st.sampled_from(["1Gi", "2Gi"])), max_size=5
)
claims = st.lists(st.tuples(st.sampled_from(["1Gi", "2Gi"]), st.booleans()), min_size=4, max_size=4)
pods = st.lists(
    st.lists(st.sampled_from(CLAIM_NAMES), max_size=2, unique=True), min_size=1, max_size=6
)
deaths = st.lists(st.integers(0, 12), max_size=2)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return make_pki(tmp_path_factory.mktemp("pki"))


@given(volumes=volumes, claims=claims, pods=pods, deaths=deaths, leaves=st.integers(0, 5))
@settings(
    deadline=None,
    max_examples=settings().max_examples // 8,
    suppress_health_check=list(HealthCheck),
)
def test_nothing_is_given_twice(
    keys: Pki,
    volumes: list[tuple[str, str]],
    claims: list[tuple[str, bool]],
    pods: list[list[str]],
    deaths: list[int],
    leaves: int,
) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as directory:
            async with running_api(keys, Path(directory)) as api:
                cluster = Cluster(api)
                async with cluster.binder():
                    await _build(cluster, volumes, claims)
                    await _live(cluster, pods, deaths, leaves)

    asyncio.run(run())


async def _build(
    cluster: Cluster, volumes: list[tuple[str, str]], claims: list[tuple[str, bool]]
) -> None:
    for name in NODE_NAMES:
        await cluster.create(NODES, a_ready_node(name, pods=str(MOST_PODS)))
        limited = a_csi_node(name, "d.example.com")
        limited["spec"]["drivers"][0]["allocatable"] = {"count": MOST_VOLUMES}
        await cluster.create(CSI_NODES, limited)
    await cluster.waiting_class()
    for number, (node, size) in enumerate(volumes):
        source = {"driver": "d.example.com", "volumeHandle": f"h{number}"}
        modes = [ALONE if number % 2 else "ReadWriteOnce"]
        spec: Doc = {"local": None, "csi": source, "accessModes": modes}
        await cluster.create(VOLUMES, a_local_volume(f"pv{number}", node, size, **spec))
    for name, (size, is_alone) in zip(CLAIM_NAMES, claims, strict=True):
        modes = [ALONE if is_alone else "ReadWriteOnce"]
        await cluster.create(
            CLAIMS, a_claim(name, size, storageClassName="local", accessModes=modes)
        )
    await cluster.passes(1)


async def _live(cluster: Cluster, pods: list[list[str]], deaths: list[int], leaves: int) -> None:
    """Pods come all at once; schedulers die and are replaced; one pod leaves on the way."""
    for number, claims in enumerate(pods):
        answer = await cluster.api.post(PODS, a_pod_with(*claims, name=f"p{number}"))
        assert answer.code == 201
    for writes in deaths:
        async with cluster.scheduler(writes):
            await cluster.passes(2)
        await _check(cluster)
    async with cluster.scheduler():
        await cluster.passes(5)
        await _check(cluster)
        if leaves < len(pods):
            await cluster.delete(PODS, f"p{leaves}", grace=0)
        await cluster.passes(30)
        await _check(cluster)


async def _check(cluster: Cluster) -> None:
    await check_volumes(cluster)
    everything: list[Doc] = (await cluster.api.get(PODS)).doc["items"]
    placed = [doc for doc in everything if doc["spec"].get("nodeName")]
    on = Counter(doc["spec"]["nodeName"] for doc in placed)
    assert all(count <= MOST_PODS for count in on.values())
    users: Counter[str] = Counter()
    attached: set[tuple[str, str]] = set()
    for doc in placed:
        for name in _claims(doc):
            claim = await cluster.find(CLAIMS, name)
            assert claim is not None
            assert claim["status"]["phase"] == "Bound", (
                "a pod has its node when its claims are bound"
            )
            volume = await cluster.find(VOLUMES, claim["spec"]["volumeName"])
            assert volume is not None
            assert doc["spec"]["nodeName"] in _nodes_of(volume)
            attached.add((doc["spec"]["nodeName"], claim["spec"]["volumeName"]))
            users[name] += claim["spec"]["accessModes"] == [ALONE]
    assert all(count <= 1 for count in users.values())
    volumes_on = Counter(node for node, _ in attached)
    assert all(count <= MOST_VOLUMES for count in volumes_on.values())


def _claims(pod: Doc) -> list[str]:
    sources: list[Any] = [v.get("persistentVolumeClaim") for v in pod["spec"].get("volumes", ())]
    return [source["claimName"] for source in sources if source]


def _nodes_of(volume: Doc) -> list[str]:
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    return list(term["matchExpressions"][0]["values"])
