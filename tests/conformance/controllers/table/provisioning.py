"""Volumes made on demand: by somebody outside, by a plugin, or not at all."""

from collections.abc import Mapping
from typing import Any

from tests.conformance.controllers.materials import PROVISIONED_BY, SELECTED_NODE, WAIT
from tests.conformance.controllers.story import Story, Told, change, create, delete, then
from tests.conformance.controllers.table.words import (
    FAST,
    NO_CONSUMER,
    NORMAL,
    WARNING,
    annotated,
    claim,
    of_claim,
    reference,
    storage_class,
    story,
    volume,
)
from tests.fakes.objects import Doc, a_node

HOST_PATH = "kubernetes.io/host-path"
OUTSIDE = "external-provisioner.volume.kubernetes.io/finalizer"
MADE = of_claim(
    NORMAL,
    "ProvisioningSucceeded",
    f"Successfully provisioned volume pvc-<claim c> using {HOST_PATH}",
)
MADE_LABEL = "volume pvc-<claim c>"
BOUND_TO_MADE = then("claim c: Bound made 1Gi BBC", f"{MADE_LABEL}: Bound +c BBC")
NOT_MADE = then("claim c: Pending", f"{MADE_LABEL}: gone")


def on_host(**body: Any) -> Doc:
    return storage_class(provisioner=HOST_PATH, **body)


def failed(message: str) -> Told:
    return of_claim(WARNING, "ProvisioningFailed", message)


def waits_for(name: str) -> Told:
    message = (
        f"Waiting for a volume to be created either by the external provisioner '{name}' or "
        "manually by the system administrator. If volume creation is delayed, please verify that "
        "the provisioner is running and correctly registered."
    )
    return of_claim(NORMAL, "ExternalProvisioning", message)


def for_node(node: str, **spec: Any) -> Doc:
    return annotated(claim(storageClassName=FAST, **spec), {SELECTED_NODE: f"$s-{node}"})


NO_CLASS = failed('storageclass.storage.k8s.io "$s-fast" not found')
FIRST_CONSUMER = of_claim(NORMAL, "WaitForFirstConsumer", NO_CONSUMER)

