"""One try to give one pod one volume: what every step of it needs."""

from contextlib import AbstractContextManager
from functools import partial
from typing import Self

import msgspec

from mooring.model.volume_use import VolumeUse
from mooring.node.actual import ActualVolume, PodMount, PodState
from mooring.node.context import NodeContext
from mooring.node.desired import WantedBy, WantedVolume
from mooring.node.effects.events import claim_and_driver, failures_recorded, pod_recorder
from mooring.node.effects.uncertain import revert_record
from mooring.plugins.contract import BlockMapper, Mounter, NotStarted, Tell
from mooring.reconcile.recorder import reference_to

Reach = Mounter | BlockMapper


class MountAttempt(msgspec.Struct, frozen=True):
    context: NodeContext
    wanted: WantedVolume
    by: WantedBy
    record: Tell  # an event on the pod

    @classmethod
    def of(cls, context: NodeContext, wanted: WantedVolume, by: WantedBy) -> Self:
        return cls(context, wanted, by, pod_recorder(context.recorder, reference_to(by.pod)))

    @property
    def name(self) -> str:
        return self.wanted.name

    @property
    def pod_uid(self) -> str:
        return self.by.pod.uid

    @property
    def use(self) -> VolumeUse:
        return self.by.use

    def recorded(self, reason: str, what: str) -> AbstractContextManager[None]:
        """Around a step; a failure is an event on the pod, and goes on."""
        about = {"pod": self.by.pod.key, **claim_and_driver(self.use)}
        return failures_recorded(self.record, reason, what, self.use.name, **about)

    def get_here(self) -> ActualVolume:
        """The volume as it is on this machine now. Raises: NotStarted when it is not."""
        here = self.context.actual.find(self.name)
        if here is None:
            raise NotStarted(f"volume {self.name} is not attached")
        return here

    def find_mount(self) -> PodMount | None:
        """What the pod has of it already, or may have."""
        return self.get_here().pods.get(self.pod_uid)

    def begin(self, reach: Reach, known: PodMount | None) -> None:
        """Put on record, before the call, that the pod may have the volume."""
        must_stay = known is not None and known.needs_tear_down
        self._record(reach, needs_tear_down=must_stay)

    def may_revert(self, reach: Reach, known: PodMount | None) -> AbstractContextManager[None]:
        """Around that call: what is on record stays unless it certainly left nothing behind.

        A call that was given up may yet leave something, whatever later ones say.
        """
        return revert_record(
            partial(self.context.actual.unmounted, self.name, self.pod_uid),
            if_nothing_began=known is None,
            if_it_failed=known is None or not known.needs_tear_down,
            given_up=partial(self._record, reach, needs_tear_down=True),
        )

    def succeed(self, reach: Reach) -> None:
        """After it: there it is, though not for use yet."""
        self._record(reach, needs_tear_down=True)

    def finish(self, reach: Reach) -> None:
        """The pod has the volume."""
        self.context.actual.mounted(self.name, self._entry(reach, needs_tear_down=True))

    def _record(self, reach: Reach, *, needs_tear_down: bool) -> None:
        entry = self._entry(reach, needs_tear_down=needs_tear_down)
        self.context.actual.mount_uncertain(self.name, entry)

    def _entry(self, reach: Reach, *, needs_tear_down: bool) -> PodMount:
        return PodMount(
            self.pod_uid,
            self.use,
            PodState.UNCERTAIN,
            reach,
            needs_tear_down=needs_tear_down,
            regarding=reference_to(self.by.pod),
            volume=self.name,
        )
