"""Situations in which a driver, or who asks it, refuses: told by events, as provisioners write."""

from tests.clients.why.situations import (
    CSI_DRIVER,
    DRIVER,
    Play,
    Situation,
    after,
    attached,
    bound,
    claim,
    csi_node,
    csi_volume,
    event,
    made,
    node,
    patched,
    pod,
    storage_class,
    volume,
)
from tests.clients.why.stage import Doc

OF_FAST: Doc = {"storageClassName": "fast-$NS"}
KEYS = {
    "csi.storage.k8s.io/provisioner-secret-name": "disk-key",
    "csi.storage.k8s.io/provisioner-secret-namespace": "$NS",
}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "disk-key"}}
HERE = (node(), csi_node("n1-$NS"), CSI_DRIVER)


def says(message: str) -> Play:
    words = f'failed to provision volume with StorageClass "fast-$NS": {message}'
    return event("PersistentVolumeClaim", "data", "ProvisioningFailed", words, DRIVER)


def call(code: str, text: str) -> Play:
    return says(f"rpc error: code = {code} desc = {text}")


provisioned = after(made(csi_volume(**OF_FAST)), bound)
"""What the provisioner does when it has what it lacked."""


def _of_class(**parameters: str) -> tuple[Doc, ...]:
    chosen = storage_class(provisioner=DRIVER, parameters=parameters)
    return (*HERE, chosen, claim(**OF_FAST))


REFUSED = {
    "secret of the class missing": Situation(
        "pvc/data",
        'secrets "disk-key" not found',
        "makes the secret",
        _of_class(**KEYS),
        begin=says('error getting secret disk-key in namespace $NS: secrets "disk-key" not found'),
        end=provisioned,
    ),
    "parameter that the driver does not know": Situation(
        "pvc/data",
        "asking again is in vain",
        "without the parameter tpye",
        _of_class(tpye="ssd", zone="z1"),
        begin=call("InvalidArgument", 'unknown parameter "tpye"'),
        end=provisioned,
    ),
    "parameter in the reserved namespace": Situation(
        "pvc/data",
        "found unknown parameter key",
        "without the parameter csi.storage.k8s.io/fsytpe",
        _of_class(**{"csi.storage.k8s.io/fsytpe": "ext4"}),
        begin=says(
            "failed to strip CSI Parameters of prefixed keys: found unknown parameter key "
            '"csi.storage.k8s.io/fsytpe" with reserved namespace csi.storage.k8s.io/'
        ),
        end=provisioned,
        is_quick=False,
    ),
    "credentials that the storage refuses": Situation(
        "pvc/data",
        "does not allow it with the driver's credentials",
        "other credentials into secret disk-key",
        (*_of_class(**KEYS), SECRET),
        begin=call("PermissionDenied", "the key is revoked"),
        end=provisioned,
        is_quick=False,
    ),
    "volume below the least size": Situation(
        "pvc/data",
        "makes no volume of this size",
        "for 10Gi",
        _of_class(),
        begin=call("OutOfRange", "volumes are at least 10Gi"),
    ),
    "volume of that name exists": Situation(
        "pvc/data",
        "has one of that name with other properties",
        "under another name",
        _of_class(),
        begin=call("AlreadyExists", "pvc-1 is smaller"),
        is_quick=False,
    ),
    "attributes class missing": Situation(
        "pvc/data",
        "there is no such VolumeAttributesClass",
        "asks for the VolumeAttributesClass gold",
        (
            *(CSI_DRIVER, csi_volume(), claim()),
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "VolumeAttributesClass",
                "metadata": {"name": "gold-$NS"},
                "driverName": DRIVER,
                "parameters": {"iops": "1000"},
            },
        ),
        begin=after(
            bound,
            patched(
                "v1",
                "PersistentVolumeClaim",
                "data",
                {"spec": {"volumeAttributesClassName": "glod-$NS"}},
            ),
        ),
    ),
    "storage capacity exhausted": Situation(
        "pod/web",
        "did not have enough free storage",
        "which is the most there is room for",
        (
            node(labels={"topology.example/zone": "z1"}),
            csi_node("n1-$NS", "topology.example/zone"),
            {**CSI_DRIVER, "spec": {"attachRequired": True, "storageCapacity": True}},
            storage_class(provisioner=DRIVER, volumeBindingMode="WaitForFirstConsumer"),
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIStorageCapacity",
                "metadata": {"name": "z1"},
                "storageClassName": "fast-$NS",
                "nodeTopology": {"matchLabels": {"topology.example/zone": "z1"}},
                "capacity": "2Gi",
                "maximumVolumeSize": "1Gi",
            },
            claim(**OF_FAST, resources={"requests": {"storage": "5Gi"}}),
            pod(),
        ),
    ),
    "node holds as many volumes as it can": Situation(
        "pod/second",
        "exceed max volume count",
        "uses one of the volumes on n1-$NS",
        (
            *(node(), csi_node("n1-$NS", most=1), CSI_DRIVER, csi_volume(), claim()),
            pod(nodeName="n1-$NS"),
            {
                **volume("disk2-$NS", claimRef={"namespace": "$NS", "name": "more"}),
                "spec": {
                    **csi_volume()["spec"],
                    "csi": {"driver": DRIVER, "volumeHandle": "second-$NS"},
                    "claimRef": {"namespace": "$NS", "name": "more"},
                },
            },
            claim("more"),
        ),
        begin=after(bound, attached({"attached": True}), made(pod("second", uses="more"))),
    ),
    "driver is on no node": Situation(
        "csidriver/" + DRIVER,
        "has no pod on any node",
        "the labels that plugin selects",
        (
            *(CSI_DRIVER, node()),
            {
                "apiVersion": "apps/v1",
                "kind": "DaemonSet",
                "metadata": {"name": "plugin"},
                "spec": {
                    "selector": {"matchLabels": {"app": "plugin"}},
                    "template": {
                        "metadata": {"labels": {"app": "plugin"}},
                        "spec": {
                            "nodeSelector": {"storage": "yes"},
                            "containers": [
                                {
                                    "name": "registrar",
                                    "image": "registrar",
                                    "args": [
                                        "--kubelet-registration-path=/var/lib/kubelet/plugins/"
                                        f"{DRIVER}/csi.sock"
                                    ],
                                }
                            ],
                            "volumes": [
                                {
                                    "name": "registry",
                                    "hostPath": {"path": "/var/lib/kubelet/plugins_registry"},
                                }
                            ],
                        },
                    },
                },
            },
        ),
        end=made(csi_node("n1-$NS")),
    ),
}
