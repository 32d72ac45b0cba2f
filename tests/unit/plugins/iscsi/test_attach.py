"""What iscsiadm is asked, in order, and how many paths are enough."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from mooring.errors import HostError
from mooring.model.keys import Key
from mooring.model.reference import SecretReference
from mooring.model.secret import Secret
from mooring.model.secret_value import SecretValue
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import DeviceRequest, NotStarted, VolumeError
from mooring.plugins.iscsi import records
from mooring.plugins.iscsi.chap import ChapRecords, with_values
from mooring.plugins.iscsi.disk import NAME
from mooring.plugins.iscsi.plugin import Iscsi
from mooring.plugins.iscsi.sessions import Sessions
from mooring.plugins.volume_host import Host
from tests.fakes.iscsi import FakeInitiator, FakeScsi
from tests.fakes.mounts import FakeMounts, MountCall
from tests.unit.plugins.iscsi.world import IQN, HurriedClock, claimed, in_pod, no_format
from tests.unit.plugins.world import EmptyApi, a_host, a_pod

P1, P2 = "10.0.0.1:3260", "10.0.0.2:3260"
NODE_1 = f"-m node -p {P1} -T {IQN} -I default"
DISCOVERY_1 = f"-m discoverydb -t sendtargets -p {P1}"
SHOW = "-m iface -I default -o show"
LOGIN = [
    f"{DISCOVERY_1} -I default -o new",
    f"{DISCOVERY_1} -I default --discover",
    f"{NODE_1} -o update -n node.session.scan -v manual",
    f"{NODE_1} --login",
    f"{NODE_1} -o update -n node.startup -v manual",
]
LOGOUT = [
    f"-m node -p {P1} -T {IQN} --logout -I default",
    f"-m node -p {P1} -T {IQN} -o delete -I default",
]


class Node:
    """A node with a played initiator."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.mounts = FakeMounts()
        self.host: Host = replace(a_host(root, self.mounts), clock=HurriedClock())
        self.initiator = FakeInitiator()
        self.scsi = FakeScsi(self.initiator)
        self.plugin = self._plugin()

    def _plugin(self) -> Iscsi:
        sessions = Sessions(self.initiator, ChapRecords(self.root))
        return Iscsi(self.host, sessions, self.scsi, no_format)

    def know(self, secret: Secret) -> None:
        self.host = replace(self.host, objects=OneSecret(secret))
        self.plugin = self._plugin()

    async def attach(self, use: VolumeUse) -> str:
        return await self.plugin.attacher().wait_for_attach(use, "", a_pod())

    async def mount(self, use: VolumeUse, label: str = "") -> Path:
        attacher = self.plugin.attacher()
        device, target = await self.attach(use), attacher.device_mount_path(use)
        await attacher.mount_device(use, device, target, DeviceRequest(selinux_label=label))
        return target

    async def unmount(self, use: VolumeUse) -> None:
        attacher = self.plugin.attacher()
        await attacher.unmount_device(attacher.device_mount_path(use))

    def heard(self) -> list[str]:
        """Since the last time."""
        told = list(self.initiator.calls)
        self.initiator.calls.clear()
        return told


class OneSecret(EmptyApi):
    def __init__(self, secret: Secret) -> None:
        super().__init__({})
        self._secret = secret

    async def secret(self, key: Key) -> Secret:
        return self._secret if key.name == "chap" else await super().secret(key)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


async def test_one_portal(node: Node) -> None:
    target = await node.mount(claimed())
    assert target == node.host.layout.plugin(NAME) / f"iface-default/{P1}-{IQN}-lun-1"
    assert node.heard() == [SHOW, *LOGIN]
    assert node.scsi.scans == [(3, 1)]
    assert node.mounts.calls == [MountCall("mount", target, "/dev/sda", "ext4")]
    await node.unmount(claimed())
    assert node.heard() == LOGOUT
    assert node.scsi.removed == ["/dev/sda"]
    assert not target.exists()


async def test_a_disk_that_comes_up_under_another_name_is_known_by_its_session(node: Node) -> None:
    await node.mount(claimed())
    node.scsi.disks = {(3, 1): Path("/dev/sdk"), (9, 0): Path("/dev/sda")}  # sda is another's now
    await node.unmount(claimed())
    assert node.scsi.removed == ["/dev/sdk"]
    await node.mount(claimed())
    assert [call.source for call in node.mounts.calls if call.fs_type] == ["/dev/sda", "/dev/sdb"]


async def test_a_session_that_is_there_is_used(node: Node) -> None:
    await node.attach(claimed())
    node.heard()
    await node.attach(claimed())
    assert node.heard() == [SHOW]


async def test_a_session_is_kept_while_another_disk_needs_it(node: Node) -> None:
    one, other = claimed("pv1"), claimed("pv2", lun=2)
    await node.mount(one)
    await node.mount(other)
    node.heard()
    await node.unmount(one)
    assert node.heard() == []
    await node.unmount(other)
    assert node.heard() == LOGOUT


