"""Volumes made, deleted and grown by a heketi on loopback."""

from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from mooring.errors import Invalid
from mooring.model.endpoints import Endpoints
from mooring.model.keys import Key
from mooring.model.reference import ClaimRef
from mooring.model.service import Service
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import Volume
from mooring.model.volume_use import VolumeUse
from mooring.plugins import rest
from mooring.plugins.contract import PluginError, VolumeError
from mooring.plugins.glusterfs.volumes import GlusterVolumes
from tests.fakes.client import FakeClient
from tests.fakes.heketi_server import BAD, KEY, USER, HeketiServer, served
from tests.unit.controllers.binding.things import RWX
from tests.unit.plugins.iscsi.world import HurriedClock
from tests.unit.plugins.provisioned import UID, ProvisionerWorld

PLUGIN = "kubernetes.io/glusterfs"
ENDPOINTS = Key("ns", f"glusterfs-dynamic-{UID}")
NAME = "vol_00001111"
GIB = 2**30


class World(ProvisionerWorld):
    def __init__(self, heketi: HeketiServer) -> None:
        self.heketi = heketi
        super().__init__(
            PLUGIN,
            {
                "resturl": heketi.url,
                "restuser": USER,
                "secretName": "heketi",
                "secretNamespace": "default",
                "volumetype": "replicate:2",
            },
        )
        self.add_secret("heketi", {"key": KEY})
        self.volumes = self.anew()

    def anew(self) -> GlusterVolumes:
        """As after a kill."""
        return GlusterVolumes(self.client, HurriedClock())


@pytest.fixture
async def world() -> AsyncIterator[World]:
    heketi = HeketiServer()
    async with served(heketi):
        yield World(heketi)


async def test_a_volume_has_servers_a_group_and_the_size_in_gibibytes(world: World) -> None:
    made = await world.volumes.provision(world.order(world.claim("1500Mi", RWX)))
    (wish,) = world.heketi.wishes
    assert wish == {
        "size": 2,
        "name": NAME,
        "durability": {"type": "replicate", "replicate": {"replica": 2}},
        "gid": 2000,
        "snapshot": {"enable": True, "factor": 1.0},
    }
    assert made == {
        "metadata": {
            "annotations": {
                "kubernetes.io/createdby": "heketi-dynamic-provisioner",
                "pv.beta.kubernetes.io/gid": "2000",
                "gluster.org/type": "file",
                "Description": "Gluster-Internal: Dynamically provisioned PV",
                "gluster.kubernetes.io/heketi-volume-id": "v1",
            }
        },
        "spec": {
            "capacity": {"storage": "2Gi"},
            "accessModes": ["ReadWriteMany"],
            "volumeMode": "Filesystem",
            "glusterfs": {
                "endpoints": ENDPOINTS.name,
                "endpointsNamespace": "ns",
                "path": NAME,
            },
        },
    }
    endpoints = world.server.get(Endpoints, ENDPOINTS)
    assert list(endpoints.ips()) == ["10.0.0.1", "10.0.0.2"]
    assert world.server.get(Service, ENDPOINTS).metadata.labels == {
        "gluster.kubernetes.io/provisioned-for-pvc": "c"
    }


async def test_killed_at_any_point_one_volume_is_made(world: World) -> None:
    first = await world.volumes.provision(world.order())
    assert await world.anew().provision(world.order()) == first
    world.server.delete(await world.client.get(Endpoints, ENDPOINTS))  # not written before the kill
    assert await world.anew().provision(world.order()) == first
    assert list(world.heketi.volumes) == ["v1"]
    assert len(world.heketi.wishes) == 1


async def test_a_first_try_asks_for_no_volumes_that_others_have(world: World) -> None:
    await world.volumes.provision(world.order())
    assert "GET /volumes" not in world.heketi.asked


async def test_groups_are_no_other_volumes(world: World) -> None:
    for number, gid in enumerate(("2000", "2001", "2003", "none")):
        metadata = {"name": f"pv{number}", "annotations": {"pv.beta.kubernetes.io/gid": gid}}
        world.server.create(Volume, {"metadata": metadata, "spec": {"storageClassName": "gold"}})
    made = await world.volumes.provision(world.order())
    assert made["metadata"]["annotations"]["pv.beta.kubernetes.io/gid"] == "2002"
    other = replace(world.claim(), metadata=replace(world.claim().metadata, uid="2222"))
    made = await world.volumes.provision(world.order(other))
    assert made["metadata"]["annotations"]["pv.beta.kubernetes.io/gid"] == "2004"
    third = replace(world.claim(), metadata=replace(world.claim().metadata, uid="3333"))
    with pytest.raises(PluginError, match="failed to reserve GID from table: range is full"):
        await world.volumes.provision(world.order(third, gidMax="2004"))


