"""Deleting released volumes: the driver's volume first, then the object, the finalizer last."""

from contextlib import suppress
from typing import assert_never

from mooring import log
from mooring.csi.outcome import Done
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.errors import NotFound
from mooring.model.event import EventType
from mooring.model.may_destroy import Go, VolumeOrder
from mooring.model.reference import SecretReference
from mooring.model.steps import Emit, Fail
from mooring.model.storage_terms import ReclaimPolicy
from mooring.model.volume import Volume, VolumePhase
from mooring.model.wellknown import Finalizer
from mooring.reconcile.apply import NotNow, apply
from mooring.reconcile.live_gate import LiveGate
from mooring.reconcile.worker import Settled, Verdict
from mooring.sidecars.credentials import NoCredentials, read_credentials
from mooring.sidecars.finalizers import adding, removing
from mooring.sidecars.provisioner.context import ProvisionerContext
from mooring.sidecars.provisioner.plan import (
    FAILED_DELETE,
    DeleteBehind,
    DeleteObject,
    Protect,
    Unprotect,
    VolumePlan,
    VolumeStep,
)

_log = log.get("mooring.provisioner")

RELEASED = frozenset((VolumePhase.RELEASED,))


class VolumeEffects:
    def __init__(self, context: ProvisionerContext) -> None:
        self.deleted_behind: set[str] = set()
        """Uids of objects whose volumes the driver has deleted."""
        self._client = context.client
        self._clock = context.clock
        self._recorder = context.recorder
        self._driver = context.driver
        self._options = context.options
        self._caches = context.caches
        self._metrics = context.metrics
        self._gate = LiveGate(context.client)

    async def perform(self, plan: VolumePlan) -> Verdict:
        """Raises: ApiError, ConnectionLost, NotNow."""
        with suppress(NotFound):  # the object is gone already
            for step in plan.steps:
                await self._perform(step)
        return Settled()

    async def _perform(self, step: VolumeStep) -> None:
        match step:
            case Protect(volume):
                change = {"metadata": adding(volume, Finalizer.EXTERNAL_PROVISIONER)}
                self._caches.volumes.fold(await self._client.patch(volume, change))
            case Unprotect(volume):
                change = {"metadata": removing(volume, Finalizer.EXTERNAL_PROVISIONER)}
                await self._client.patch(volume, change)
            case DeleteBehind(volume, handle, secret):
                await self._delete(volume, handle, secret)
            case DeleteObject(volume):
                await self._client.delete(volume)
            case Emit() | Fail():
                apply(step, self._recorder)
            case other:
                assert_never(other)

    async def _delete(self, volume: Volume, handle: str, reference: SecretReference | None) -> None:
        began = self._clock.monotonic()
        secrets = await self._secrets(volume, reference)
        await self._look_once_more(volume)
        outcome = await self._driver.calls.delete(
            handle, secrets, within=self._options.call_seconds
        )
        if not isinstance(outcome, Done):
            self._metrics.not_deleted(volume)
            told = Emit(volume, EventType.WARNING, FAILED_DELETE, outcome.text)
            apply(told, self._recorder)
            raise NotNow(outcome.text)
        self._metrics.deleted(volume, self._clock.monotonic() - began)
        _log.info("volume deleted", volume=volume.name, handle=handle)
        self.deleted_behind.add(volume.uid)

    async def _look_once_more(self, volume: Volume) -> None:
        """The last thing before the driver is asked. Raises: NotNow unless all is as was seen."""
        order = VolumeOrder(volume, ReclaimPolicy.DELETE, RELEASED)
        verdict, live = await self._gate.volume(order, self._caches.find_siblings(volume))
        if live is not None:
            self._caches.volumes.fold(live)  # whatever changed is looked at at once
        if isinstance(verdict, Go):
            return
        if verdict.is_for_people:
            self._metrics.not_deleted(volume)
            why = f"not deleted: {verdict.because}"
            apply(Emit(volume, EventType.WARNING, FAILED_DELETE, why), self._recorder)
        raise NotNow(verdict.because)

    async def _secrets(self, volume: Volume, reference: SecretReference | None) -> Secrets:
        """A secret that is gone must not keep the volume for ever: some drivers need none."""
        try:
            return await read_credentials(self._client, reference)
        except NoCredentials as error:
            _log.warning("deleting without credentials", volume=volume.name, because=error)
            return NO_SECRETS
