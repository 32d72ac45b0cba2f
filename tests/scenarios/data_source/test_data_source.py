"""Claims that are to be filled from objects of other kinds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from mooring.apiserver.api.in_process import InProcessApi
from mooring.apiserver.auth.user import CONTROLLERS
from mooring.client.local import LocalClient
from mooring.controllers.data_source import run as data_source
from mooring.model.document import Doc
from mooring.reconcile.loops import Loops
from tests.fakes.objects import CLAIMS, POPULATORS, a_claim, a_populator
from tests.scenarios.neighbours import NO_OPTIONS, Cluster

UNRECOGNIZED = "UnrecognizedDataSourceKind"
WARNED = (
    "Warning",
    "PersistentVolumeClaim/data",
    "The datasource for this PVC does not match any registered VolumePopulator",
    "volume-data-source-validator",
)


@asynccontextmanager
async def validator(cluster: Cluster) -> AsyncIterator[Loops]:
    client = LocalClient(InProcessApi(cluster.api.parts.backend, CONTROLLERS))
    loops = Loops("controllers", client, cluster.api.clock, Random(1))  # noqa: S311  no secrets
    data_source.build(loops, NO_OPTIONS)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(loops.run())
        await cluster.settle()
        yield loops
        running.cancel()


def a_claim_of_a_book(name: str = "data") -> Doc:
    source = {"apiGroup": "example.com", "kind": "Book", "name": "moby-dick"}
    return a_claim(name, dataSourceRef=source)


async def test_a_kind_that_nobody_serves_is_warned_of_once(cluster: Cluster) -> None:
    async with validator(cluster):
        await cluster.create(CLAIMS, a_claim_of_a_book())
        await cluster.patch(CLAIMS, "data", {"metadata": {"labels": {"a": "b"}}})
        assert await cluster.events(UNRECOGNIZED) == [WARNED]


async def test_a_populator_that_is_there_is_enough(cluster: Cluster) -> None:
    await cluster.create(POPULATORS, a_populator())
    async with validator(cluster):
        await cluster.create(CLAIMS, a_claim_of_a_book())
        assert await cluster.events(UNRECOGNIZED) == []


async def test_claims_are_looked_at_again_when_populators_come_and_go(cluster: Cluster) -> None:
    async with validator(cluster) as loops:
        await cluster.create(CLAIMS, a_claim_of_a_book())
        await cluster.create(POPULATORS, a_populator())
        (family,) = (
            each
            for collector in loops.collectors()
            for each in collector.collect()
            if each.name == "volume_data_source_validator_operation_count"
        )
        counted = {sample.labels["result"]: sample.value for sample in family.samples}
        assert counted == {"invalid": 1, "populator": 1}

        await cluster.delete(POPULATORS, "books")
        await cluster.api.clock.advance(2)
        items = (await cluster.api.get("/api/v1/namespaces/default/events")).doc["items"]
        assert [item["count"] for item in items if item["reason"] == UNRECOGNIZED] == [2]
