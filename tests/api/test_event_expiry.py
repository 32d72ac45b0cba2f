"""Events are news: an hour after they were last written they are gone."""

from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import CONFIG_MAPS, EVENTS, NEW_EVENTS, a_config_map, a_new_event, an_event

HOUR = 3600.0


async def names(api: ApiUnderTest) -> list[str]:
    return [item["metadata"]["name"] for item in (await api.get(EVENTS)).doc["items"]]


async def test_an_event_lives_for_an_hour(api: ApiUnderTest) -> None:
    await api.post(EVENTS, an_event("e"))
    await api.clock.advance(HOUR - 1)
    assert await names(api) == ["e"]
    await api.clock.advance(1)
    assert await names(api) == []


async def test_each_event_has_its_own_hour(api: ApiUnderTest) -> None:
    await api.post(EVENTS, an_event("first"))
    await api.clock.advance(600)
    await api.post(EVENTS, an_event("second"))
    await api.clock.advance(HOUR - 600)
    assert await names(api) == ["second"]
    await api.clock.advance(600)
    assert await names(api) == []


async def test_an_event_that_is_written_again_has_another_hour(api: ApiUnderTest) -> None:
    await api.post(EVENTS, an_event("e"))
    await api.clock.advance(HOUR - 1)
    await api.patch(f"{EVENTS}/e", {"count": 4}, "strategic-merge-patch+json")
    await api.clock.advance(HOUR - 1)
    assert await names(api) == ["e"]
    await api.clock.advance(1)
    assert await names(api) == []


async def test_events_of_the_newer_version_expire_too(api: ApiUnderTest) -> None:
    await api.post(NEW_EVENTS, a_new_event("e"))
    assert await names(api) == ["e"]
    await api.clock.advance(HOUR)
    assert await names(api) == []
    assert (await api.get(f"{NEW_EVENTS}/e")).code == 404


async def test_an_event_of_a_name_that_is_used_again_is_another_event(api: ApiUnderTest) -> None:
    await api.post(EVENTS, an_event("e"))
    await api.clock.advance(600)
    await api.delete(f"{EVENTS}/e")
    await api.post(EVENTS, an_event("e"))
    await api.clock.advance(HOUR - 600)
    assert await names(api) == ["e"]


async def test_watchers_see_events_expire(api: ApiUnderTest) -> None:
    created = (await api.post(EVENTS, an_event("e"))).doc["metadata"]
    version = created["resourceVersion"]
    watching = await api.watch(f"{EVENTS}?watch=1&resourceVersion={version}")
    await api.clock.advance(HOUR)
    assert watching.names == [("DELETED", "e")]
    gone = watching.events[0]["object"]["metadata"]
    assert int(gone["resourceVersion"]) > int(version)


async def test_nothing_else_expires(api: ApiUnderTest) -> None:
    await api.post(CONFIG_MAPS, a_config_map("x"))
    await api.clock.advance(10 * HOUR)
    assert (await api.get(f"{CONFIG_MAPS}/x")).code == 200


async def test_an_event_deleted_before_its_time_is_not_missed(api: ApiUnderTest) -> None:
    await api.post(EVENTS, an_event("e"))
    await api.delete(f"{EVENTS}/e")
    revision = api.parts.backend.store.revision
    await api.clock.advance(HOUR)
    assert api.parts.backend.store.revision == revision
    await api.post(EVENTS, an_event("later"))
    await api.clock.advance(HOUR)
    assert await names(api) == []
