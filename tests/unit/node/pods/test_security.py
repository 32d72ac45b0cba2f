"""As whom containers run, what they may do, and how much they may use."""

import pytest

from mooring.model.container import (
    Capabilities,
    ComputeResources,
    Container,
    ContainerSecurity,
    ProfileRef,
)
from mooring.model.pod import Pod, PodSecurity, Sysctl
from mooring.node.pods.security import confinement, limits, privileges, share, user
from mooring.node.pods.waiting_reason import Misconfigured
from mooring.oci.contract import Limits, Privileges, RunAsUser, SeccompKind, Share
from tests.unit.node.pods.things import MAIN, a_pod, an_image


def secured(**fields: object) -> Container:
    return Container("main", security_context=ContainerSecurity(**fields))  # type: ignore[arg-type]  # the Struct checks


def with_pod(**fields: object) -> Pod:
    return a_pod(security_context=PodSecurity(**fields))  # type: ignore[arg-type]  # the Struct checks


USERS = {
    "nobody says anything": (a_pod(), MAIN, RunAsUser()),
    "the pod says it": (
        with_pod(run_as_user=1, run_as_group=2),
        MAIN,
        RunAsUser(uid=1, gid=2),
    ),
    "the container says otherwise": (
        with_pod(run_as_user=1, run_as_group=2),
        secured(run_as_user=0),
        RunAsUser(uid=0, gid=2),
    ),
    "groups come from everywhere, each once": (
        with_pod(fs_group=5, supplemental_groups=(6, 5)),
        MAIN,
        RunAsUser(groups=(5, 6, 9)),
    ),
    "the image's groups are not wanted": (
        with_pod(supplemental_groups_policy="Strict"),
        MAIN,
        RunAsUser(with_image_groups=False),
    ),
    "root is not wanted, and not asked for": (
        with_pod(run_as_non_root=True, run_as_user=1),
        MAIN,
        RunAsUser(uid=1, must_not_be_root=True),
    ),
    "the container may be root though others may not": (
        with_pod(run_as_non_root=True),
        secured(run_as_non_root=False),
        RunAsUser(),
    ),
}


@pytest.mark.parametrize(("pod", "container", "wish"), USERS.values(), ids=USERS)
def test_users(pod: Pod, container: Container, wish: RunAsUser) -> None:
    groups = (9,) if wish.groups else ()
    assert user(pod, container, None, groups) == wish


NOT_ROOT = {
    "asked to be root": (0, "7", "container's runAsUser breaks non-root policy"),
    "root by the image": (None, "0:7", "container has runAsNonRoot and image will run as root"),
    "root for want of another": (
        None,
        "",
        "container has runAsNonRoot and image will run as root",
    ),
    "whoever that is": (
        None,
        "bob",
        "container has runAsNonRoot and image has non-numeric user (bob), "
        "cannot verify user is non-root",
    ),
    "no user has such a number": (
        None,
        "4294967295",
        "container has runAsNonRoot and image has an invalid user id (4294967295). "
        "(Must be 1-(2147483647)): must be between 0 and 2147483647, inclusive",
    ),
}


@pytest.mark.parametrize(("uid", "image_user", "text"), NOT_ROOT.values(), ids=NOT_ROOT)
def test_root_is_refused(uid: int | None, image_user: str, text: str) -> None:
    pod = with_pod(run_as_non_root=True, run_as_user=uid)
    with pytest.raises(Misconfigured) as raised:
        user(pod, MAIN, an_image(user=image_user), ())
    assert str(raised.value) == f'{text} (pod: "web_ns(p1)", container: main)'


PRIVILEGES = {
    "the usual": (MAIN, Privileges()),
    "all of them": (secured(privileged=True), Privileges(is_privileged=True)),
    "no more than it has": (
        secured(allow_privilege_escalation=False, read_only_root_filesystem=True),
        Privileges(may_escalate=False, can_write_root=False),
    ),
    "by name, however written": (
        secured(capabilities=Capabilities(("CAP_SYS_ADMIN", "net_raw"), ("ALL",))),
        Privileges(add=("SYS_ADMIN", "NET_RAW"), drop=("ALL",)),
    ),
}


@pytest.mark.parametrize(("container", "then"), PRIVILEGES.values(), ids=PRIVILEGES)
def test_privileges(container: Container, then: Privileges) -> None:
    assert privileges(container) == then


