"""HTTP as any Kubernetes server may speak it: the cases that a contented server never shows."""

import asyncio

import pytest

from mooring import __version__, errors
from mooring.client.contract import Action, Part, Scope
from mooring.client.credentials import Proof
from mooring.client.fence import fenced
from mooring.client.http import LONGEST_WAIT, MOST_TRIES, HttpClient
from mooring.errors import ConnectionLost, MooringError, ServerError, Unreadable, UsageError
from mooring.model.claim import Claim
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.secret_value import SecretValue
from mooring.model.storage_class import StorageClass
from tests.fakes.clock import VirtualClock
from tests.unit.client.scripted_server import Script, a_page, a_stored, talking_to

DATA = Key("default", "data")


# requests


async def test_a_read_asks_for_json_and_says_who_asks(script: Script, client: HttpClient) -> None:
    script.answer(a_stored())
    await client.get(Claim, DATA)
    asked = script.asked[0]
    assert (asked.method, asked.path) == (
        "GET",
        "/api/v1/namespaces/default/persistentvolumeclaims/data",
    )
    assert asked.headers["User-Agent"] == f"mooring/{__version__}"
    assert asked.headers["Accept"] == "application/json"
    assert "Authorization" not in asked.headers


async def test_kinds_of_groups_are_below_apis(script: Script, client: HttpClient) -> None:
    script.answer(a_stored("fast"))
    await client.get(StorageClass, Key("", "fast"))
    assert script.asked[0].path == "/apis/storage.k8s.io/v1/storageclasses/fast"


async def test_a_patch_is_a_merge_patch_with_the_version_seen(
    script: Script, client: HttpClient
) -> None:
    script.answer(a_stored())
    seen = await client.get(Claim, DATA)
    script.answer(a_stored(version="6"))
    await client.patch(seen, {"metadata": {"labels": {"a": "1"}}, "spec": {"volumeName": "v"}})
    asked = script.asked[1]
    assert asked.method == "PATCH"
    assert asked.headers["Content-Type"] == "application/merge-patch+json"
    metadata = {"labels": {"a": "1"}, "resourceVersion": "5"}
    assert asked.doc == {"metadata": metadata, "spec": {"volumeName": "v"}}


async def test_both_parts_are_two_patches_the_second_on_top_of_the_first(
    script: Script, client: HttpClient
) -> None:
    script.answer(a_stored())
    seen = await client.get(Claim, DATA)
    script.answer(a_stored(version="6"))
    script.answer(a_stored(version="7"))
    after = await client.patch_both(seen, {"spec": {"volumeName": "v"}}, {"phase": "Bound"})
    assert after.metadata.resource_version == "7"
    main, status = script.asked[1:]
    assert main.doc["metadata"]["resourceVersion"] == "5"
    assert status.path.endswith("/data/status")
    assert status.doc == {"status": {"phase": "Bound"}, "metadata": {"resourceVersion": "6"}}


class LeaseLost(MooringError):
    """What the fence of these tests raises."""


class Lease:
    def __init__(self, writes: int) -> None:
        self.writes = writes  # that may go out; one more look is when the fence is entered

    def check(self) -> None:
        if self.writes < 0:
            raise LeaseLost
        self.writes -= 1


async def test_the_second_half_of_a_write_stays_here_when_the_fence_came_down_meanwhile(
    script: Script, client: HttpClient
) -> None:
    script.answer(a_stored())
    seen = await client.get(Claim, DATA)
    script.answer(a_stored(version="6"))
    with pytest.raises(LeaseLost), fenced(Lease(1).check):
        await client.patch_both(seen, {"spec": {"volumeName": "v"}}, {"phase": "Bound"})
    assert [asked.method for asked in script.asked] == ["GET", "PATCH"]


async def test_a_write_that_had_to_wait_stays_here_when_the_fence_came_down_meanwhile(
    script: Script,
) -> None:
    clock = VirtualClock()
    async with talking_to(script, clock=clock) as client:
        script.refuse(429, "TooManyRequests", Retry_After="3")
        with fenced(Lease(1).check):
            doc = {"metadata": {"namespace": "default", "name": "data"}}
            writing = asyncio.ensure_future(client.create(Claim, doc))
        await _asked(script, 1)
        await clock.advance(3.1)
        with pytest.raises(LeaseLost):
            await writing
    assert len(script.asked) == 1


async def test_reads_are_not_fenced(script: Script, client: HttpClient) -> None:
    script.answer(a_stored())
    with fenced(Lease(0).check):
        await client.get(Claim, DATA)


async def test_a_deletion_names_the_uid_and_the_grace(script: Script, client: HttpClient) -> None:
    script.answer(a_stored())
    seen = await client.get(Claim, DATA)
    script.answer({"kind": "Status", "status": "Success"})
    await client.delete(seen, grace_seconds=0)
    options = {"preconditions": {"uid": "u1"}, "gracePeriodSeconds": 0}
    assert script.asked[1].doc == {"kind": "DeleteOptions", "apiVersion": "v1", **options}