STORIES: Mapping[str, Story] = {
    "a plugin makes a volume and the claim is bound to it": story(
        create("class", on_host()),
        create("claim", claim(storageClassName=FAST)),
        BOUND_TO_MADE,
        delete("claim", "c"),
        then("claim c: gone", f"{MADE_LABEL}: gone"),
        told=(MADE,),
    ),
    "a volume that was made is kept when its class says so": story(
        create("class", on_host(reclaimPolicy="Retain")),
        create("claim", claim(storageClassName=FAST)),
        delete("claim", "c"),
        then(f"{MADE_LABEL}: Released +c BBC"),
        told=(MADE,),
    ),
    "a volume that was made is not gone before its asset": story(
        create("class", on_host()),
        create("claim", claim(storageClassName=FAST)),
        delete("volume", "made-up"),
        change("claim", "c", {"metadata": {"annotations": {"note": "mine"}}}),
        BOUND_TO_MADE,
        told=(MADE,),
    ),
    "the class is not there, and comes later": story(
        create("claim", claim(storageClassName=FAST)),
        NOT_MADE,
        create("class", on_host()),
        BOUND_TO_MADE,
        told=(NO_CLASS, MADE),
    ),
    "nobody knows the plugin": story(
        create("class", storage_class(provisioner="kubernetes.io/unknown")),
        create("claim", claim(storageClassName=FAST)),
        NOT_MADE,
        told=(failed("no volume plugin matched name: kubernetes.io/unknown"),),
    ),
    "volumes of the class are made by hand": story(
        create("class", storage_class(provisioner="kubernetes.io/no-provisioner")),
        create("claim", claim(storageClassName=FAST)),
        create("volume", volume(storageClassName=FAST)),
        then("volume v: Bound +c BBC", "claim c: Bound v 5Gi BBC"),
        told=(failed("no volume plugin matched name: kubernetes.io/no-provisioner"),),
    ),
    "the plugin cannot make volumes": story(
        create("class", storage_class(provisioner="kubernetes.io/nfs")),
        create("claim", claim(storageClassName=FAST)),
        NOT_MADE,
        told=(failed("no provisionable volume plugin matched"),),
    ),
    "what cannot be made for one node is to be scheduled anew": story(
        create("node", a_node("n")),
        create("class", on_host(volumeBindingMode=WAIT)),
        create("claim", for_node("n", volumeMode="Block")),
        NOT_MADE,
        told=(
            failed(
                'Failed to provision volume with StorageClass "$s-fast": '
                "kubernetes.io/host-path does not support block volume provisioning"
            ),
            FIRST_CONSUMER,
        ),
    ),
    "the node is not there, and comes later": story(
        create("class", on_host(volumeBindingMode=WAIT)),
        create("claim", for_node("n")),
        NOT_MADE,
        create("node", a_node("n")),
        change("claim", "c", {"metadata": {"annotations": {"note": "mine"}}}),
        told=(failed('Failed to get target node: node "$s-n" not found'), MADE),
    ),
    "somebody outside makes the volume": story(
        create("class", storage_class()),
        create("claim", claim(storageClassName=FAST)),
        NOT_MADE,
        create("volume", volume("out", claimRef=reference(uid="$uid[c]"), storageClassName=FAST)),
        then("claim c: Bound out 5Gi BBC", "volume out: Bound +c"),
        told=(waits_for("d.example.com"),),
    ),
    "a driver has taken over the plugin of the class": story(
        create("class", storage_class(provisioner="kubernetes.io/gce-pd")),
        create("claim", claim(storageClassName=FAST)),
        NOT_MADE,
        create(
            "volume",
            annotated(
                volume(csi=None, gcePersistentDisk={"pdName": "x"}),
                {PROVISIONED_BY: "kubernetes.io/gce-pd"},
            ),
        ),
        then("volume v: Available"),
        told=(waits_for("pd.csi.storage.gke.io"),),
    ),
    "a plugin copies no data": story(
        create("class", on_host()),
        create(
            "claim",
            claim(
                storageClassName=FAST,
                dataSource={"kind": "PersistentVolumeClaim", "name": "x"},
            ),
        ),
        NOT_MADE,
        told=(
            failed(
                f'plugin "{HOST_PATH}" is not a CSI plugin. '
                "Only CSI plugin can provision a claim with a datasource"
            ),
        ),
    ),
    "a plugin takes no mount options": story(
        create("class", on_host(mountOptions=["ro", "soft"])),
        create("claim", claim(storageClassName=FAST)),
        NOT_MADE,
        told=(
            failed(
                "Mount options are not supported by the provisioner but StorageClass "
                '"$s-fast" has mount options [ro soft]'
            ),
        ),
    ),
    "finalizers follow the policy of a volume that was made": story(
        create("class", on_host()),
        create("claim", claim(storageClassName=FAST)),
        create(
            "volume",
            annotated(volume(persistentVolumeReclaimPolicy="Delete"), {PROVISIONED_BY: HOST_PATH}),
        ),
        change("volume", "v", {"metadata": {"finalizers": [OUTSIDE, "example.com/mine"]}}),
        change("volume", "v", {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}),
        then("volume v: Available"),
        told=(MADE,),
    ),
    "a delayed claim with a node gets a volume of its own": story(
        create("node", a_node("n")),
        create("class", on_host(volumeBindingMode=WAIT)),
        create("volume", volume(storageClassName=FAST)),
        create("claim", for_node("n")),
        BOUND_TO_MADE,
        then("volume v: Available"),
        told=(MADE,),
    ),
    "a delayed class makes nothing before a node is chosen": story(
        create("node", a_node("n")),
        create("class", on_host(volumeBindingMode=WAIT)),
        create("claim", claim(storageClassName=FAST)),
        NOT_MADE,
        change("claim", "c", {"metadata": {"annotations": {SELECTED_NODE: "$s-n"}}}),
        BOUND_TO_MADE,
        told=(FIRST_CONSUMER, MADE),
    ),
}
