"""Images made, removed and grown by a played `rbd` program, which keeps what it was told."""

import asyncio

import pytest
from msgspec.structs import replace

from mooring.host import command
from mooring.host.blocking import install
from mooring.host.bulkhead import Bulkheads, Limits
from mooring.host.command import Finished
from mooring.host.daemon_threads import Job
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import PluginError, VolumeError
from mooring.plugins.rbd.administration import Administration
from mooring.plugins.rbd.volumes import RbdVolumes
from mooring.plugins.turns import AT_ONCE
from tests.fakes.clock import settle
from tests.fakes.rbd_program import KEY, RbdProgram
from tests.unit.controllers.binding.things import ROX, RWX, labelled
from tests.unit.plugins.provisioned import UID, ProvisionerWorld

PLUGIN = "kubernetes.io/rbd"
NAME = f"kubernetes-dynamic-pvc-{UID}"
IMAGE = f"kube-{NAME}"
PARAMETERS = {
    "monitors": "10.0.0.1:6789,10.0.0.2:6789",
    "adminId": "kube",
    "adminSecretName": "ceph-admin",
    "pool": "kube",
    "userId": "web",
    "userSecretName": "ceph-user",
    "fsType": "xfs",
    "imageFormat": "2",
    "imageFeatures": "layering",
}
GIB = 2**30


@pytest.fixture
def world() -> ProvisionerWorld:
    world = ProvisionerWorld(PLUGIN, PARAMETERS)
    world.add_secret("ceph-admin", {"key": KEY, "other": "x"})
    return world


@pytest.fixture
def volumes(world: ProvisionerWorld) -> RbdVolumes:
    return RbdVolumes(world.client)