async def test_a_portal_that_only_one_of_two_disks_has_is_left_with_it(node: Node) -> None:
    await node.mount(claimed("pv1", portals=("10.0.0.2",)))
    await node.mount(claimed("pv2", lun=2))
    node.heard()
    await node.unmount(claimed("pv1", portals=("10.0.0.2",)))
    assert node.heard() == [call.replace(P1, P2) for call in LOGOUT]


async def test_two_portals_and_a_mapping_of_both(node: Node) -> None:
    node.scsi.mapping = Path("/dev/dm-0")
    assert await node.attach(claimed(portals=("10.0.0.2",))) == "/dev/dm-0"
    assert node.heard().count("--login") == 0
    assert set(node.initiator.sessions) == {(P1, IQN), (P2, IQN)}


async def test_a_portal_that_is_dead_is_tried_five_times_and_then_one_path_does(
    node: Node,
) -> None:
    node.initiator.dead = {P2}
    assert await node.attach(claimed(portals=("10.0.0.2",))) == "/dev/sda"
    tries = [call for call in node.heard() if call.endswith("--discover") and P2 in call]
    assert len(tries) == 5


async def test_two_of_three_paths_are_enough_after_two_rounds(node: Node) -> None:
    dead = "10.0.0.3:3260"
    node.initiator.dead = {dead}
    await node.attach(claimed(portals=("10.0.0.2", "10.0.0.3")))
    tries = [call for call in node.heard() if call.endswith("--discover") and dead in call]
    assert len(tries) == 2


async def test_without_any_path_nothing_is_left(node: Node) -> None:
    node.initiator.dead = {P1}
    with pytest.raises(VolumeError, match="failed to get any path for iscsi disk"):
        await node.attach(claimed())
    assert list(records.every(node.host.layout)) == []
    assert node.initiator.sessions == {}


async def test_a_refused_login_leaves_no_record_of_the_node(node: Node) -> None:
    node.initiator.refuses = {"--login"}
    with pytest.raises(VolumeError, match="failed to attach disk"):
        await node.attach(claimed())
    assert f"{NODE_1} -o delete" in node.heard()


async def test_a_mount_that_fails_ends_its_session(node: Node) -> None:
    node.mounts.fail_at(1)
    with pytest.raises(HostError, match="refused"):
        await node.mount(claimed())
    assert node.initiator.sessions == {}


@pytest.mark.parametrize("lun", [1, 99])
async def test_a_session_with_the_machines_own_disk_outlives_a_pod_that_names_it(
    node: Node, lun: int
) -> None:
    root = Path("/dev/sda")
    node.initiator.sessions[(P1, IQN)] = 2
    node.scsi.disks[(2, 1)] = root
    node.scsi.used = {root}
    node.mounts.fail_at(1)
    with pytest.raises(HostError, match="refused"):
        await node.mount(in_pod(lun=lun))
    assert (P1, IQN) in node.initiator.sessions
    assert str(root) not in node.scsi.removed
    assert list(records.every(node.host.layout)) == []


async def test_an_initiator_name_has_an_iface_of_its_own(node: Node) -> None:
    name = "iqn.2026-11.com.example:me"
    use = claimed(initiator_name=name)
    own = f"{P1}:pv1"
    await node.mount(use)
    assert node.heard()[:5] == [
        SHOW,
        f"-m iface -I {own} -o new",
        f"-m iface -I {own} -o update -n iface.initiatorname -v {name}",
        f"-m iface -I {own} -o update -n iface.transport_name -v tcp",
        f"-m discoverydb -t sendtargets -p {P1} -I {own} -o new",
    ]
    await node.unmount(use)
    assert node.heard()[-1] == f"-m iface -I {own} -o delete"
    assert node.initiator.ifaces == {"default"}


async def test_the_label_and_the_options_of_the_mount(node: Node) -> None:
    await node.mount(in_pod(read_only=True, fs_type="xfs"), label="system_u:object_r:x:s0:c1,c2")
    (call,) = node.mounts.calls
    assert (call.fs_type, call.options) == ("xfs", ('context="system_u:object_r:x:s0:c1,c2"', "ro"))


async def test_a_block_volume_keeps_its_record_where_it_is_mapped(node: Node) -> None:
    use = claimed()
    assert use.volume is not None
    spec = replace(use.volume.spec, volume_mode=VolumeMode.BLOCK)
    use = VolumeUse(volume=replace(use.volume, spec=spec))
    assert await node.attach(use) == "/dev/sda"
    unmapper = node.plugin.block_unmapper("pv1", "uid")
    place = unmapper.global_map_path(use)
    assert place == node.host.layout.global_map(NAME, f"iface-default/{P1}-{IQN}-lun-1")
    rebuilt = node.plugin.rebuild_block("pv1", "uid")
    assert node.plugin.volume_name(rebuilt) == node.plugin.volume_name(use)
    assert rebuilt.mode is VolumeMode.BLOCK
    await unmapper.tear_down_device(place, "/dev/sda")
    assert node.initiator.sessions == {}
    assert not place.exists()


# CHAP

