"""What all effects of a provisioner work with."""

import msgspec

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.reconcile.recorder import Recorder
from mooring.sidecars.driver import Driver
from mooring.sidecars.provisioner.caches import Caches
from mooring.sidecars.provisioner.memory import Memory
from mooring.sidecars.provisioner.metrics import ProvisionerMetrics
from mooring.sidecars.provisioner.options import ProvisionerOptions
from mooring.sidecars.provisioner.turns import Turns


class ProvisionerContext(msgspec.Struct, frozen=True):
    client: Client
    clock: Clock
    recorder: Recorder
    driver: Driver
    options: ProvisionerOptions
    caches: Caches
    memory: Memory
    turns: Turns
    metrics: ProvisionerMetrics
    identity: str  # of the provisioner; drivers find it among the attributes of a volume
