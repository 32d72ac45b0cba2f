"""Quotas where two API servers share one etcd, here a fake one: together they grant no more than
there is, although each counts by itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest

from mooring.apiserver.auth.pki import Pki
from mooring.apiserver.kinds.config_map import CONFIG_MAP
from mooring.apiserver.kinds.registry import builtin
from mooring.apiserver.lifecycle.recent_charges import SETTLED_SECONDS
from mooring.apiserver.store.contract import Store
from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.store import EtcdStore
from mooring.stack.etcd import layout_of
from tests.fakes.api import ApiUnderTest, running_api
from tests.fakes.clock import VirtualClock, settle
from tests.fakes.etcd.data import Data
from tests.fakes.etcd.member import FakeMember
from tests.fakes.objects import (
    CLAIMS,
    CLASSES,
    CONFIG_MAPS,
    QUOTAS,
    a_claim,
    a_config_map,
    a_quota,
)

HARD = {"count/configmaps": "3"}  # one of them is `kube-root-ca.crt`


async def _open(member: FakeMember, clock: VirtualClock) -> Store:
    cluster = Cluster([member], clock)
    layout = layout_of(builtin(), "/registry")
    return await EtcdStore.open(cluster, layout, clock, compaction_interval=0)


class Two(msgspec.Struct, frozen=True):
    one: ApiUnderTest
    two: ApiUnderTest
    etcd_of_one: FakeMember


@asynccontextmanager
async def two_servers(pki: Pki, directory: Path) -> AsyncIterator[Two]:
    data = Data()
    members = FakeMember(data), FakeMember(data)
    first, second = (partial(_open, member) for member in members)
    async with (
        running_api(pki, directory, open_store=first) as one,
        running_api(pki, directory, open_store=second) as two,
    ):
        await pass_time(one, two, seconds=1)
        assert (await one.post(QUOTAS, a_quota(**HARD))).code == 201
        await pass_time(one, two, seconds=SETTLED_SECONDS + 2)
        yield Two(one, two, members[0])


async def pass_time(*servers: ApiUnderTest, seconds: float) -> None:
    for _ in range(int(seconds)):
        for server in servers:
            await server.clock.advance(1)
        await settle()


async def used(api: ApiUnderTest) -> str:
    return str((await api.get(f"{QUOTAS}/quota")).doc["status"]["used"]["count/configmaps"])


async def test_what_one_server_has_charged_the_other_does_not_give_back(
    pki: Pki, tmp_path: Path
) -> None:
    async with two_servers(pki, tmp_path) as both:
        one, two = both.one, both.two
        assert (await two.post(CONFIG_MAPS, a_config_map("first"))).code == 201
        charging = one.parts.backend.charging
        new = a_config_map("second")
        async with charging.charged(CONFIG_MAP, "default", new, dry_run=False):
            both.etcd_of_one.is_down = True  # it has not written the object, nor counts itself
            assert (await two.delete(f"{CONFIG_MAPS}/first")).code == 200  # has it count anew
            await pass_time(one, two, seconds=3)
            asked = [await two.post(CONFIG_MAPS, a_config_map(f"more-{n}")) for n in range(2)]
            assert [answer.code for answer in asked].count(201) <= 1
            both.etcd_of_one.is_down = False


async def test_what_goes_is_given_back_at_once_and_once_only(pki: Pki, tmp_path: Path) -> None:
    async with two_servers(pki, tmp_path) as both:
        one, two = both.one, both.two
        for number, server in enumerate((one, two)):
            assert (await server.post(CONFIG_MAPS, a_config_map(f"m{number}"))).code == 201
        assert (await one.post(CONFIG_MAPS, a_config_map("more"))).code == 403
        assert (await two.delete(f"{CONFIG_MAPS}/m0")).code == 200
        await pass_time(one, two, seconds=2)
        assert await used(one) == "2"
        assert (await one.post(CONFIG_MAPS, a_config_map("more"))).code == 201
        assert (await two.post(CONFIG_MAPS, a_config_map("yet-more"))).code == 403


@pytest.mark.parametrize("asked", range(3))
async def test_both_together_grant_what_there_is(pki: Pki, tmp_path: Path, asked: int) -> None:
    async with two_servers(pki, tmp_path) as both:
        servers = both.one, both.two
        granted = 0
        for number in range(4 + asked):
            answer = await servers[number % 2].post(CONFIG_MAPS, a_config_map(f"m{number}"))
            granted += answer.code == 201
        assert granted == 2


async def test_what_comes_and_goes_all_the_time_is_given_back_in_between(
    pki: Pki, tmp_path: Path
) -> None:
    async with two_servers(pki, tmp_path) as both:
        one, two = both.one, both.two
        more = {"spec": {"hard": {"count/configmaps": "16"}}}
        assert (await one.patch(f"{QUOTAS}/quota", more)).code == 200
        await pass_time(one, two, seconds=2)
        for number in range(30):
            answer = await one.post(CONFIG_MAPS, a_config_map(f"m{number}"))
            assert answer.code == 201, (number, answer.text)
            await two.delete(f"{CONFIG_MAPS}/m{number}")
            await pass_time(one, two, seconds=1)


async def test_a_claim_that_several_grow_at_once_is_charged_once_in_the_end(
    pki: Pki, tmp_path: Path
) -> None:
    async with two_servers(pki, tmp_path) as both:
        one, two = both.one, both.two
        await one.patch(f"{QUOTAS}/quota", {"spec": {"hard": {"requests.storage": "20Gi"}}})
        await pass_time(one, two, seconds=2)
        grows = {"metadata": {"name": "grows"}, "provisioner": "p", "allowVolumeExpansion": True}
        await one.post(CLASSES, grows)
        await one.post(CLAIMS, a_claim("one", "1Gi", storageClassName="grows"))
        await one.patch(f"{CLAIMS}/one", {"spec": {"volumeName": "v"}})
        await one.patch(f"{CLAIMS}/one/status", {"status": {"phase": "Bound"}})
        await pass_time(one, two, seconds=2)
        wish = {"spec": {"resources": {"requests": {"storage": "5Gi"}}}}
        answers = await asyncio.gather(*(api.patch(f"{CLAIMS}/one", wish) for api in (one, two)))
        assert [answer.code for answer in answers] == [200, 200]
        await pass_time(one, two, seconds=SETTLED_SECONDS + 3)
        status = (await one.get(f"{QUOTAS}/quota")).doc["status"]
        assert status["used"]["requests.storage"] == "5Gi"
