"""Deleting jobs whose time is over: not on the word of a cache."""

from contextlib import suppress
from datetime import datetime

from mooring import log
from mooring.client.contract import Client
from mooring.controllers.ttl_after_finished.decide import expiry_of
from mooring.controllers.ttl_after_finished.plan import Plan
from mooring.errors import NotFound
from mooring.model.job import Job

_log = log.get("mooring.ttl_after_finished")


class Effects:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def perform(self, plan: Plan, now: datetime) -> None:
        """Raises: what the API said."""
        for step in plan.steps:
            with suppress(NotFound):
                live = await self._client.get(Job, step.job.key)
                expiry = expiry_of(live)
                if live.uid == step.job.uid and expiry is not None and expiry <= now:
                    await self._client.delete(live)
                    _log.info("job expired", job=live.key)