LIMITS = {
    "none": ({}, {}, Limits(cpu_shares=2, pids=9)),
    "a share of the processor": ({"cpu": "250m"}, {}, Limits(cpu_shares=256, pids=9)),
    "a share for want of a request": (
        {},
        {"cpu": "500m"},
        Limits(cpu_shares=512, cpu_quota=50_000, pids=9),
    ),
    "a little is not nothing": (
        {"cpu": "1m"},
        {"cpu": "1m"},
        Limits(cpu_shares=2, cpu_quota=1000, pids=9),
    ),
    "more than there is": ({"cpu": "1k"}, {}, Limits(cpu_shares=262_144, pids=9)),
    "memory": ({}, {"memory": "64Mi"}, Limits(cpu_shares=2, memory=64 << 20, pids=9)),
}


@pytest.mark.parametrize(("requests", "most", "then"), LIMITS.values(), ids=LIMITS)
def test_limits(requests: dict[str, str], most: dict[str, str], then: Limits) -> None:
    container = Container("main", resources=ComputeResources(requests, most))
    assert limits(a_pod(container), container, 9) == then


def test_what_a_container_does_not_limit_the_pod_does() -> None:
    container = Container("main", resources=ComputeResources({}, {"cpu": "1"}))
    pod = a_pod(container, resources=ComputeResources({}, {"cpu": "2", "memory": "64Mi"}))
    found = limits(pod, container, 9)
    assert (found.cpu_quota, found.memory) == (100_000, 64 << 20)


DEFAULT = ProfileRef("RuntimeDefault")
LOCAL = ProfileRef("Localhost", "team/a.json")
PROFILES = {
    "none": (a_pod(), MAIN, (SeccompKind.UNCONFINED, "")),
    "the pod's": (with_pod(seccomp_profile=DEFAULT), MAIN, (SeccompKind.DEFAULT, "")),
    "its own": (
        with_pod(seccomp_profile=DEFAULT),
        secured(seccomp_profile=LOCAL),
        (SeccompKind.LOCALHOST, "team/a.json"),
    ),
    "none, by its own wish": (
        with_pod(seccomp_profile=DEFAULT),
        secured(seccomp_profile=ProfileRef("Unconfined")),
        (SeccompKind.UNCONFINED, ""),
    ),
}


@pytest.mark.parametrize(("pod", "container", "then"), PROFILES.values(), ids=PROFILES)
def test_seccomp(pod: Pod, container: Container, then: tuple[SeccompKind, str]) -> None:
    found = confinement(pod, container, seccomp_default=False, first_host_id=None)
    assert (found.seccomp, found.seccomp_profile) == then
    found = confinement(pod, container, seccomp_default=True, first_host_id=None)
    asked = container.security_context is not None or pod.spec.security_context != PodSecurity()
    assert found.seccomp is (then[0] if asked else SeccompKind.DEFAULT)


def test_settings_are_written_with_dots() -> None:
    pod = with_pod(sysctls=(Sysctl("kernel/shmmax", "1"),))
    found = confinement(pod, MAIN, seccomp_default=False, first_host_id=7)
    assert (found.sysctls, found.first_host_id) == ((("kernel.shmmax", "1"),), 7)


NOT_CONFINED = {
    "a profile nobody knows": (
        secured(seccomp_profile=ProfileRef("Odd")),
        'unknown seccomp profile type "Odd"',
    ),
    "a profile without a name": (
        secured(seccomp_profile=ProfileRef("Localhost")),
        "localhostProfile must be set if seccompProfile type is Localhost.",
    ),
    "the whole of proc with the host's users": (
        secured(proc_mount="Unmasked"),
        "`hostUsers` must be false to use the procMount `Unmasked`",
    ),
    "a default profile of AppArmor, of a container that joined later": (
        secured(app_armor_profile=DEFAULT),
        "Cannot enforce AppArmor: this node has no default profile; "
        "load one and name it with the type Localhost",
    ),
}


@pytest.mark.parametrize(("container", "why"), NOT_CONFINED.values(), ids=NOT_CONFINED)
def test_what_cannot_be_had_is_refused(container: Container, why: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        confinement(a_pod(), container, seccomp_default=False, first_host_id=None)
    assert str(refused.value) == why


def test_a_profile_of_apparmor_is_handed_on() -> None:
    container = secured(app_armor_profile=ProfileRef("Localhost", "mine"))
    found = confinement(a_pod(), container, seccomp_default=False, first_host_id=None)
    assert found.app_armor == "mine"


def test_what_is_shared_with_the_host() -> None:
    assert share(a_pod()) == Share(network=True)
    assert share(a_pod(host_pid=True, host_ipc=True)) == Share(network=True, pid=True, ipc=True)
