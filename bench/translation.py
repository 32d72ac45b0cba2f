"""CSI translation: how long it takes to see in-tree volumes as volumes of their drivers."""

import time

from mooring.model.csi_translation.translate import to_in_tree, translate
from mooring.model.volume import Volume
from mooring.model.wire import read_document

Row = tuple[str, str, str]

VOLUMES = 10_000
TRIES = 5
_ZONE = "topology.kubernetes.io/zone"
_SOURCES = (
    {"gcePersistentDisk": {"pdName": "d", "fsType": "ext4"}},
    {"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-1", "fsType": "ext4"}},
    {"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/s/x", "kind": "Managed"}},
    {"azureFile": {"secretName": "s", "shareName": "x", "secretNamespace": "n"}},
    {"cinder": {"volumeID": "c"}},
    {"vsphereVolume": {"volumePath": "[d] a.vmdk"}},
    {"portworxVolume": {"volumeID": "p"}},
)


def _volume(number: int) -> Volume:
    metadata = {"name": f"pv-{number}", "labels": {_ZONE: "us-east1-b"}}
    spec = {"accessModes": ["ReadWriteOnce"], **_SOURCES[number % len(_SOURCES)]}
    return read_document({"metadata": metadata, "spec": spec}, Volume)


def run() -> list[Row]:
    volumes = [_volume(number) for number in range(VOLUMES)]
    disks = [_volume(number * len(_SOURCES)) for number in range(VOLUMES)]
    there, back = [], []
    for _ in range(TRIES):
        began = time.perf_counter()
        for volume in volumes:
            translate(volume)
        there.append(time.perf_counter() - began)
        translated = [csi for disk in disks if (csi := translate(disk)) is not None]
        began = time.perf_counter()
        for volume in translated:
            to_in_tree(volume)
        back.append(time.perf_counter() - began)
    return [
        (f"{VOLUMES:,} in-tree volumes to CSI", f"{min(there) * 1000:,.0f} ms", "target 200 ms"),
        (f"{VOLUMES:,} CSI volumes to in-tree", f"{min(back) * 1000:,.0f} ms", "target 200 ms"),
    ]
