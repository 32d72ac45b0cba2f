"""Volumes made and deleted by Quobyte's API on loopback."""

from collections.abc import AsyncIterator

import pytest

from mooring.model.storage_terms import VolumeMode
from mooring.plugins import rest
from mooring.plugins.contract import PluginError
from mooring.plugins.quobyte.volumes import QuobyteVolumes
from tests.fakes.heketi_server import BAD, served
from tests.fakes.quobyte_server import PASSWORD, TENANT, USER, QuobyteServer
from tests.unit.controllers.binding.things import RWX
from tests.unit.plugins.provisioned import UID, ProvisionerWorld

NAME = f"kubernetes-dynamic-pvc-{UID}"


class World(ProvisionerWorld):
    def __init__(self, quobyte: QuobyteServer) -> None:
        self.quobyte = quobyte
        parameters = {
            "quobyteAPIServer": quobyte.url,
            "registry": "r1:7861,r2:7861",
            "adminSecretName": "quobyte",
            "user": "web",
            "group": "www",
            "createQuota": "True",
        }
        super().__init__("kubernetes.io/quobyte", parameters)
        self.add_secret("quobyte", {"user": USER, "password": PASSWORD})
        self.volumes = QuobyteVolumes(self.client)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    quobyte = QuobyteServer()
    async with served(quobyte):
        yield World(quobyte)


async def test_a_volume_is_called_after_its_claim_and_has_a_quota(world: World) -> None:
    made = await world.volumes.provision(world.order(world.claim("1500Mi", RWX)))
    assert world.quobyte.volumes == {
        "uuid-0": {
            "name": NAME,
            "root_user_id": "web",
            "root_group_id": "www",
            "configuration_name": "BASE",
            "tenant_id": TENANT,
        }
    }
    assert world.quobyte.quotas == {"uuid-0": 1500 << 20}
    assert made == {
        "metadata": {"annotations": {"kubernetes.io/createdby": "quobyte-dynamic-provisioner"}},
        "spec": {
            "capacity": {"storage": "2Gi"},
            "accessModes": ["ReadWriteMany"],
            "volumeMode": "Filesystem",
            "quobyte": {
                "registry": "r1:7861,r2:7861",
                "volume": NAME,
                "user": "web",
                "group": "www",
                "tenant": "DEFAULT",
            },
        },
    }


async def test_killed_before_its_volume_was_written_it_is_found_again(world: World) -> None:
    order = world.order(createQuota=None)
    first = await world.volumes.provision(order)
    assert await QuobyteVolumes(world.client).provision(order) == first
    assert list(world.quobyte.volumes) == ["uuid-0"]
    assert world.quobyte.asked.count("createVolume") == 1
    assert world.quobyte.quotas == {}


async def test_a_volume_is_deleted_by_its_name_and_what_is_not_found_is_told(world: World) -> None:
    volume = world.volume(await world.volumes.provision(world.order()))
    await world.volumes.delete(volume)
    assert world.quobyte.volumes == {}
    with pytest.raises(PluginError, match="DeleteVolume failed: see the log"):
        await world.volumes.delete(volume)


REFUSED = {
    "an option": ({"color": "red"}, 'invalid option "color" for volume plugin'),
    "no registry": ({"registry": None}, "Quobyte registry missing or malformed"),
    "a registry without a port": ({"registry": "r1:1,r2"}, "registry missing or malformed"),
    "no API": ({"quobyteAPIServer": None}, "Quobyte API server missing or malformed"),
    "an API that is a file": ({"quobyteAPIServer": "file:///x"}, "CreateVolume failed"),
}


@pytest.mark.parametrize(("parameters", "why"), REFUSED.values(), ids=REFUSED)
async def test_a_class_is_refused_before_anything_is_asked(
    world: World, parameters: dict[str, str | None], why: str
) -> None:
    with pytest.raises(PluginError) as refused:
        await world.volumes.provision(world.order(**parameters))
    assert why in str(refused.value)
    assert world.quobyte.asked == []


async def test_a_secret_without_a_password_is_told(world: World) -> None:
    world.add_secret("half", {"user": USER})
    with pytest.raises(PluginError, match='Missing "password" in secret default/half'):
        await world.volumes.provision(world.order(adminSecretName="half"))


async def test_block_volumes_are_refused(world: World) -> None:
    with pytest.raises(PluginError, match="does not support block volume provisioning"):
        await world.volumes.provision(world.order(world.claim(volume_mode=VolumeMode.BLOCK)))


@pytest.mark.parametrize("how", BAD)
@pytest.mark.parametrize("at", ["resolveTenantName", "resolveVolumeName", "createVolume"])
async def test_a_server_of_bad_manners_is_told_of_in_bounds_and_the_next_try_succeeds(
    world: World, monkeypatch: pytest.MonkeyPatch, how: str, at: str
) -> None:
    monkeypatch.setattr(rest, "SECONDS", 0.2 if how == "hangs" else 30.0)
    world.quobyte.plays[at] = BAD[how]
    with pytest.raises(PluginError) as failed:
        await world.volumes.provision(world.order())
    assert str(failed.value) == "CreateVolume failed: see the log of the controllers for details"
    monkeypatch.setattr(rest, "SECONDS", 30.0)
    world.quobyte.plays.clear()
    await world.volumes.provision(world.order())
    assert len(world.quobyte.volumes) == 1


@pytest.mark.parametrize("how", BAD)
@pytest.mark.parametrize("at", ["resolveVolumeName", "deleteVolume"])
async def test_a_volume_is_not_taken_for_deleted_on_a_bad_answer(
    world: World, monkeypatch: pytest.MonkeyPatch, how: str, at: str
) -> None:
    volume = world.volume(await world.volumes.provision(world.order()))
    monkeypatch.setattr(rest, "SECONDS", 0.2)
    world.quobyte.plays[at] = BAD[how]
    with pytest.raises(PluginError, match="DeleteVolume failed: see the log"):
        await world.volumes.delete(volume)
    assert list(world.quobyte.volumes) == ["uuid-0"]
