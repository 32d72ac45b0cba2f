"""The API objects that introduce the bundled driver: its CSIDriver, and a class of each kind.

Classes are made once per state directory: who deletes one does not want it back.
"""

from typing import Final

import msgspec

from mooring.driver.file_names import CLASS_MADE
from mooring.driver.parameters import LIMITS, UNLIMITED
from mooring.driver.settings import NAME
from mooring.model.attributes_class import AttributesClass
from mooring.model.document import Doc
from mooring.model.group_snapshot import GroupSnapshotClass
from mooring.model.meta import ApiObject
from mooring.model.snapshot import SnapshotClass
from mooring.model.storage_class import StorageClass
from mooring.model.wellknown import Annotation

CLASS: Final = "mooring-loop"
SLOW: Final = f"{CLASS}-slow"
_SLOW_BYTES = "20Mi"  # per second

DRIVER: Doc = {
    "metadata": {"name": NAME},
    "spec": {
        "attachRequired": True,
        "podInfoOnMount": True,  # which volumes are inline is told with it
        "storageCapacity": True,
        "fsGroupPolicy": "File",
        "volumeLifecycleModes": ["Persistent", "Ephemeral"],
    },
}


class MadeOnce(msgspec.Struct, frozen=True):
    """A class, and the file in the state directory that says that it was made."""

    kind: type[ApiObject]
    document: Doc
    made: str


CLASSES: Final = (
    MadeOnce(
        StorageClass,
        {
            "metadata": {"name": CLASS, "annotations": {Annotation.DEFAULT_CLASS: "true"}},
            "provisioner": NAME,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate",  # volumes are on this machine: no node to choose
            "allowVolumeExpansion": True,
        },
        CLASS_MADE,
    ),
    MadeOnce(
        SnapshotClass,
        {
            "metadata": {"name": CLASS, "annotations": {Annotation.DEFAULT_SNAPSHOT_CLASS: "true"}},
            "driver": NAME,
            "deletionPolicy": "Delete",
        },
        f"snapshot-{CLASS_MADE}",
    ),
    MadeOnce(
        GroupSnapshotClass,
        {
            "metadata": {
                "name": CLASS,
                "annotations": {Annotation.DEFAULT_GROUP_SNAPSHOT_CLASS: "true"},
            },
            "driver": NAME,
            "deletionPolicy": "Delete",
        },
        f"group-snapshot-{CLASS_MADE}",
    ),
    MadeOnce(
        AttributesClass,
        {
            "metadata": {"name": CLASS},
            "driverName": NAME,
            "parameters": dict.fromkeys(LIMITS, UNLIMITED),
        },
        f"attributes-{CLASS_MADE}",
    ),
    MadeOnce(
        AttributesClass,
        {
            "metadata": {"name": SLOW},
            "driverName": NAME,
            "parameters": {"readBytesPerSecond": _SLOW_BYTES, "writeBytesPerSecond": _SLOW_BYTES},
        },
        f"slow-attributes-{CLASS_MADE}",
    ),
)
