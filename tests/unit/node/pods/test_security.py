"""As whom containers run, what they may do, and how much they may use."""

import pytest

from mooring.model.container import Capabilities, ComputeResources, Container, ContainerSecurity
from mooring.model.pod import Pod, PodSecurity
from mooring.node.pods.hindered import Misconfigured
from mooring.node.pods.security import limits, privileges, share, user
from mooring.oci.contract import Limits, Privileges, Share, UserWish
from tests.unit.node.pods.things import MAIN, a_pod, an_image


def secured(**fields: object) -> Container:
    return Container("main", security_context=ContainerSecurity(**fields))  # type: ignore[arg-type]  # the Struct checks


def with_pod(**fields: object) -> Pod:
    return a_pod(security_context=PodSecurity(**fields))  # type: ignore[arg-type]  # the Struct checks


USERS = {
    "nobody says anything": (a_pod(), MAIN, UserWish()),
    "the pod says it": (
        with_pod(run_as_user=1, run_as_group=2),
        MAIN,
        UserWish(uid=1, gid=2),
    ),
    "the container says otherwise": (
        with_pod(run_as_user=1, run_as_group=2),
        secured(run_as_user=0),
        UserWish(uid=0, gid=2),
    ),
    "groups come from everywhere, each once": (
        with_pod(fs_group=5, supplemental_groups=(6, 5)),
        MAIN,
        UserWish(groups=(5, 6, 9)),
    ),
    "the image's groups are not wanted": (
        with_pod(supplemental_groups_policy="Strict"),
        MAIN,
        UserWish(with_image_groups=False),
    ),
    "root is not wanted, and not asked for": (
        with_pod(run_as_non_root=True, run_as_user=1),
        MAIN,
        UserWish(uid=1, must_not_be_root=True),
    ),
    "the container may be root though others may not": (
        with_pod(run_as_non_root=True),
        secured(run_as_non_root=False),
        UserWish(),
    ),
}


@pytest.mark.parametrize(("pod", "container", "wish"), USERS.values(), ids=USERS)
def test_users(pod: Pod, container: Container, wish: UserWish) -> None:
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
    assert limits(container, 9) == then


def test_what_is_shared_with_the_host() -> None:
    assert share(a_pod()) == Share(network=True)
    assert share(a_pod(host_pid=True, host_ipc=True)) == Share(network=True, pid=True, ipc=True)