RECORD = "# BEGIN RECORD 2.1.8\nnode.name = x\nnode.session.auth.password = old\n# END RECORD\n"
CHAP = {
    "node.session.auth.username": b"me",
    "node.session.auth.password": b"hunter2hunter2",
    "discovery.sendtargets.auth.password": b"hunter3hunter3",
    "other": b"x",
}


def with_chap(**fields: object) -> VolumeUse:
    return in_pod(secret_ref=SecretReference("chap"), **fields)


def a_chap_secret(**changed: bytes) -> Secret:
    data = {key: SecretValue(value) for key, value in (CHAP | changed).items()}
    return Secret(data=data)


def a_record(root: Path, place: str) -> Path:
    path = root / "etc/iscsi" / place
    path.parent.mkdir(parents=True)
    path.write_text(RECORD)
    return path


async def test_passwords_go_into_the_records_and_never_into_arguments(node: Node) -> None:
    node.know(a_chap_secret())
    session = a_record(node.root, f"nodes/{IQN}/10.0.0.1,3260,1/default")
    discovery = a_record(node.root, "send_targets/10.0.0.1,3260/st_config")
    await node.attach(with_chap(chap_auth_session=True, chap_auth_discovery=True))
    told = node.heard()
    assert f"{NODE_1} -o update -n node.session.auth.authmethod -v CHAP" in told
    method = "-n discovery.sendtargets.auth.authmethod -v CHAP"
    assert f"{DISCOVERY_1} -o update {method}" in told
    assert "hunter" not in " ".join(told)
    assert session.read_text() == (
        "# BEGIN RECORD 2.1.8\nnode.name = x\nnode.session.auth.username = me\n"
        "node.session.auth.password = hunter2hunter2\n# END RECORD\n"
    )
    assert "discovery.sendtargets.auth.password = hunter3hunter3" in discovery.read_text()
    assert session.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "couldn't get secret"),
        ({"secret_ref": None}, "CHAP enabled but secret not specified"),
    ],
)
async def test_without_its_secret_it_waits(
    node: Node, fields: dict[str, object], text: str
) -> None:
    use = in_pod(**{"secret_ref": SecretReference("no"), "chap_auth_session": True, **fields})
    with pytest.raises(NotStarted if not fields else VolumeError, match=text):
        await node.attach(use)
    assert node.heard() == []


async def test_a_password_cannot_add_lines_to_a_record(node: Node) -> None:
    node.know(a_chap_secret(**{"node.session.auth.password": b"a\nnode.startup = automatic"}))
    with pytest.raises(VolumeError, match="control characters"):
        await node.attach(with_chap(chap_auth_session=True))
    assert node.heard() == []


async def test_without_a_record_to_keep_it_in_a_password_is_not_given_away(node: Node) -> None:
    node.know(a_chap_secret())
    with pytest.raises(VolumeError, match="no record of portal"):
        await node.attach(with_chap(chap_auth_session=True))
    assert "hunter" not in " ".join(node.heard())


def test_a_record_without_an_end_gets_its_values_too() -> None:
    assert with_values("a = 1\n", {"b": "2"}) == "a = 1\nb = 2\n"


# hostile


@pytest.mark.parametrize(
    "fields",
    [
        {"iqn": "../../../etc"},
        {"iqn": "-evil"},
        {"target_portal": "10.0.0.1/../x"},
        {"target_portal": "-p"},
        {"portals": ("10.0.0.2\n-T",)},
        {"iscsi_interface": "a/b"},
        {"initiator_name": "iqn\n.x"},
    ],
    ids=str,
)
async def test_what_a_program_could_mistake_is_refused(
    node: Node, fields: dict[str, object]
) -> None:
    with pytest.raises(VolumeError, match="must not"):
        await node.attach(in_pod(**fields))
    assert node.heard() == []


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("10.0.0.1", P1),
        ("10.0.0.1:860", "10.0.0.1:860"),
        ("[fd00::1]", "[fd00::1]:3260"),
        ("[fd00::1]:860", "[fd00::1]:860"),
    ],
)
async def test_a_portal_without_a_port_has_the_usual_one(
    node: Node, given: str, wanted: str
) -> None:
    await node.attach(in_pod(target_portal=given))
    assert set(node.initiator.sessions) == {(wanted, IQN)}


async def test_what_a_kubelet_left_is_found_by_its_name(node: Node) -> None:
    use = claimed(target_portal=P1)
    target = await node.mount(use)
    for path in target.parent.glob(".*.json"):
        path.unlink()
    (target / records.KUBELETS).unlink()
    (place,) = _shared(node)
    rebuilt = node.plugin.rebuild(place, "")
    assert node.plugin.volume_name(rebuilt) == node.plugin.volume_name(use)
    await node.plugin.attacher().unmount_device(target)
    assert node.heard()[-2:] == LOGOUT


def _shared(node: Node) -> Sequence[str]:
    top = node.host.layout.plugin(NAME)
    return [str(path.relative_to(top)) for path, _ in records.every(node.host.layout)]