async def test_a_volume_is_an_image_called_after_its_claim(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    made = await volumes.provision(world.order(world.claim("1500M")))
    assert rbd.images() == {IMAGE: 1431}
    assert made == {
        "metadata": {"annotations": {"kubernetes.io/createdby": "rbd-dynamic-provisioner"}},
        "spec": {
            "capacity": {"storage": "1431Mi"},
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Filesystem",
            "rbd": {
                "monitors": ["10.0.0.1:6789", "10.0.0.2:6789"],
                "image": NAME,
                "pool": "kube",
                "user": "web",
                "secretRef": {"name": "ceph-user"},
                "fsType": "xfs",
            },
        },
    }


async def test_the_key_is_in_a_file_of_no_disk_and_in_no_argument(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    await volumes.provision(world.order())
    (run,) = rbd.runs()
    assert run.argv == [
        *("create", NAME, "--size", "1024", "--pool", "kube", "--id", "kube"),
        *("-m", "10.0.0.1:6789,10.0.0.2:6789", "-k", run.path),
        *("--image-format", "2", "--image-feature", "layering"),
    ]
    assert run.keyring == f"[client.kube]\n\tkey = {KEY}\n"
    assert run.mode == 0o600
    assert run.path.startswith("/proc/")


async def test_a_block_volume_has_no_file_system_and_a_keyring_may_stand_for_the_secret(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    claim = world.claim("1Gi", ROX, volume_mode=VolumeMode.BLOCK)
    order = world.order(claim, userSecretName=None, keyring="/etc/ceph/web", imageFormat="1")
    made = await volumes.provision(order)
    assert made["spec"]["volumeMode"] == "Block"
    assert made["spec"]["accessModes"] == ["ReadOnlyMany"]
    assert made["spec"]["rbd"]["keyring"] == "/etc/ceph/web"
    assert "fsType" not in made["spec"]["rbd"]
    assert "--image-feature" not in rbd.runs()[0].argv


async def test_killed_before_its_volume_was_written_the_image_is_found_again(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    first = await volumes.provision(world.order())
    assert await RbdVolumes(world.client).provision(world.order()) == first
    assert rbd.images() == {IMAGE: 1024}
    assert rbd.verbs() == ["create", "create", "info"]


async def test_a_program_that_dies_when_the_image_is_made_leaves_one_image(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    rbd.dies_after_create()
    with pytest.raises(PluginError, match="failed to create rbd image: signal: killed"):
        await volumes.provision(world.order())
    await volumes.provision(world.order())
    assert rbd.images() == {IMAGE: 1024}


async def test_an_image_that_is_too_small_by_then_is_grown_and_none_shrinks(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    await volumes.provision(world.order(world.claim("1Gi")))
    made = await volumes.provision(world.order(world.claim("2Gi")))
    assert made["spec"]["capacity"] == {"storage": "2048Mi"}
    made = await volumes.provision(world.order(world.claim("1Gi")))
    assert made["spec"]["capacity"] == {"storage": "2048Mi"}
    assert rbd.images() == {IMAGE: 2048}


REFUSED = {
    "an option that rbd has not": (
        {"color": "red"},
        'invalid option "color" for volume plugin kubernetes.io/rbd',
    ),
    "a feature": (
        {"imageFeatures": "layering,striping"},
        'invalid feature "striping" for volume plugin kubernetes.io/rbd, '
        "supported features are: map[layering:{}]",
    ),
    "a format": ({"imageFormat": "3"}, "invalid ceph imageformat 3, expecting 1 or 2"),
    "no secret of the administrator": (
        {"adminSecretName": None},
        "missing Ceph admin secret name",
    ),
    "a secret that is not there": (
        {"adminSecretName": "none"},
        'failed to get admin secret from ["default"/"none"]: ',
    ),
    "no monitors": ({"monitors": None}, "missing Ceph monitors"),
    "neither keyring nor secret": (
        {"userSecretName": None},
        "must specify either keyring or user secret name",
    ),
    "a keyring that is no path": (
        {"userSecretName": None, "keyring": "web"},
        "keyring field must contain a path to a file",
    ),
    "a pool that would be an option": ({"pool": "--help"}, "must not begin with '-'"),
    "a pool on two lines": ({"pool": "a\nb"}, "must not hold control characters"),
    "a user that would end the section of the keyring": (
        {"adminId": "a]\nkey = x"},
        "must not hold control characters",
    ),
    "a monitor that would be an option": ({"monitors": "-k"}, "must not begin with '-'"),
}


@pytest.mark.parametrize(("parameters", "why"), REFUSED.values(), ids=REFUSED)
async def test_a_class_is_refused_before_anything_is_run(
    world: ProvisionerWorld,
    volumes: RbdVolumes,
    rbd: RbdProgram,
    parameters: dict[str, str | None],
    why: str,
) -> None:
    with pytest.raises(PluginError) as refused:
        await volumes.provision(world.order(**parameters))
    assert why in str(refused.value)
    assert rbd.runs() == []


async def test_a_claim_that_rbd_cannot_serve_is_refused(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    with pytest.raises(PluginError) as refused:
        await volumes.provision(world.order(world.claim("1Gi", RWX)))
    modes = "[ReadWriteOnce ReadOnlyMany]"
    assert str(refused.value) == (
        f"invalid AccessModes [ReadWriteMany]: only AccessModes {modes} are supported"
    )
    with pytest.raises(PluginError, match="claim Selector is not supported"):
        await volumes.provision(world.order(world.claim(selector=labelled(a="b"))))
    assert rbd.runs() == []


async def test_a_secret_of_another_type_is_not_given_away(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    world.add_secret("theirs", {"key": KEY}, type_="Opaque")
    with pytest.raises(PluginError, match=r"cannot get secret of type kubernetes\.io/rbd"):
        await volumes.provision(world.order(adminSecretName="theirs"))
    assert rbd.runs() == []


async def test_what_rbd_says_is_told_in_bounds_and_without_the_key(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    rbd.plays("create", "x" * 3_000_000 + "no such pool", 2)
    with pytest.raises(PluginError) as failed:
        await volumes.provision(world.order())
    text = str(failed.value)
    assert text.startswith("failed to create rbd image: exit status 2, command output: x")
    assert text.endswith("no such pool")
    assert len(text) < 1200
    assert KEY not in text


async def test_without_the_program_that_is_said(
    world: ProvisionerWorld, volumes: RbdVolumes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("mooring.host.command.SYSTEM_DIRS", ())
    with pytest.raises(PluginError, match="rbd: executable file not found in"):
        await volumes.provision(world.order())


async def test_an_image_goes_with_its_volume_and_gone_is_gone(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    volume = world.volume(await volumes.provision(world.order()))
    await volumes.delete(volume)
    assert rbd.images() == {}
    assert rbd.verbs() == ["create", "status", "rm"]
    assert "kube" in rbd.runs()[-1].argv  # the administrator, not the volume's user
    await volumes.delete(volume)
    assert rbd.verbs() == ["create", "status", "rm", "status"]


async def test_an_image_that_somebody_has_open_stays(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    volume = world.volume(await volumes.provision(world.order()))
    rbd.opens(IMAGE)
    with pytest.raises(PluginError) as refused:
        await volumes.delete(volume)
    assert str(refused.value).startswith(
        f"rbd image kube/{NAME} is still being used, rbd output: Watchers:"
    )
    assert rbd.images() == {IMAGE: 1024}
    rbd.closes(IMAGE)
    await volumes.delete(volume)
    assert rbd.images() == {}


async def test_an_image_is_not_removed_on_a_status_that_failed(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    volume = world.volume(await volumes.provision(world.order()))
    rbd.plays("status", "rbd: couldn't connect to the cluster!", 1)
    with pytest.raises(PluginError, match="error exit status 1, rbd output: rbd: couldn't connect"):
        await volumes.delete(volume)
    assert rbd.images() == {IMAGE: 1024}


async def test_without_its_class_nobody_knows_whose_secret_removes_the_image(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    volume = world.volume(await volumes.provision(world.order()))
    without = replace(volume, spec=replace(volume.spec, storage_class_name=""))
    with pytest.raises(PluginError, match="Volume has no storage class"):
        await volumes.delete(without)
    assert rbd.images() == {IMAGE: 1024}


async def test_an_image_grows_to_the_next_mebibyte_and_again_is_no_work(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    use = VolumeUse(volume=world.volume(await volumes.provision(world.order())))
    assert await volumes.grow(use, 2 * GIB + 1, GIB) == 2049 << 20
    assert rbd.images() == {IMAGE: 2049}
    assert await volumes.grow(use, 2 * GIB, GIB) == 2049 << 20
    assert rbd.verbs() == ["create", "info", "resize", "info"]
    assert volumes.needs_node_growth(use)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("{", "parse rbd info output failed: {"),
        ('{"size": "much"}', "parse rbd info output failed"),
        ("", "parse rbd info output failed"),
    ],
)
async def test_a_size_that_cannot_be_read_grows_nothing(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram, output: str, why: str
) -> None:
    use = VolumeUse(volume=world.volume(await volumes.provision(world.order())))
    rbd.plays("info", output, 0)
    with pytest.raises(VolumeError, match=why):
        await volumes.grow(use, 2 * GIB, GIB)
    assert "resize" not in rbd.verbs()


async def test_a_claim_that_is_asked_for_several_times_at_once_gets_one_image(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    made = await asyncio.gather(*(volumes.provision(world.order()) for _ in range(4)))
    assert made == [made[0]] * 4
    assert rbd.images() == {IMAGE: 1024}


async def test_a_cluster_that_does_not_answer_is_given_up_and_the_next_try_finds_what_it_made(
    world: ProvisionerWorld, rbd: RbdProgram
) -> None:
    def impatient(*argv: str) -> Finished:
        return command.run(argv, seconds=1.5)

    rbd.hangs_after_create()
    with pytest.raises(PluginError, match=r"rbd was stopped: it took longer than 1\.5 s"):
        await RbdVolumes(world.client, Administration(impatient)).provision(world.order())
    await RbdVolumes(world.client).provision(world.order())
    assert rbd.images() == {IMAGE: 1024}


async def test_a_cluster_that_does_not_answer_takes_few_threads_from_other_volumes(
    world: ProvisionerWorld, volumes: RbdVolumes, rbd: RbdProgram
) -> None:
    jobs: list[Job] = []  # that a thread would run
    install(Bulkheads(jobs.append, Limits(slow_seconds=60.0, at_once=1000)))
    claims = [
        replace(world.claim(), metadata=replace(world.claim().metadata, uid=f"{number}"))
        for number in range(2 * AT_ONCE + 1)
    ]
    async with asyncio.TaskGroup() as tasks:
        for claim in claims:
            tasks.create_task(volumes.provision(world.order(claim)))
        await settle()
        assert len(jobs) == AT_ONCE
        tasks.create_task(volumes.provision(world.order(monitors="10.9.9.9")))
        await settle()
        assert len(jobs) == AT_ONCE + 1, "another cluster has turns of its own"
        while jobs:
            jobs.pop()()()
            await settle()
    assert len(rbd.images()) == len(claims) + 1
