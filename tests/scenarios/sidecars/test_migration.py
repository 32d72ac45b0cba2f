"""A driver that has taken over an in-tree plugin: claims of the plugin's classes are its own."""

from typing import Any

import pytest

from mooring.csi.requests import CreateVolume
from mooring.csi.topology import Topology
from mooring.csi.volume import Volume
from tests.fakes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CLASSES,
    CSI_NODES,
    VOLUMES,
    a_class,
    a_volume,
)
from tests.scenarios.sidecars.cluster import FINALIZER, INTENT, Cluster

PLUGIN, DRIVER = "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"
CLAIM = f"{CLAIMS}/data"
DISKS = "projects/UNSPECIFIED/zones/us-east1-b/disks/"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


@pytest.fixture
def cloud(cluster: Cluster) -> Cluster:
    cluster.driver.name = DRIVER
    cluster.driver.id_prefix = DISKS
    return cluster


async def a_plugin_class(cloud: Cluster, **body: Any) -> None:
    await cloud.create(CLASSES, {**a_class(**body), "provisioner": PLUGIN})


async def test_a_claim_gets_a_volume_of_the_plugin(cloud: Cluster) -> None:
    parameters = {"type": "pd-ssd", "fsType": "xfs"}
    await a_plugin_class(cloud, parameters=parameters)
    async with cloud.provisioner():
        await cloud.claim()
    assert await cloud.phase() == "Bound"
    volume = await cloud.volume_of()
    name = volume["metadata"]["name"]
    assert volume["spec"]["gcePersistentDisk"] == {"pdName": name, "fsType": "xfs"}
    assert "csi" not in volume["spec"]
    notes = volume["metadata"]["annotations"]
    assert notes["pv.kubernetes.io/provisioned-by"] == PLUGIN
    assert notes["pv.kubernetes.io/migrated-to"] == DRIVER
    assert FINALIZER in volume["metadata"]["finalizers"]
    (request,) = cloud.driver.requests
    assert isinstance(request, CreateVolume)
    assert request.parameters == {"type": "pd-ssd"}
    assert INTENT not in await cloud.finalizers(CLAIM)


async def test_places_go_there_and_back(cloud: Cluster) -> None:
    key = "topology.gke.io/zone"
    cloud.driver.with_topology()
    cloud.driver.topologies = (Topology({key: "us-east1-b"}),)
    await a_plugin_class(cloud, parameters={"zone": "us-east1-b"})
    async with cloud.provisioner():
        await cloud.claim()
    (request,) = cloud.driver.requests
    assert isinstance(request, CreateVolume)
    assert request.topology is not None
    assert request.topology.requisite == (Topology({key: "us-east1-b"}),)
    volume = await cloud.volume_of()
    assert volume["metadata"]["labels"] == {ZONE: "us-east1-b", REGION: "us-east1"}
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    wanted = {each["key"]: each["values"] for each in term["matchExpressions"]}
    assert wanted == {ZONE: ["us-east1-b"], REGION: ["us-east1"]}


async def test_what_was_made_for_a_claim_is_deleted_with_it(cloud: Cluster) -> None:
    cloud.driver.id_prefix = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/"
    await a_plugin_class(cloud)
    async with cloud.provisioner():
        await cloud.claim()
        assert len(cloud.driver.volumes) == 1
        await cloud.delete(CLAIM)
        await cloud.passes(60)
    assert cloud.driver.volumes == {}
    assert await cloud.volumes() == []


async def test_a_volume_that_the_plugin_could_not_have_is_not_kept(cloud: Cluster) -> None:
    cloud.driver.id_prefix = "id-of-"
    await a_plugin_class(cloud)
    async with cloud.provisioner():
        await cloud.claim()
    assert cloud.driver.volumes == {}
    assert await cloud.volumes() == []
    told = await cloud.told("ProvisioningFailed")
    assert told
    assert told[0].startswith("failed to translate CSI PV to in-tree due to: failed to get disk")


