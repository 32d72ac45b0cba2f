"""The role `scheduler`: places the pods that ask for it by name."""

from typing import Final

from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.csi_node import CsiNode
from mooring.model.disruption_budget import DisruptionBudget
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.model.namespace import Namespace
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_capacity import StorageCapacity
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.reconcile.loops import Loops
from mooring.scheduling.caches import ALIVE, Informers
from mooring.scheduling.run import DEFAULT_SCHEDULER, PodScheduler, SchedulerSettings

NAME: Final = "scheduler"


def build(
    loops: Loops,
    scheduler_name: str = DEFAULT_SCHEDULER,
    release: KubernetesVersion = NEWEST,
) -> Loops:
    """Add the scheduler to the role."""
    informers = Informers(
        pods=loops.informer(Pod, ALIVE),
        nodes=loops.informer(Node),
        claims=loops.informer(Claim),
        volumes=loops.informer(Volume),
        classes=loops.informer(StorageClass),
        drivers=loops.informer(CsiDriver),
        csi_nodes=loops.informer(CsiNode),
        capacities=loops.informer(StorageCapacity),
        attachments=loops.informer(Attachment),
        budgets=loops.informer(DisruptionBudget),
        namespaces=loops.informer(Namespace),
    )
    scheduler = PodScheduler(
        loops.client,
        loops.clock,
        informers,
        loops.recorder(scheduler_name),
        SchedulerSettings(scheduler_name, release),
    )
    queues = {
        "scheduling": scheduler.queue,
        "binding": scheduler.bindings.queue,
        "reporting": scheduler.reports.queue,
        "preemption": scheduler.preemptions.queue,
    }
    loops.add(scheduler.run, queues)
    return loops
