"""`mooring sidecar release`: claims are let go of that need no finalizer, others are told of."""

import json

from mooring.sidecars.provisioner.release import Release, release
from tests.fakes.objects import CLAIMS, VOLUMES, a_claim, a_volume
from tests.scenarios.sidecars.cluster import INTENT, Cluster
from tests.scenarios.sidecars.driver import NAME

RECORD = "provisioner.mooring.dev/volume-request"
SOURCE = {"kind": "PersistentVolumeClaim", "name": "x"}


async def held(cluster: Cluster, name: str, driver: str = NAME) -> str:
    doc = a_claim(name, storageClassName="gone", dataSource=SOURCE)
    record = json.dumps({"driver": driver})
    doc["metadata"] |= {"finalizers": [INTENT], "annotations": {RECORD: record}}
    return str((await cluster.create(CLAIMS, doc))["metadata"]["uid"])


async def told_of(cluster: Cluster, name: str) -> str:
    """With a data source, the binder leaves the record to the sidecar."""
    uid = await held(cluster, name)
    reference = {"namespace": "default", "name": name, "uid": uid}
    volume = a_volume(f"pvc-{uid}", claimRef=reference, storageClassName="gone")
    await cluster.create(VOLUMES, volume)
    return uid


async def released(cluster: Cluster, wanted: Release) -> list[str]:
    said: list[str] = []
    await release(cluster.client(), wanted, said.append)
    return said


async def is_held(cluster: Cluster, name: str) -> bool:
    meta = (await cluster.get(f"{CLAIMS}/{name}"))["metadata"]
    assert (INTENT in meta["finalizers"]) == (RECORD in meta.get("annotations", {}))
    return INTENT in meta["finalizers"]


async def test_a_claim_whose_volume_is_told_of_is_let_go_of(cluster: Cluster) -> None:
    uid = await told_of(cluster, "told")
    other = await held(cluster, "open")
    assert await released(cluster, Release()) == [
        f"default/open stays: without the finalizer it may leave behind a volume that {NAME} calls"
        f" pvc-{other}, if its last CreateVolume made one",
        f"default/told let go of: persistentvolume pvc-{uid} tells of its volume",
        "1 stay: run the provisioner of their driver until they are settled, or repeat this with"
        " --abandon and look for these volumes yourself",
    ]
    assert not await is_held(cluster, "told")
    assert await is_held(cluster, "open")


async def test_a_dry_run_changes_nothing(cluster: Cluster) -> None:
    await told_of(cluster, "told")
    (said,) = await released(cluster, Release(is_dry=True))
    assert said.startswith("default/told would be let go of: ")
    assert await is_held(cluster, "told")


async def test_only_claims_of_the_driver_that_is_named(cluster: Cluster) -> None:
    await held(cluster, "ours")
    await held(cluster, "theirs", "o.example.com")
    said = await released(cluster, Release(driver="o.example.com", abandons=True))
    assert [line.split()[0] for line in said] == ["default/theirs"]
    assert "may leave behind a volume that o.example.com calls pvc-" in said[0]
    assert await is_held(cluster, "ours")
    assert not await is_held(cluster, "theirs")


async def test_without_any_it_says_so(cluster: Cluster) -> None:
    assert await released(cluster, Release()) == ["no claim is held"]
