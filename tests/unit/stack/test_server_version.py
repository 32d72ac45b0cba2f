"""A standalone role that follows another release than its server says so, once."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from mooring.model.kubernetes_version import V1_35, V1_37, KubernetesVersion
from mooring.stack.server_version import (
    ServerVersion,
    better_version,
    compare_versions,
    release_of,
    version_compared,
)
from tests.fakes.clock import VirtualClock
from tests.unit.client.scripted_server import Script, scripted, talking_to

SERVERS = {
    "the same": ("37", V1_37, None),
    "an older server": ("35", V1_37, V1_35),
    "a newer server": ("37", V1_35, V1_37),
    "a vendor's plus": ("35+", V1_37, V1_35),
    "between the two, the older is nearer": ("36", V1_37, V1_35),
    "between the two, and the older is followed": ("36", V1_35, None),
    "older than both": ("29", V1_37, V1_35),
    "newer than both": ("41", V1_37, None),
    "no number": ("x", V1_37, None),
    "nothing": ("", V1_37, None),
}


@pytest.mark.parametrize(("minor", "followed", "wanted"), SERVERS.values(), ids=SERVERS)
def test_the_release_to_follow(
    minor: str, followed: KubernetesVersion, wanted: KubernetesVersion | None
) -> None:
    assert better_version(followed, ServerVersion(minor)) == wanted


@pytest.fixture
async def script() -> AsyncIterator[Script]:
    async with scripted() as made:
        yield made


async def test_a_difference_is_one_line_with_both_releases_and_the_remedy(
    script: Script, caplog: pytest.LogCaptureFixture
) -> None:
    script.answer({"major": "1", "minor": "35", "gitVersion": "v1.35.2"})
    async with talking_to(script) as client:
        await compare_versions(client, V1_37)
    (line,) = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert "server=v1.35.2 follows=1.37" in line
    assert "--kubernetes-version 1.35" in line
    assert script.asked[0].path == "/version"


@pytest.mark.parametrize("is_refused", [False, True], ids=["the same release", "a refusal"])
async def test_what_is_no_warning(
    script: Script,
    caplog: pytest.LogCaptureFixture,
    is_refused: bool,  # noqa: FBT001  a column
) -> None:
    if is_refused:
        script.refuse(403, "Forbidden")
    else:
        script.answer({"major": "1", "minor": "37", "gitVersion": "v1.37.0"})
    async with talking_to(script) as client:
        await compare_versions(client, V1_37)
    assert not [one for one in caplog.records if one.levelname == "WARNING"]


FOLLOWED = {"that of an older server": ("35", V1_35), "of one that does not say": ("", V1_37)}


@pytest.mark.parametrize(("minor", "followed"), FOLLOWED.values(), ids=FOLLOWED)
async def test_the_release_that_is_followed_unless_told(
    script: Script, minor: str, followed: KubernetesVersion
) -> None:
    script.answer({"major": "1", "minor": minor, "gitVersion": "v1"})
    async with talking_to(script) as client:
        assert await release_of(client, VirtualClock()) == followed


NOT_YET: dict[str, Callable[[Script], None]] = {
    "no connection": Script.close_watch,
    "a load balancer without servers": lambda script: script.answer_text("none is up", 503),
    "a bad gateway": lambda script: script.answer_text("bad gateway", 502),
    "a busy server": lambda script: script.refuse(429, "TooManyRequests"),
}


@pytest.mark.parametrize("not_yet", NOT_YET.values(), ids=NOT_YET)
async def test_the_release_of_a_server_that_is_not_there_yet_is_waited_for(
    script: Script, not_yet: Callable[[Script], None]
) -> None:
    clock = Waits()
    not_yet(script)
    script.answer({"major": "1", "minor": "35", "gitVersion": "v1.35.2"})
    async with talking_to(script) as client:
        assert await release_of(client, clock) == V1_35
    assert len(clock.waits) == 1


class Waits(VirtualClock):
    """Sleeping takes no time."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


async def test_a_server_that_does_not_answer_holds_nothing_up(script: Script) -> None:
    script.say_nothing()
    async with (
        asyncio.timeout(10),
        talking_to(script) as client,
        version_compared(client, VirtualClock(), V1_37),
    ):
        pass
