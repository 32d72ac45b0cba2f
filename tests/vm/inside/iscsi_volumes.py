"""Pods on the LUNs of iSCSI targets."""

from hashlib import sha256
from pathlib import Path

from tests.clients.kubectl import Doc, Kubectl
from tests.clients.manifests import a_claim, a_volume
from tests.clients.pods import a_script, mounting, of_claim
from tests.vm.inside.iscsi_targets import PORTAL, Target

RAW = "/dev/raw-disk"  # in a pod
_BLOCK: Doc = {"volumeMode": "Block"}


def an_iscsi_volume(target: Target, lun: int = 1, **fields: object) -> Doc:
    source = {"targetPortal": PORTAL, "iqn": target.iqn, "lun": lun, "fsType": "ext4"}
    return {"name": "data", "iscsi": source | fields}


def a_claimed_disk(
    name: str, claim: str, target: Target, lun: int = 1, **fields: object
) -> list[Doc]:
    """Of two disks of one target that pods have inline, a scheduler takes one for both."""
    volume = a_volume(name, iscsi=an_iscsi_volume(target, lun, **fields)["iscsi"])
    del volume["spec"]["csi"]
    return [volume, a_claim(claim, volumeName=name)]


def a_raw_disk(name: str, claim: str, target: Target, lun: int = 1) -> list[Doc]:
    docs = a_claimed_disk(name, claim, target, lun)
    for doc in docs:
        doc["spec"] |= _BLOCK
    return docs


def a_user(name: str, volume: Doc) -> Doc:
    return a_script(name, volumes=[volume], container=mounting(data="/data"))


def a_raw_user(name: str, claim: str) -> Doc:
    device: Doc = {"volumeDevices": [{"name": "data", "devicePath": RAW}]}
    return a_script(name, volumes=[of_claim("data", claim)], container=device)


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def messages(kubectl: Kubectl) -> str:
    """Of all events; their tables show the first lines alone."""
    return kubectl.field(".items[*].message", "events")
