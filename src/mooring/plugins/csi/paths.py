"""Where the CSI plugin keeps what below a node's root directory. Paths only.

They are a kubelet's, so that drivers and a kubelet that comes before or after find their way.
"""

from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from mooring.model.wellknown import Plugin
from mooring.plugins.layout import DEVICES, Layout, escaped

GLOBAL_MOUNT: Final = "globalmount"
STAGING: Final = "staging"
PUBLISH: Final = "publish"
BOUND: Final = "dev"
DATA: Final = "data"


class CsiPaths(msgspec.Struct, frozen=True):
    layout: Layout

    @property
    def drivers(self) -> Path:
        """One directory per driver, and the one of block volumes beside them."""
        return self.layout.plugin(Plugin.CSI)

    @property
    def devices(self) -> Path:
        return self.drivers / DEVICES

    def staging(self, driver: str, handle: str) -> Path:
        """Where a volume is staged, by its handle: two objects for one volume share the place."""
        return self.drivers / driver / sha256(handle.encode()).hexdigest() / GLOBAL_MOUNT

    def target(self, pod_uid: str, name: str) -> Path:
        """Where a volume is published for a pod."""
        return self.layout.volume(pod_uid, Plugin.CSI, escaped(name)) / "mount"

    def block_staging(self, name: str) -> Path:
        return self.devices / STAGING / name

    def block_publishes(self, name: str) -> Path:
        """The directory where the device is published, as one file per pod."""
        return self.devices / PUBLISH / name

    def block_map(self, name: str) -> Path:
        """Where the published device is bound, one file per pod."""
        return self.devices / escaped(name) / BOUND

    def block_data(self, name: str) -> Path:
        """The directory of the data file."""
        return self.devices / escaped(name) / DATA
