"""Volume sources that no node can serve: the servers behind them are not made any more.

The API still takes and validates them, as Kubernetes does; a pod that has one waits, and its event
says why.
"""

from collections.abc import Mapping
from typing import Final

REASONS: Final[Mapping[str, str]] = {
    "flocker": (
        "flocker datasets need Flocker's control service, whose maker is gone;"
        " copy the data and use a CSI driver"
    ),
    "storageos": (
        "storageos volumes need the API of StorageOS 1.x, which ended with version 2;"
        " use the driver csi.storageos.com"
    ),
    "photonPersistentDisk": (
        "photon disks need Photon Controller, which VMware has ended;"
        " use the driver csi.vsphere.vmware.com"
    ),
    "scaleIO": (
        "scaleIO volumes need the gateway of ScaleIO, now PowerFlex;"
        " use the driver csi-vxflexos.dellemc.com"
    ),
}