async def test_a_class_that_cannot_be_translated_is_said_and_nothing_is_asked(
    cloud: Cluster,
) -> None:
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]
    zones = {"zones": "a"}
    await a_plugin_class(cloud, parameters=zones, allowedTopologies=allowed)
    async with cloud.provisioner():
        await cloud.claim()
    assert cloud.driver.calls == []
    why = "cannot simultaneously set allowed topologies and zone/zones parameters"
    assert await cloud.told("ProvisioningFailed") == [f"failed to translate storage class: {why}"]


async def test_a_claim_whose_class_went_after_the_driver_was_asked_is_settled(
    cloud: Cluster,
) -> None:
    """The class is remembered as it was written: translated twice it would be another."""
    await a_plugin_class(cloud)
    async with cloud.provisioner():
        await cloud.claim()
        await cloud.delete(f"{CLASSES}/fast")
        await cloud.delete(CLAIM)
        await cloud.passes(60)
    assert await cloud.phase() == "gone"


async def test_a_handle_without_its_project_is_found_in_the_drivers_list(cloud: Cluster) -> None:
    """Else the disk would be attached anew at every comparison."""
    node_id = "projects/p/zones/us-east1-b/instances/i"
    volume = a_volume("pv1", "1Gi", storageClassName="")
    del volume["spec"]["csi"]
    volume["spec"]["gcePersistentDisk"] = {"pdName": "d"}
    await cloud.create(VOLUMES, volume)
    entry = {"name": DRIVER, "nodeID": node_id}
    kind = {"kind": "CSINode", "apiVersion": "storage.k8s.io/v1", "metadata": {"name": "n1"}}
    await cloud.create(CSI_NODES, {**kind, "spec": {"drivers": [entry]}})
    source = {"persistentVolumeName": "pv1"}
    link = {"kind": "VolumeAttachment", "apiVersion": "storage.k8s.io/v1"}
    spec = {"attacher": DRIVER, "nodeName": "n1", "source": source}
    async with cloud.attacher():
        await cloud.create(ATTACHMENTS, {**link, "metadata": {"name": "link"}, "spec": spec})
        assert (await cloud.status())["attached"]
        cloud.driver.volumes = {"x": Volume("projects/p/zones/us-east1-b/disks/d")}
        cloud.driver.attachments = {("projects/p/zones/us-east1-b/disks/d", node_id)}
        await cloud.passes(200)
        assert cloud.driver.count("list") > 0
    assert cloud.driver.count("attach") == 1


@pytest.mark.parametrize("writes", range(5))
async def test_a_provisioner_that_dies_anywhere_is_finished_by_the_next(
    cloud: Cluster, writes: int
) -> None:
    await a_plugin_class(cloud)
    async with cloud.provisioner(writes):
        await cloud.claim()
    async with cloud.provisioner():
        await cloud.passes(60)
    assert await cloud.phase() == "Bound"
    assert len(cloud.driver.volumes) == len(await cloud.volumes()) == 1
    assert INTENT not in await cloud.finalizers(CLAIM)


async def test_a_clone_of_an_in_tree_volume_names_its_disk(cloud: Cluster) -> None:
    await a_plugin_class(cloud)
    source = a_volume("pv1", "1Gi", storageClassName="fast")
    del source["spec"]["csi"]
    source["spec"]["gcePersistentDisk"] = {"pdName": "d"}
    await cloud.create(VOLUMES, source)
    async with cloud.provisioner():
        await cloud.claim("first", volumeName="pv1")
        assert await cloud.phase("first") == "Bound"
        await cloud.claim(dataSource={"kind": "PersistentVolumeClaim", "name": "first"})
    clone = next(each for each in cloud.driver.requests if isinstance(each, CreateVolume))
    assert clone.source is not None
    assert "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d" in str(clone.source)
