"""Carrying out plans: slices and Endpoints are written."""

from contextlib import suppress
from typing import assert_never

from mooring import log
from mooring.client.contract import Client
from mooring.controllers.endpoints.plan import (
    CreateEndpoints,
    CreateSlice,
    DeleteEndpoints,
    DeleteSlice,
    Plan,
    UpdateEndpoints,
    UpdateSlice,
)
from mooring.errors import Forbidden, NotFound
from mooring.model.endpoint_slice import EndpointSlice
from mooring.model.endpoints import Endpoints
from mooring.reconcile.informer import Informer

_log = log.get("mooring.endpoints")

_TERMINATING = "NamespaceTerminating"


class Effects:
    def __init__(
        self, client: Client, slices: Informer[EndpointSlice], endpoints: Informer[Endpoints]
    ) -> None:
        self.doomed: set[str] = set()  # uids of slices that are deleted, though that is not seen
        self._client = client
        self._slices = slices
        self._endpoints = endpoints

    async def perform(self, plan: Plan) -> None:
        """In order, up to the first step that fails.

        Raises: what the API said; try again later.
        """
        try:
            await self._perform(plan)
        except Forbidden as error:
            causes = error.details.get("causes", ())
            if all(cause.get("reason") != _TERMINATING for cause in causes):
                raise
            _log.debug("the namespace is on its way out", error=error)

    async def _perform(self, plan: Plan) -> None:
        for step in plan.steps:
            match step:
                case CreateSlice():
                    self._slices.fold(await self._client.create(EndpointSlice, step.document()))
                case UpdateSlice(seen):
                    self._slices.fold(await self._client.patch(seen, step.change()))
                case DeleteSlice(seen):
                    self.doomed.add(seen.uid)
                    await self._delete(seen)
                case CreateEndpoints():
                    self._endpoints.fold(await self._client.create(Endpoints, step.document()))
                case UpdateEndpoints(seen):
                    self._endpoints.fold(await self._client.patch(seen, step.change()))
                case DeleteEndpoints(seen):
                    await self._delete(seen)
                case other:
                    assert_never(other)

    async def _delete(self, seen: EndpointSlice | Endpoints) -> None:
        try:
            with suppress(NotFound):
                await self._client.delete(seen)
        except BaseException:
            self.doomed.discard(seen.uid)  # it may be there still, and is to be deleted later
            raise