async def test_the_group_of_a_volume_that_is_gone_is_free_again(world: World) -> None:
    for number in range(3):
        claim = replace(world.claim(), metadata=replace(world.claim().metadata, uid=f"{number}"))
        volume = world.volume(await world.volumes.provision(world.order(claim, gidMax="2000")))
        made_for = replace(volume.spec, claim_ref=ClaimRef(namespace="ns", name="c", uid=claim.uid))
        await world.volumes.delete(replace(volume, spec=made_for))


async def test_a_service_that_a_volume_only_names_is_not_deleted_with_it(world: World) -> None:
    made = await world.volumes.provision(world.order())
    for kind in (Service, Endpoints):
        world.server.create(kind, {"metadata": {"namespace": "ns", "name": "billing"}})
    made["spec"]["glusterfs"]["endpoints"] = "billing"
    await world.volumes.delete(world.volume(made))
    assert world.server.get(Service, Key("ns", "billing"))
    assert world.server.get(Endpoints, Key("ns", "billing"))


async def test_servers_that_no_endpoints_can_hold_leave_nothing_behind(world: World) -> None:
    broken = Refusing(world.server, world.clock)
    with pytest.raises(PluginError, match=r"failed to create endpoint/service .*: not an IP"):
        await GlusterVolumes(broken, HurriedClock()).provision(world.order())
    assert world.heketi.volumes == {}
    assert world.server.list(Service).items == []


async def test_a_volume_that_was_there_before_this_try_is_not_deleted(world: World) -> None:
    await world.volumes.provision(world.order())  # its volume may be bound and full by now
    broken = Refusing(world.server, world.clock)
    with pytest.raises(PluginError, match=r"failed to create endpoint/service .*: not an IP"):
        await GlusterVolumes(broken, HurriedClock()).provision(world.order())
    assert list(world.heketi.volumes) == ["v1"]
    assert world.server.get(Service, ENDPOINTS)


class Refusing(FakeClient):
    """No Endpoints can be made."""

    async def create(self, kind, doc):  # type: ignore[no-untyped-def]
        if kind is Endpoints:
            raise Invalid("not an IP")
        return await super().create(kind, doc)


async def test_a_volume_goes_with_its_endpoints_and_gone_is_gone(world: World) -> None:
    volume = world.volume(await world.volumes.provision(world.order()))
    await world.volumes.delete(volume)
    assert world.heketi.volumes == {}
    assert world.server.list(Endpoints).items == []
    assert world.server.list(Service).items == []
    await world.volumes.delete(volume)


async def test_a_volume_grows_by_what_it_lacks_and_again_is_no_work(world: World) -> None:
    use = VolumeUse(volume=world.volume(await world.volumes.provision(world.order())))
    assert await world.volumes.grow(use, 3 * GIB - 1, GIB) == 3 * GIB
    assert await world.anew().grow(use, 3 * GIB, GIB) == 3 * GIB
    assert world.heketi.volumes["v1"]["size"] == 3
    assert not world.volumes.needs_node_growth(use)


REFUSED = {
    "an option": ({"color": "red"}, 'invalid option "color" for volume plugin'),
    "no server": ({"resturl": None}, "must contain 'resturl' parameter"),
    "a server that is a file": ({"resturl": "file:///etc/shadow"}, "resturl must be http://"),
    "a password in the address": ({"resturl": "http://a:b@h"}, "they belong in a secret"),
    "half a secret": ({"secretName": None}, "either both set or both empty"),
    "a small group": ({"gidMin": "1"}, "gidMin must be >= 2000"),
    "a group that is none": ({"gidmax": "x"}, 'invalid gidMax value "gidmax" for volume plugin'),
    "groups the wrong way": ({"gidMin": "3000", "gidMax": "2500"}, "gidMax value >= gidMin"),
    "a type": ({"volumetype": "raid"}, "error parsing value for option 'volumetype'"),
    "replicas": ({"volumetype": "replicate:x"}, 'error parsing volumeType "x"'),
    "fewer than none": ({"volumetype": "replicate:-1"}, "negative values are not allowed"),
    "half a dispersion": ({"volumetype": "disperse:4"}, "must have data:redundancy count set"),
    "a prefix": ({"volumenameprefix": "a_b"}, "should not contain '_' in its value"),
    "a long prefix": ({"customepnameprefix": "x" * 27}, "value should be < 26 characters"),
    "a factor": ({"snapfactor": "101"}, "invalid snapshot factor 101"),
    "no factor": ({"snapfactor": "x"}, "failed to convert snapfactor x to float"),
}


