"""The document for the runtime."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.oci.bundle import MASKED, PATH, READ_ONLY, document
from mooring.oci.contract import Bind, Confinement, Limits, Privileges, RuntimeRefused, Share
from mooring.oci.devices import DeviceNode
from mooring.oci.users import User
from tests.unit.oci.specs import ID, a_spec, surroundings

PRIVILEGED = Privileges(is_privileged=True)
DISK = DeviceNode("/dev/xvda", "b", 7, 3, 0o660, 0, 6, "rw")


def kinds(doc: dict[str, Any]) -> list[str]:
    return [each["type"] for each in doc["linux"]["namespaces"]]


def mount_at(doc: dict[str, Any], target: str) -> dict[str, Any]:
    found: dict[str, Any] = next(m for m in doc["mounts"] if m["destination"] == target)
    return found


NAMESPACES = {
    "its own, but the host's network": (Share(), False, ["mount", "uts", "pid", "ipc"]),
    "with a network of its own": (
        Share(network=False),
        False,
        ["mount", "uts", "pid", "ipc", "network"],
    ),
    "with the host's processes": (Share(pid=True), False, ["mount", "uts", "ipc"]),
    "with the host's shared memory": (Share(ipc=True), False, ["mount", "uts", "pid"]),
    "with control groups of its own where there is one tree": (
        Share(),
        True,
        ["mount", "uts", "pid", "ipc", "cgroup"],
    ),
}


@pytest.mark.parametrize(("share", "is_v2", "expected"), NAMESPACES.values(), ids=NAMESPACES)
def test_namespaces(share: Share, is_v2: bool, expected: list[str]) -> None:  # noqa: FBT001  a column
    doc = document(a_spec(share=share), surroundings(is_cgroup_v2=is_v2))
    assert kinds(doc) == expected


def test_one_that_joins_another_is_given_the_way_to_its_processes() -> None:
    doc = document(a_spec(join_pid_of="1"), surroundings(pid_of_joined=77))
    assert {"type": "pid", "path": "/proc/77/ns/pid"} in doc["linux"]["namespaces"]
    assert kinds(doc).count("pid") == 1


def test_the_process() -> None:
    around = surroundings(user=User(7, 8, (8, 9)))
    process = document(a_spec(args=("a", "b"), working_dir="/w"), around)["process"]
    assert process["user"] == {"uid": 7, "gid": 8, "additionalGids": [8, 9]}
    assert (process["args"], process["cwd"], process["terminal"]) == (["a", "b"], "/w", False)
    assert process["capabilities"] == {
        kind: ["CAP_CHOWN", "CAP_KILL"] for kind in ("bounding", "effective", "permitted")
    }
    assert process["noNewPrivileges"] is False
    assert "rlimits" not in process
    assert "oomScoreAdj" not in process


def test_no_working_directory_is_the_root() -> None:
    assert document(a_spec(), surroundings())["process"]["cwd"] == "/"


ENVIRONMENTS: dict[str, tuple[tuple[str, ...], bool, list[str]]] = {
    "a path and the host name, when nobody says otherwise": ((), False, [PATH, "HOSTNAME=web"]),
    "a terminal has a type": ((), True, [PATH, "HOSTNAME=web", "TERM=xterm"]),
    "what the container says counts": (
        ("PATH=/mine", "A=b=c", "HOSTNAME=x"),
        False,
        ["PATH=/mine", "HOSTNAME=x", "A=b=c"],
    ),
    "of two the later counts": (("A=1", "A=2"), False, [PATH, "HOSTNAME=web", "A=2"]),
}


@pytest.mark.parametrize(("given_", "tty", "env"), ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_environment(given_: tuple[str, ...], tty: bool, env: list[str]) -> None:  # noqa: FBT001  a column
    doc = document(a_spec(environment=given_, has_tty=tty), surroundings())
    assert doc["process"]["env"] == env


def test_it_sees_little_of_the_kernel_and_changes_nothing_of_it() -> None:
    doc = document(a_spec(privileges=Privileges(may_escalate=False)), surroundings())
    assert doc["linux"]["maskedPaths"] == list(MASKED)
    assert doc["linux"]["readonlyPaths"] == list(READ_ONLY)
    assert "ro" in mount_at(doc, "/sys")["options"]
    assert "ro" in mount_at(doc, "/sys/fs/cgroup")["options"]
    assert doc["process"]["noNewPrivileges"] is True
    assert doc["linux"]["resources"]["devices"] == [{"allow": False, "access": "rwm"}]


def test_a_privileged_one_sees_and_changes_all_of_it() -> None:
    around = surroundings(host_devices=(DISK,))
    doc = document(a_spec(privileges=PRIVILEGED), around)
    assert "maskedPaths" not in doc["linux"]
    assert "readonlyPaths" not in doc["linux"]
    assert "ro" not in mount_at(doc, "/sys")["options"]
    assert doc["linux"]["resources"]["devices"] == [{"allow": True, "access": "rwm"}]
    assert [each["path"] for each in doc["linux"]["devices"]] == ["/dev/xvda"]
    assert len(doc["process"]["capabilities"]["bounding"]) == 4


def test_a_device_is_made_and_allowed() -> None:
    doc = document(a_spec(), surroundings(devices=(DISK,)))
    assert doc["linux"]["devices"] == [
        {
            "path": "/dev/xvda",
            "type": "b",
            "major": 7,
            "minor": 3,
            "fileMode": 0o660,
            "uid": 0,
            "gid": 6,
        }
    ]
    rule = {"allow": True, "type": "b", "major": 7, "minor": 3, "access": "rw"}
    assert doc["linux"]["resources"]["devices"][-1] == rule


BINDS = {
    "writable, and to itself": (Bind(Path("/s"), "/t"), ["rbind", "rprivate", "rw"]),
    "read-only": (Bind(Path("/s"), "/t", read_only=True), ["rbind", "rprivate", "ro"]),
    "read-only with all that is mounted in it": (
        Bind(Path("/s"), "/t", read_only=True, recursive_read_only=True),
        ["rbind", "rprivate", "rro"],
    ),
    "with what is mounted on the host later": (
        Bind(Path("/s"), "/t", propagation="rslave"),
        ["rbind", "rslave", "rw"],
    ),
    "in both directions": (
        Bind(Path("/s"), "/t", propagation="rshared"),
        ["rbind", "rshared", "rw"],
    ),
}


@pytest.mark.parametrize(("bind", "options"), BINDS.values(), ids=BINDS)
def test_bind(bind: Bind, options: list[str]) -> None:
    doc = document(a_spec(binds=(bind,)), surroundings(has_recursive_read_only=True))
    assert doc["mounts"][-1] == {
        "destination": "/t",
        "type": "bind",
        "source": "/s",
        "options": options,
    }


def test_what_the_runtime_cannot_make_read_only_is_refused() -> None:
    bind = Bind(Path("/s"), "/t", recursive_read_only=True)
    with pytest.raises(RuntimeRefused, match="/t cannot be made read-only"):
        document(a_spec(binds=(bind,)), surroundings())


def test_the_root_lets_as_much_through_as_the_bind_that_lets_most() -> None:
    binds = [Bind(Path("/s"), f"/{how}", propagation=how) for how in ("rshared", "rslave")]
    doc = document(a_spec(binds=tuple(binds)), surroundings())
    assert doc["linux"]["rootfsPropagation"] == "rshared"
    assert "rootfsPropagation" not in document(a_spec(), surroundings())["linux"]


@given(st.permutations(["/a", "/a/b", "/a/b/c", "/d", "/sys/fs/x"]))
def test_no_bind_hides_another(targets: list[str]) -> None:
    binds = tuple(Bind(Path("/s"), target) for target in targets)
    mounts = [m["destination"] for m in document(a_spec(binds=binds), surroundings())["mounts"]]
    for inner in targets:
        for outer in targets:
            if inner.startswith(f"{outer}/"):
                assert mounts.index(outer) < mounts.index(inner)


@pytest.mark.parametrize("is_privileged", [False, True])
def test_a_root_that_is_read_only_is_so_in_all_its_parts(*, is_privileged: bool) -> None:
    usual = [] if is_privileged else list(READ_ONLY)
    for can_write, expected in ((True, usual), (False, ["/usr", "/lib", *usual])):
        rights = Privileges(is_privileged=is_privileged, can_write_root=can_write)
        doc = document(a_spec(privileges=rights), surroundings(parts=("/usr", "/lib")))
        assert doc["linux"].get("readonlyPaths", []) == expected


LIMITS: dict[str, tuple[Limits, dict[str, Any]]] = {
    "none": (Limits(), {}),
    "processors": (
        Limits(cpu_shares=512, cpu_quota=50_000),
        {"cpu": {"shares": 512, "quota": 50_000, "period": 100_000}},
    ),
    "memory": (Limits(memory=1 << 20), {"memory": {"limit": 1 << 20}}),
    "processes": (Limits(pids=9), {"pids": {"limit": 9}}),
}


@pytest.mark.parametrize(("limits", "expected"), LIMITS.values(), ids=LIMITS)
def test_limits(limits: Limits, expected: dict[str, Any]) -> None:
    resources = document(a_spec(limits=limits), surroundings())["linux"]["resources"]
    assert {name: value for name, value in resources.items() if name != "devices"} == expected


def test_the_rest() -> None:
    spec = a_spec(privileges=Privileges(can_write_root=False))
    doc = document(spec, surroundings())
    assert doc["root"] == {"path": "/node/containers/1/rootfs", "readonly": True}
    assert doc["hostname"] == "web"
    assert doc["linux"]["cgroupsPath"] == f"/mooring/poduid-7/{ID}"


def test_with_the_hosts_shared_memory_its_files_are_the_hosts() -> None:
    doc = document(a_spec(share=Share(ipc=True)), surroundings())
    assert mount_at(doc, "/dev/shm")["type"] == "bind"  # noqa: S108  a mount point
    assert mount_at(doc, "/dev/mqueue")["type"] == "bind"


def test_users_of_its_own_are_told_with_a_view_of_the_hosts_sys() -> None:
    spec = a_spec(confinement=Confinement(first_host_id=131072))
    doc = document(spec, surroundings())
    ids = [{"containerID": 0, "hostID": 131072, "size": 65536}]
    assert (doc["linux"]["uidMappings"], doc["linux"]["gidMappings"]) == (ids, ids)
    assert {"type": "user"} in doc["linux"]["namespaces"]
    sys = mount_at(doc, "/sys")
    assert (sys["type"], sys["source"]) == ("bind", "/sys")
    assert {"rbind", "ro"} <= set(sys["options"])


def test_one_that_joins_another_joins_its_users_too() -> None:
    spec = a_spec(join_pid_of="1", confinement=Confinement(first_host_id=131072))
    doc = document(spec, surroundings(pid_of_joined=77))
    assert {"type": "user", "path": "/proc/77/ns/user"} in doc["linux"]["namespaces"]


def test_nothing_of_confinement_is_told_of_one_that_asks_for_none() -> None:
    linux = document(a_spec(), surroundings())["linux"]
    assert not {"seccomp", "sysctl", "uidMappings", "gidMappings"} & set(linux)


def test_settings_profiles_and_the_whole_of_proc() -> None:
    wish = Confinement(app_armor="mine", sysctls=(("kernel.shmmax", "1"),), shows_whole_proc=True)
    doc = document(a_spec(confinement=wish), surroundings(seccomp={"defaultAction": "X"}))
    assert doc["process"]["apparmorProfile"] == "mine"
    assert doc["linux"]["sysctl"] == {"kernel.shmmax": "1"}
    assert doc["linux"]["seccomp"] == {"defaultAction": "X"}
    assert not {"maskedPaths", "readonlyPaths"} & set(doc["linux"])
