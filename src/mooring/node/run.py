"""The node's volumes: mounted when a pod wants them, unmounted when none does.

Two loops feed one another: `pod_loop.py` finds the volumes that pods want, `volume_loop.py` mounts
and unmounts them, and `restart_gate.py` decides from when on anything may be unmounted.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.model.pod import Pod
from mooring.model.selector import find_int64
from mooring.model.wellknown import Annotation
from mooring.node.actual import Actual, PodMount, PodState
from mooring.node.claims import used_names
from mooring.node.context import NodeContext, OwnNode
from mooring.node.desired import Desired, WantedVolume
from mooring.node.in_use import InUse
from mooring.node.pod_loop import PodLoop
from mooring.node.restart_gate import RestartGate
from mooring.node.volume_loop import VolumeLoop
from mooring.node.waits import NodeFull, NotMounted, Waits
from mooring.plugins.contract import VolumeError
from mooring.plugins.registry import Registry
from mooring.plugins.volume_host import Host
from mooring.reconcile.metrics import MeasuredQueue
from mooring.reconcile.recorder import Recorder


class NodeVolumes:
    """The volume manager. `run` runs it until cancelled."""

    def __init__(
        self,
        host: Host,
        registry: Registry,
        client: Client,
        recorder: Recorder,
        clock: Clock,
        own_node: OwnNode,
    ) -> None:
        desired, actual = Desired(self._wish_changed), Actual(self._fact_changed)
        self.context = NodeContext(
            host, registry, desired, actual, client, recorder, clock, own_node
        )
        self.context.metrics.watch(desired, actual)
        self._waits = Waits(clock, desired, actual)
        self._in_use = InUse(desired, actual)
        self._gate = RestartGate(self._gate_opens)
        self._volumes = VolumeLoop(self.context, self._waits, self._gate)
        self._pods = PodLoop(self.context, self._volumes, self._waits, self._gate)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._volumes.run())
            tasks.create_task(self._pods.run())

    def queues(self) -> Mapping[str, MeasuredQueue]:
        return {"node_volumes": self._volumes.queue, "node_pods": self._pods.queue}

    # what pods ask for

    def want(self, pod: Pod) -> None:
        """Bring the pod's volumes; said again, look whether their content is up to date."""
        self._pods.want(pod)

    def refresh(self, pod_uid: str) -> None:
        """An object has changed that volumes of the pod show, or wait for."""
        self._pods.refresh(pod_uid)

    def release(self, pod_uid: str) -> None:
        """No container of the pod is left: take its volumes away."""
        self._pods.release(pod_uid)

    async def mounted(self, pod: Pod) -> None:
        """Want the pod's volumes, and return once it has them all. Raises: NotMounted, NodeFull."""
        self._waits.failed(pod.uid, ())  # what was true a while ago does not count
        self._pods.want(pod, is_awaited=True)
        if not used_names(pod):
            return
        try:
            await self._waits.mounted(pod)
        except NotMounted as error:
            if await self._is_full(error.missing.unattached):
                raise NodeFull(error) from error
            raise

    async def unmounted(self, pod_uid: str) -> None:
        """Returns once no volume is certainly mounted for the pod. Raises: StillMounted."""
        await self._waits.unmounted(pod_uid)

    async def all_unmounted(self, pod_uids: Iterable[str]) -> None:
        """The same for many pods. Raises: StillMounted, once all waits have ended."""
        await self._waits.all_unmounted(pod_uids)

    async def gone(self, pod_uid: str) -> None:
        """Returns once none of the pod's volumes is mounted, uncertain or being mounted."""
        await self._gate.until_synced()  # before, the pods of this node are unknown
        await self._waits.gone(pod_uid)

    async def let_go(self, pod_uid: str) -> None:
        """Returns once the pod's volumes are neither wanted nor mounted."""
        await self.complete()
        await self._waits.gone(pod_uid, lambda: not self._pods.knows(pod_uid))

    def reach(self, pod_uid: str) -> Mapping[str, PodMount]:
        """How containers get at the volumes that are mounted, by their name in the pod."""
        found: dict[str, PodMount] = {}
        for wanted in self.context.desired.of_pod(pod_uid):
            here = self.context.actual.find(wanted.name)
            mount = None if here is None else here.pods.get(pod_uid)
            if mount is not None and mount.state is PodState.MOUNTED:
                found.update(dict.fromkeys(wanted.pods[pod_uid].outer_names, mount))
        return found

    def has_traces(self, pod_uid: str) -> bool:
        """Whether anything is mounted for the pod, or may be."""
        return any(True for _ in self.context.actual.of_pod(pod_uid))

    def extra_groups(self, pod: Pod) -> tuple[int, ...]:
        """The groups that persistent volumes ask their users to be in."""
        groups: set[int] = set()
        for here in self.context.actual.of_pod(pod.uid):
            mount = here.pods[pod.uid]
            if mount.state is PodState.MOUNTED and mount.use.volume is not None:
                asked = mount.use.volume.metadata.annotations.get(Annotation.OWNER_GROUP)
                group = find_int64(asked)
                if group is not None and group >= 0:
                    groups.add(group)
        return tuple(sorted(groups.difference(pod.spec.security_context.supplemental_groups)))

    # for the node's status

    def in_use(self) -> tuple[str, ...]:
        """The attachable volumes that pods on this node want or have."""
        return self._in_use.names()

    def on_in_use_change(self, handler: Callable[[], None]) -> None:
        """`handler` is called whenever `in_use` answers otherwise than before."""
        self._in_use.on_change(handler)

    def reported_in_use(self, names: Iterable[str]) -> None:
        """The API has acknowledged that this node uses exactly these."""
        self.context.desired.report_in_use(frozenset(names))

    def attached_changed(self, names: Iterable[str]) -> None:
        """These volumes have changed in `volumesAttached` of the node's status."""
        self._volumes.retry(names)

    def attachability_changed(self) -> None:
        """A CSIDriver may have changed: what its volumes need is asked anew."""
        self._volumes.attachability_changed()
        self._pods.drivers_changed()

    # after a restart

    def reconstructed(self) -> None:
        """The disk has been read back, and the node's status asked about what was found."""
        self._gate.reconstructed()

    def first_picture(self, pod_uids: Iterable[str]) -> None:
        """These pods were here at the start: until each is populated, nothing is unmounted."""
        self._gate.first_picture(pod_uids)

    async def complete(self) -> None:
        """Returns once both pictures are complete: from now on volumes are unmounted."""
        await self._gate.until_open()

    @property
    def is_synced(self) -> bool:
        """What is on disk is known, and agreed with the API."""
        return self._gate.is_synced

    @property
    def may_destroy(self) -> bool:
        return self._gate.may_destroy

    # the pictures have changed

    def _wish_changed(self, name: str) -> None:
        self._volumes.look_at(name)
        self._in_use.look_at(name)

    def _fact_changed(self, name: str, pod_uid: str) -> None:
        self._volumes.look_at(name)
        if pod_uid:
            self._waits.wake(pod_uid)
        self._in_use.look_at(name)

    def _gate_opens(self) -> None:
        self._volumes.look_at_all()

    async def _is_full(self, unattached: Iterable[WantedVolume]) -> bool:
        for wanted in unattached:
            try:
                attachable = self.context.registry.find_attachable(wanted.use)
            except VolumeError:
                continue
            node = self.context.own_node.name
            if attachable is not None and await attachable.is_node_full(wanted.use, node):
                return True
        return False
