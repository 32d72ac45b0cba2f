"""What the parts of one snapshotter share."""

import msgspec

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.reconcile.recorder import Recorder
from mooring.sidecars.driver import Driver
from mooring.sidecars.snapshotter.caches import Caches
from mooring.sidecars.snapshotter.options import SnapshotterOptions


class SnapshotterContext(msgspec.Struct, frozen=True):
    client: Client
    clock: Clock
    recorder: Recorder
    driver: Driver
    options: SnapshotterOptions
    caches: Caches