@pytest.mark.parametrize(("parameters", "why"), REFUSED.values(), ids=REFUSED)
async def test_a_class_is_refused_before_anything_is_asked(
    world: World, parameters: dict[str, str | None], why: str
) -> None:
    with pytest.raises(PluginError) as refused:
        await world.volumes.provision(world.order(**parameters))
    assert why in str(refused.value)
    assert world.heketi.asked == []


async def test_what_a_class_may_choose_reaches_heketi(world: World) -> None:
    chosen = {
        "clusterid": "a1,b2",
        "volumeoptions": "client.ssl on,auth.allow 10.*",
        "volumetype": "disperse:4:2",
        "volumenameprefix": "dev",
        "snapfactor": "2.5",
        "customepnameprefix": "db",
    }
    made = await world.volumes.provision(world.order(**chosen))
    (wish,) = world.heketi.wishes
    assert wish["clusters"] == ["a1", "b2"]
    assert wish["glustervolumeoptions"] == ["client.ssl on", "auth.allow 10.*"]
    assert wish["durability"] == {"type": "disperse", "disperse": {"data": 4, "redundancy": 2}}
    assert wish["name"] == f"dev_ns_c_{UID}"
    assert wish["snapshot"]["factor"] == 2.5
    assert made["spec"]["glusterfs"]["endpoints"] == f"db-{UID}"


async def test_block_volumes_are_refused(world: World) -> None:
    with pytest.raises(PluginError, match="does not support block volume provisioning"):
        await world.volumes.provision(world.order(world.claim(volume_mode=VolumeMode.BLOCK)))


@pytest.mark.parametrize("how", BAD)
@pytest.mark.parametrize("at", ["POST /volumes", "GET /clusters/c1", "GET /queue/q2"])
async def test_a_server_of_bad_manners_is_told_of_in_bounds_and_the_next_try_succeeds(
    world: World, monkeypatch: pytest.MonkeyPatch, how: str, at: str
) -> None:
    if how == "hangs":  # for as long as a server may take
        monkeypatch.setattr(rest, "SECONDS", 0.2)
    world.heketi.plays[at] = BAD[how]
    with pytest.raises(PluginError) as failed:
        await world.volumes.provision(world.order())
    text = str(failed.value)
    assert text.startswith("failed to create volume: ")
    assert "hunter2" not in text
    assert KEY not in text
    assert len(text) < 300
    monkeypatch.setattr(rest, "SECONDS", 30.0)
    world.heketi.plays.clear()
    await world.volumes.provision(world.order())
    assert len(world.heketi.volumes) == 1


@pytest.mark.parametrize("how", BAD)
async def test_a_volume_is_not_taken_for_grown_or_deleted_on_a_bad_answer(
    world: World, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    volume = world.volume(await world.volumes.provision(world.order()))
    monkeypatch.setattr(rest, "SECONDS", 0.2)
    world.heketi.plays = {"DELETE /volumes/v1": BAD[how], "GET /volumes/v1": BAD[how]}
    with pytest.raises(PluginError, match="failed to delete volume: see the log"):
        await world.volumes.delete(volume)
    with pytest.raises(VolumeError, match=f"failed to get volume info {NAME}: see the log"):
        await world.volumes.grow(VolumeUse(volume=volume), 5 * GIB, GIB)
    assert world.heketi.volumes["v1"]["size"] == 1
    assert world.server.get(Service, ENDPOINTS)


async def test_what_never_ends_is_left_to_the_next_try(world: World) -> None:
    world.heketi.pending = 10**9
    with pytest.raises(PluginError, match="failed to create volume"):
        await world.volumes.provision(world.order())
    world.heketi.pending = 0
    await world.volumes.provision(world.order())
    assert len(world.heketi.volumes) == 1
