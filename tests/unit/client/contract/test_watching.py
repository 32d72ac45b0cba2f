"""What every transport promises of a watch."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from mooring.client.contract import Change, ChangeType, Part, Scope
from mooring.errors import ApiError, Expired
from mooring.model.claim import Claim
from tests.unit.client.transports import Transport, claim_in, labelled

ADDED, MODIFIED, DELETED = ChangeType.ADDED, ChangeType.MODIFIED, ChangeType.DELETED


async def told(changes: AsyncIterator[Change[Claim]], count: int) -> list[tuple[ChangeType, str]]:
    """The next `count` changes; bookmarks tell of nothing."""
    found: list[tuple[ChangeType, str]] = []
    async with asyncio.timeout(10):
        async for change in changes:
            if change.type is not ChangeType.BOOKMARK:
                found.append((change.type, change.object.name))
            if len(found) == count:
                return found
    return found


async def version_now(transport: Transport) -> str:
    return (await transport.client.list(Claim, Scope(transport.namespace))).version


async def test_every_change_is_told_in_order(transport: Transport) -> None:
    client, here = transport.client, Scope(transport.namespace)
    version = await version_now(transport)
    async with client.watch(Claim, version, here) as changes:
        a = await client.create(Claim, claim_in(transport, "a"))
        await client.create(Claim, claim_in(transport, "b"))
        a = await client.patch(a, {"metadata": {"finalizers": None}})
        await client.delete(a)
        assert await told(changes, 4) == [
            (ADDED, "a"),
            (ADDED, "b"),
            (MODIFIED, "a"),
            (DELETED, "a"),
        ]


async def test_changes_carry_the_objects(transport: Transport) -> None:
    client, here = transport.client, Scope(transport.namespace)
    version = await version_now(transport)
    made = await client.create(Claim, claim_in(transport, "a"))
    bound = await client.patch(made, {"status": {"phase": "Bound"}}, Part.STATUS)
    async with client.watch(Claim, version, here) as changes:
        async with asyncio.timeout(10):
            assert [await anext(changes), await anext(changes)] == [
                Change(ADDED, made),
                Change(MODIFIED, bound),
            ]


async def test_the_last_state_carries_the_version_of_the_deletion(transport: Transport) -> None:
    client, here = transport.client, Scope(transport.namespace)
    made = await client.create(Claim, claim_in(transport, "a"))
    made = await client.patch(made, {"metadata": {"finalizers": None}})
    async with client.watch(Claim, made.metadata.resource_version, here) as changes:
        await client.delete(made)
        async with asyncio.timeout(10):
            change = await anext(changes)
    assert change.type is DELETED
    assert int(change.object.metadata.resource_version) > int(made.metadata.resource_version)
    assert change.object.uid == made.uid


async def test_what_happened_before_the_version_is_not_told(transport: Transport) -> None:
    client, here = transport.client, Scope(transport.namespace)
    first = await client.create(Claim, claim_in(transport, "first"))
    await client.create(Claim, claim_in(transport, "second"))
    async with client.watch(Claim, first.metadata.resource_version, here) as changes:
        assert await told(changes, 1) == [(ADDED, "second")]


async def test_a_watch_waits_for_what_is_to_come(transport: Transport) -> None:
    client, here = transport.client, Scope(transport.namespace)
    async with client.watch(Claim, await version_now(transport), here) as changes:
        waiting = asyncio.create_task(told(changes, 1))
        await client.create(Claim, claim_in(transport, "a"))
        assert await waiting == [(ADDED, "a")]
        waiting = asyncio.create_task(told(changes, 1))
        await client.create(Claim, claim_in(transport, "b"))
        assert await waiting == [(ADDED, "b")]


async def test_other_namespaces_are_not_told_of(transport: Transport) -> None:
    client = transport.client
    version = await version_now(transport)
    elsewhere = claim_in(transport, "elsewhere")
    elsewhere["metadata"]["namespace"] = "default"
    elsewhere["metadata"]["name"] = f"elsewhere-{transport.namespace}"
    await client.create(Claim, elsewhere)
    await client.create(Claim, claim_in(transport, "here"))
    async with client.watch(Claim, version, Scope(transport.namespace)) as changes:
        assert await told(changes, 1) == [(ADDED, "here")]


async def test_a_selector_makes_objects_come_and_go(transport: Transport) -> None:
    client = transport.client
    version = await version_now(transport)
    scope = Scope(transport.namespace, labels="tier=web")
    a = await client.create(Claim, claim_in(transport, "a"))
    a = await client.patch(a, {"metadata": {"labels": {"tier": "web"}}})
    a = await client.patch(a, {"metadata": {"labels": {"other": "1"}}})
    a = await client.patch(a, {"metadata": {"labels": {"tier": "db"}}})
    await client.create(Claim, labelled(claim_in(transport, "b"), tier="web"))
    async with client.watch(Claim, version, scope) as changes:
        assert await told(changes, 4) == [
            (ADDED, "a"),
            (MODIFIED, "a"),
            (DELETED, "a"),
            (ADDED, "b"),
        ]


async def test_what_ceases_to_match_is_told_with_its_last_matching_state(
    transport: Transport,
) -> None:
    client = transport.client
    doc = labelled(claim_in(transport, "a"), tier="web")
    web = await client.create(Claim, doc)
    scope = Scope(transport.namespace, labels="tier=web")
    async with client.watch(Claim, web.metadata.resource_version, scope) as changes:
        gone = await client.patch(web, {"metadata": {"labels": {"tier": "db"}}})
        async with asyncio.timeout(10):
            change = await anext(changes)
    assert change.type is DELETED
    assert change.object.metadata.labels == {"tier": "web"}
    assert change.object.metadata.resource_version == gone.metadata.resource_version


async def test_a_field_selector_follows_one_object(transport: Transport) -> None:
    client = transport.client
    version = await version_now(transport)
    for name in ("a", "b", "c"):
        await client.create(Claim, claim_in(transport, name))
    scope = Scope(transport.namespace, fields="metadata.name=b")
    async with client.watch(Claim, version, scope) as changes:
        assert await told(changes, 1) == [(ADDED, "b")]


async def test_a_version_that_is_forgotten_has_expired(own_transport: Transport) -> None:
    client = own_transport.client
    made = await client.create(Claim, claim_in(own_transport, "a"))
    await client.patch(made, {"metadata": {"labels": {"a": "1"}}})
    await own_transport.forget_history()
    with pytest.raises(Expired):
        async with client.watch(Claim, made.metadata.resource_version) as changes:
            await anext(changes)


@pytest.mark.parametrize("version", ["", "0"])
async def test_a_watch_starts_at_the_version_of_a_list(transport: Transport, version: str) -> None:
    with pytest.raises(ValueError, match="version of a list"):
        async with transport.client.watch(Claim, version):
            pass


async def test_a_version_that_is_none_is_refused(transport: Transport) -> None:
    with pytest.raises(ApiError):
        async with transport.client.watch(Claim, "yesterday"):
            pass


async def test_a_cancelled_watch_leaves_nothing_behind(own_transport: Transport) -> None:
    client = own_transport.client
    entered = asyncio.Event()

    async def follow() -> None:
        async with client.watch(Claim, await version_now(own_transport)) as changes:
            entered.set()
            async for _ in changes:
                pass

    task = asyncio.create_task(follow())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await own_transport.no_watches()


async def test_many_watch_at_once(transport: Transport) -> None:
    client, here = transport.client, Scope(transport.namespace)
    version = await version_now(transport)

    async def follow() -> list[tuple[ChangeType, str]]:
        async with client.watch(Claim, version, here) as changes:
            return await told(changes, 2)

    async with asyncio.TaskGroup() as tasks:
        watchers = [tasks.create_task(follow()) for _ in range(20)]
        for name in ("a", "b"):
            await client.create(Claim, claim_in(transport, name))
    assert all(task.result() == [(ADDED, "a"), (ADDED, "b")] for task in watchers)