async def test_an_action_is_posted_below_its_object(script: Script, client: HttpClient) -> None:
    script.answer({"kind": "Status", "status": "Success"}, 201)
    await client.post(Pod, Key("default", "web"), Action.EVICTION, {"metadata": {"uid": "u1"}})
    asked = script.asked[0]
    assert (asked.method, asked.path) == ("POST", "/api/v1/namespaces/default/pods/web/eviction")
    metadata = {"name": "web", "namespace": "default", "uid": "u1"}
    assert asked.doc == {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": metadata}


async def test_an_action_answered_with_anything_but_a_document_is_the_servers_fault(
    script: Script, client: HttpClient
) -> None:
    script.answer_text("done", 201)
    with pytest.raises(ServerError, match="the answer to binding cannot be read"):
        await client.post(Pod, Key("default", "web"), Action.BINDING, {"target": {"name": "n1"}})


# lists


async def test_a_list_is_taken_in_pages(script: Script, client: HttpClient) -> None:
    script.answer(a_page("a", "b", more="there"))
    script.answer(a_page("c"))
    listing = await client.list(Claim, Scope("default", labels="a=1", fields="metadata.name!=z"))
    assert [claim.name for claim in listing.items] == ["a", "b", "c"]
    assert listing.version == "9"
    first, second = (asked.query for asked in script.asked)
    selectors = {"labelSelector": "a=1", "fieldSelector": "metadata.name!=z"}
    assert first == {"limit": "500", **selectors}
    assert second == {"limit": "500", "continue": "there", **selectors}


async def test_pages_that_expire_are_followed_by_the_whole_list(
    script: Script, client: HttpClient
) -> None:
    script.answer(a_page("a", version="9", more="there"))
    script.refuse(410, "Expired")
    script.answer(a_page("b", "c", version="12"))
    listing = await client.list(Claim)
    assert [claim.name for claim in listing.items] == ["b", "c"]
    assert listing.version == "12"
    assert script.asked[2].query == {}


async def test_pages_that_lead_to_themselves_are_the_servers_fault(
    script: Script, client: HttpClient
) -> None:
    for _ in range(3):
        script.answer(a_page("data", more="again"))
    with pytest.raises(ServerError, match="no end"):
        await client.list(Claim)


async def test_a_list_of_nothing_may_be_null(script: Script, client: HttpClient) -> None:
    script.answer({"metadata": {"resourceVersion": "9"}, "items": None})
    assert list((await client.list(Claim)).items) == []


async def test_items_have_the_kind_that_their_list_leaves_out(
    script: Script, client: HttpClient
) -> None:
    script.answer(a_page("a"))
    (claim,) = (await client.list(Claim)).items
    assert (claim.kind, claim.api_version) == ("PersistentVolumeClaim", "v1")


# trying again


async def test_a_busy_server_is_asked_again_when_it_says(script: Script) -> None:
    clock = VirtualClock()
    async with talking_to(script, clock=clock) as client:
        script.refuse(429, "TooManyRequests", Retry_After="3")
        script.answer(a_stored())
        asking = asyncio.create_task(client.get(Claim, DATA))
        await _asked(script, 1)
        await clock.advance(2.9)
        assert not asking.done()
        await clock.advance(0.2)
        assert (await asking).name == "data"


READ, WRITE = "GET", "PATCH"
AGAIN = {
    "a read is tried again after 429": (READ, 429, "TooManyRequests", 2),
    "a read is tried again after 503": (READ, 503, "ServiceUnavailable", 2),
    "a read is tried again after 504": (READ, 504, "Timeout", 2),
    "a read is not tried again after 404": (READ, 404, "NotFound", 1),
    "a write is tried again after 429, for nothing was done": (WRITE, 429, "TooManyRequests", 2),
    "a write is not tried again after 500, for it may be done": (WRITE, 500, "InternalError", 1),
    "a write is not tried again after 504, for it may be done": (WRITE, 504, "Timeout", 1),
}


@pytest.mark.parametrize(("method", "code", "reason", "tries"), AGAIN.values(), ids=AGAIN)
async def test_trying_again(
    script: Script, method: str, code: int, reason: str, tries: int
) -> None:
    async with talking_to(script, clock=NoWaiting()) as client:
        script.answer(a_stored())
        seen = await client.get(Claim, DATA)
        script.refuse(code, reason, Retry_After="1")
        script.answer(a_stored(version="6"))

        async def act() -> Claim:
            if method == READ:
                return await client.get(Claim, DATA)
            return await client.patch(seen, {"status": {}}, Part.STATUS)

        if tries == 2:
            assert (await act()).metadata.resource_version == "6"
        else:
            with pytest.raises(errors.ApiError):
                await act()
        assert len(script.asked) == 1 + tries


async def test_patience_has_an_end(script: Script) -> None:
    clock = NoWaiting()
    async with talking_to(script, clock=clock) as client:
        for _ in range(MOST_TRIES):
            script.refuse(429, "TooManyRequests", "enough", Retry_After="1")
        with pytest.raises(errors.TooManyRequests, match="enough"):
            await client.get(Claim, DATA)
    assert clock.waits == [1] * (MOST_TRIES - 1)


HOPELESS = {"no time is named": {}, "the time is too long": {"Retry_After": str(LONGEST_WAIT + 1)}}


@pytest.mark.parametrize("headers", HOPELESS.values(), ids=HOPELESS)
async def test_a_refusal_is_final_when(
    script: Script, client: HttpClient, headers: dict[str, str]
) -> None:
    script.refuse(429, "TooManyRequests", **headers)
    with pytest.raises(errors.TooManyRequests) as refused:
        await client.get(Claim, DATA)
    assert refused.value.retry_after == int(headers.get("Retry_After", 0))


# connections


async def test_an_answer_that_never_comes_is_a_lost_connection(
    script: Script, client: HttpClient
) -> None:
    script.answer(a_stored())
    seen = await client.get(Claim, DATA)
    script.close_watch()
    with pytest.raises(ConnectionLost, match=rf"the connection to {script.url} broke"):
        await client.patch(seen, {"status": {}}, Part.STATUS)


async def test_a_body_that_is_cut_off_is_a_lost_connection(
    script: Script, client: HttpClient
) -> None:
    script.stream(b'{"metadata"', is_cut=True)
    with pytest.raises(ConnectionLost):
        await client.get(Claim, DATA)


async def test_a_server_that_is_not_there_is_named(script: Script) -> None:
    gone = Script()
    gone.url = "http://127.0.0.1:1"
    async with talking_to(gone) as client:
        with pytest.raises(ConnectionLost) as told:
            await client.get(Claim, DATA)
    assert str(told.value) == "cannot reach http://127.0.0.1:1: Connection refused"


async def test_a_redirect_is_not_followed(script: Script, client: HttpClient) -> None:
    script.answer_text("", 302, Location="http://example.com/")
    with pytest.raises(MooringError):
        await client.get(Claim, DATA)


# what servers hold


async def test_an_object_that_cannot_be_read_is_named(script: Script, client: HttpClient) -> None:
    script.answer(a_stored(status={"phase": 7}))
    with pytest.raises(ServerError) as told:
        await client.get(Claim, DATA)
    assert str(told.value) == (
        "PersistentVolumeClaim default/data cannot be read: "
        "Expected `str`, got `int` - at `$.status.phase`"
    )


async def test_a_list_that_cannot_be_read_says_where(script: Script, client: HttpClient) -> None:
    script.answer(
        {"metadata": {"resourceVersion": "9"}, "items": [a_stored(spec={"volumeName": 7})]}
    )
    listing = await client.list(Claim)
    with pytest.raises(Unreadable, match=r"\$\.spec\.volumeName"):
        listing.items  # noqa: B018  a property


# credentials


class Tokens:
    """A source whose tokens are told in advance; the last one stays."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = list(tokens)

    async def proof(self) -> Proof:
        if not self._tokens:
            raise UsageError("the plugin is ill")
        return Proof(SecretValue(self._tokens[0].encode()))

    def has_better(self, refused: Proof) -> bool:
        if len(self._tokens) == 1:
            return False
        self._tokens.pop(0)
        return True

    def lose(self) -> None:
        self._tokens.clear()


async def test_a_token_is_shown(script: Script) -> None:
    async with talking_to(script, Tokens("t1")) as client:
        script.answer(a_stored())
        await client.get(Claim, DATA)
    assert script.asked[0].headers["Authorization"] == "Bearer t1"


async def test_a_token_that_is_refused_makes_way_for_a_better_one(script: Script) -> None:
    async with talking_to(script, Tokens("t1", "t2")) as client:
        script.refuse(401, "Unauthorized")
        script.answer(a_stored())
        await client.get(Claim, DATA)
    assert [asked.headers["Authorization"] for asked in script.asked] == ["Bearer t1", "Bearer t2"]


async def test_without_a_better_one_the_refusal_stands(script: Script) -> None:
    async with talking_to(script, Tokens("t1")) as client:
        script.refuse(401, "Unauthorized")
        with pytest.raises(errors.Unauthorized):
            await client.get(Claim, DATA)
    assert len(script.asked) == 1


async def test_credentials_that_fail_later_can_be_tried_again(script: Script) -> None:
    source = Tokens("t1")
    async with talking_to(script, source) as client:
        source.lose()
        with pytest.raises(
            ConnectionLost, match=f"cannot log in to {script.url}: the plugin is ill"
        ):
            await client.get(Claim, DATA)


async def test_credentials_that_fail_at_once_are_a_mistake(script: Script) -> None:
    with pytest.raises(UsageError, match="the plugin is ill"):
        async with talking_to(script, Tokens()):
            pass


class NoWaiting(VirtualClock):
    """Sleeping takes no time."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


async def _asked(script: Script, count: int) -> None:
    loop = asyncio.get_running_loop()
    while len(script.asked) < count:
        moment = loop.create_future()
        loop.call_later(0.005, moment.set_result, None)
        await moment
