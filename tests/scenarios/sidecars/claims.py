"""Bound claims of the driver, which grow and change."""

from typing import Any

from mooring.model.document import Doc
from tests.fakes.objects import ATTRIBUTES_CLASSES, CLAIMS, VOLUMES, a_volume, an_attributes_class
from tests.scenarios.sidecars.cluster import Cluster
from tests.scenarios.sidecars.driver import NAME

CLAIM, VOLUME = f"{CLAIMS}/data", f"{VOLUMES}/pv1"
NOT_REQUIRED = "volume.kubernetes.io/node-expansion-not-required"
USE = "Unused"
BEFORE = "volume.alpha.kubernetes.io/pre-resize-capacity"


async def bound(cluster: Cluster, number: int = 1, claim: str = "data", **spec: Any) -> None:
    """A volume of 1Gi and its claim."""
    name = f"pv{number}"
    csi = {"driver": NAME, "volumeHandle": f"h-{name}", **spec.pop("csi", {})}
    volume = a_volume(name, "1Gi", csi=csi, storageClassName="fast", **spec)
    await cluster.create(VOLUMES, volume)
    shared = ("volumeAttributesClassName", "accessModes", "volumeMode")
    same = {field: spec[field] for field in shared if field in spec}
    await cluster.claim(claim, volumeName=name, **same)
    assert await cluster.phase(claim) == "Bound"


async def ask(cluster: Cluster, size: str, claim: str = "data") -> None:
    change = {"spec": {"resources": {"requests": {"storage": size}}}}
    await cluster.patch(f"{CLAIMS}/{claim}", change)


async def ask_class(cluster: Cluster, name: str, claim: str = "data") -> None:
    await cluster.patch(f"{CLAIMS}/{claim}", {"spec": {"volumeAttributesClassName": name}})


async def attributes_class(cluster: Cluster, name: str, **body: Any) -> None:
    parameters = {"tier": name}
    await cluster.create(
        ATTRIBUTES_CLASSES, {**an_attributes_class(name), "parameters": parameters, **body}
    )


async def status_of(cluster: Cluster, claim: str = "data") -> Doc:
    status: Doc = (await cluster.get(f"{CLAIMS}/{claim}"))["status"]
    return status


async def size_of(cluster: Cluster, volume: str = "pv1") -> str:
    return str((await cluster.get(f"{VOLUMES}/{volume}"))["spec"]["capacity"]["storage"])


async def resize_status(cluster: Cluster, claim: str = "data") -> str:
    status = await status_of(cluster, claim)
    return str(status.get("allocatedResourceStatuses", {}).get("storage", ""))


async def conditions(cluster: Cluster, claim: str = "data") -> dict[str, Doc]:
    """Of its growth and its class; that of its use is told beside them."""
    found = (await status_of(cluster, claim)).get("conditions") or []
    return {each["type"]: each for each in found if each["type"] != USE}


async def as_node(cluster: Cluster, change: Doc, claim: str = "data") -> None:
    """What a kubelet writes."""
    answer = await cluster.api.patch(f"{CLAIMS}/{claim}/status", {"status": change})
    assert answer.code == 200, answer.text
    await cluster.settle()


async def node_finishes(cluster: Cluster, size: str) -> None:
    told = (await status_of(cluster)).get("conditions") or []
    done: Doc = {
        "capacity": {"storage": size},
        "allocatedResourceStatuses": None,
        "conditions": [each for each in told if each["type"] == USE],
    }
    await as_node(cluster, done)
