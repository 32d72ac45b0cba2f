"""The volumes that benchmarks create: what a CSI provisioner writes."""

import json


def volume(name: str) -> bytes:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {
                "name": name,
                "annotations": {"pv.kubernetes.io/provisioned-by": "loop.csi.mooring.dev"},
            },
            "spec": {
                "capacity": {"storage": "10Gi"},
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": "fast",
                "csi": {
                    "driver": "loop.csi.mooring.dev",
                    "volumeHandle": f"vol-{name}",
                    "fsType": "ext4",
                    "volumeAttributes": {"pool": "default"},
                },
            },
        }
    ).encode()
