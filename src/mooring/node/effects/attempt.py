"""One try to give one pod one volume: what every step of it needs."""

from contextlib import AbstractContextManager
from functools import partial
from typing import Self

import msgspec

from mooring.model.volume_use import VolumeUse
from mooring.node.actual import ActualVolume, PodMount, PodState
from mooring.node.desired import WantedBy, WantedVolume
from mooring.node.effects.belief import taken_back
from mooring.node.effects.telling import failures_told, teller
from mooring.node.machine import Machine
from mooring.plugins.contract import BlockMapper, Mounter, NotStarted, Tell
from mooring.reconcile.recorder import reference_to

Reach = Mounter | BlockMapper


class Attempt(msgspec.Struct, frozen=True):
    machine: Machine
    wanted: WantedVolume
    by: WantedBy
    tell: Tell  # to the pod

    @classmethod
    def of(cls, machine: Machine, wanted: WantedVolume, by: WantedBy) -> Self:
        return cls(machine, wanted, by, teller(machine.recorder, reference_to(by.pod)))

    @property
    def name(self) -> str:
        return self.wanted.name

    @property
    def pod_uid(self) -> str:
        return self.by.pod.uid

    @property
    def use(self) -> VolumeUse:
        return self.by.use

    def told(self, reason: str, what: str) -> AbstractContextManager[None]:
        """Around a step; a failure is told to the pod, and goes on."""
        return failures_told(self.tell, reason, what, self.use.name)

    def get_here(self) -> ActualVolume:
        """The volume as it is on this machine now. Raises: NotStarted when it is not."""
        here = self.machine.actual.find(self.name)
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

    def may_take_back(self, reach: Reach, known: PodMount | None) -> AbstractContextManager[None]:
        """Around that call: what is on record stays unless it certainly left nothing behind.

        A call that was given up may yet leave something, whatever later ones say.
        """
        return taken_back(
            partial(self.machine.actual.unmounted, self.name, self.pod_uid),
            if_nothing_began=known is None,
            if_it_failed=known is None or not known.needs_tear_down,
            given_up=partial(self._record, reach, needs_tear_down=True),
        )

    def succeed(self, reach: Reach) -> None:
        """After it: there it is, though not for use yet."""
        self._record(reach, needs_tear_down=True)

    def finish(self, reach: Reach) -> None:
        """The pod has the volume."""
        self.machine.actual.mounted(self.name, self._entry(reach, needs_tear_down=True))

    def _record(self, reach: Reach, *, needs_tear_down: bool) -> None:
        entry = self._entry(reach, needs_tear_down=needs_tear_down)
        self.machine.actual.mount_uncertain(self.name, entry)

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
