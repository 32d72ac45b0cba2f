"""The user, capabilities and confinement of a container. Pure."""

from collections.abc import Iterable, Mapping

from mooring.model import quantity
from mooring.model.container import Container, ContainerSecurity
from mooring.model.pod import Pod, Sysctl
from mooring.model.quantity import ZERO, Quantity
from mooring.node.admission import apparmor, sysctls
from mooring.node.pods.waiting_reason import Misconfigured
from mooring.oci.contract import (
    Confinement,
    Limits,
    Privileges,
    RunAsUser,
    SeccompKind,
    Share,
    StoredImage,
)

_NO_SECURITY = ContainerSecurity()
_UNMASKED = "Unmasked"
_SECCOMP_KINDS = {kind.value: kind for kind in SeccompKind}
_STRICT = "Strict"  # only the groups that the pod names
_PERIOD = 100_000  # microseconds
_LEAST_QUOTA = 1000
_LEAST_SHARES, _MOST_SHARES = 2, 262_144
_LARGEST_ID = 2**31 - 1


def pod_id(pod: Pod) -> str:
    """How Kubernetes' messages spell a pod."""
    return f"{pod.name}_{pod.namespace}({pod.uid})"


def user(
    pod: Pod, container: Container, image: StoredImage | None, groups: Iterable[int]
) -> RunAsUser:
    """`groups` are those that its volumes ask for. Raises: Misconfigured."""
    of_pod = pod.spec.security_context
    own = container.security_context or _NO_SECURITY
    uid = of_pod.run_as_user if own.run_as_user is None else own.run_as_user
    gid = of_pod.run_as_group if own.run_as_group is None else own.run_as_group
    not_root = of_pod.run_as_non_root if own.run_as_non_root is None else own.run_as_non_root
    image_user = "" if image is None else image.config.user
    if not_root:
        _check_not_root(pod, container, uid, image_user)
    fs_group = () if of_pod.fs_group is None else (of_pod.fs_group,)
    return RunAsUser(
        image_user=image_user,
        uid=uid,
        gid=gid,
        groups=tuple(dict.fromkeys((*fs_group, *of_pod.supplemental_groups, *groups))),
        with_image_groups=of_pod.supplemental_groups_policy != _STRICT,
        must_not_be_root=bool(not_root),
    )


def _check_not_root(pod: Pod, container: Container, uid: int | None, image_user: str) -> None:
    where = f'(pod: "{pod_id(pod)}", container: {container.name})'
    if uid is not None:
        if uid == 0:
            raise Misconfigured(f"container's runAsUser breaks non-root policy {where}")
        return
    name = image_user.partition(":")[0]
    if name and not name.isdecimal():
        raise Misconfigured(
            f"container has runAsNonRoot and image has non-numeric user ({name}), "
            f"cannot verify user is non-root {where}"
        )
    number = int(name or "0")
    if number == 0:
        raise Misconfigured(f"container has runAsNonRoot and image will run as root {where}")
    if number > _LARGEST_ID:
        raise Misconfigured(
            f"container has runAsNonRoot and image has an invalid user id ({number}). "
            f"(Must be 1-({_LARGEST_ID})): must be between 0 and {_LARGEST_ID}, inclusive {where}"
        )


def privileges(container: Container) -> Privileges:
    own = container.security_context or _NO_SECURITY
    return Privileges(
        is_privileged=bool(own.privileged),
        may_escalate=own.allow_privilege_escalation is not False,
        add=tuple(map(_capability, own.capabilities.add)),
        drop=tuple(map(_capability, own.capabilities.drop)),
        can_write_root=not own.read_only_root_filesystem,
    )


def _capability(name: str) -> str:
    return name.upper().removeprefix("CAP_")


def confinement(
    pod: Pod, container: Container, *, seccomp_default: bool, first_host_id: int | None
) -> Confinement:
    """The confinement of a container, as its pod and security context ask for.

    Before: the pod was admitted, so its sysctls are allowed.
    Raises: Misconfigured; ephemeral containers were not checked at admission.
    """
    own = container.security_context or _NO_SECURITY
    if own.proc_mount == _UNMASKED and first_host_id is None:
        raise Misconfigured("`hostUsers` must be false to use the procMount `Unmasked`")
    kind, profile = _seccomp(pod, own, seccomp_default=seccomp_default)
    return Confinement(
        seccomp=kind,
        seccomp_profile=profile,
        app_armor=_loaded_profile(pod, container),
        sysctls=tuple((sysctls.plain(each.name), each.value) for each in _sysctls(pod)),
        shows_whole_proc=own.proc_mount == _UNMASKED,
        first_host_id=first_host_id,
    )


def _seccomp(pod: Pod, own: ContainerSecurity, *, seccomp_default: bool) -> tuple[SeccompKind, str]:
    wish = own.seccomp_profile or pod.spec.security_context.seccomp_profile
    if wish is None:
        return (SeccompKind.DEFAULT if seccomp_default else SeccompKind.UNCONFINED), ""
    kind = _SECCOMP_KINDS.get(wish.type)
    if kind is None:
        raise Misconfigured(f'unknown seccomp profile type "{wish.type}"')
    if kind is not SeccompKind.LOCALHOST:
        return kind, ""
    if not wish.localhost_profile:
        raise Misconfigured("localhostProfile must be set if seccompProfile type is Localhost.")
    return kind, wish.localhost_profile


def _sysctls(pod: Pod) -> tuple[Sysctl, ...]:
    return pod.spec.security_context.sysctls


def _loaded_profile(pod: Pod, container: Container) -> str:
    """Whether the kernel has it is for the runtime to find out."""
    wish = apparmor.wanted(pod, container)
    if wish is None or wish.type == apparmor.UNCONFINED:
        return ""
    if wish.type != apparmor.LOCALHOST or not wish.localhost_profile:
        raise Misconfigured(f"Cannot enforce AppArmor: {apparmor.NO_DEFAULT}")
    return wish.localhost_profile


def share(pod: Pod) -> Share:
    return Share(network=True, pid=pod.spec.host_pid, ipc=pod.spec.host_ipc)


def limits(pod: Pod, container: Container, pids: int | None) -> Limits:
    """Its own; of what it does not limit, the limit of the pod as a whole."""
    resources = container.resources
    most = {**pod.spec.resources.limits, **resources.limits}
    cpu_limit, memory = _amount(most, "cpu"), _amount(most, "memory")
    request = _amount(resources.requests, "cpu")
    if "cpu" not in resources.requests:
        request = cpu_limit
    return Limits(
        cpu_shares=_shares(_milli(request)),
        cpu_quota=_quota(_milli(cpu_limit)),
        cpu_period=_PERIOD,
        memory=memory.bytes_ceil() or None,
        pids=pids,
    )


def _amount(amounts: Mapping[str, str], resource: str) -> Quantity:
    return quantity.parse(amounts[resource]) if resource in amounts else ZERO


def _milli(amount: Quantity) -> int:
    return int(amount.milli_ceil().value * 1000)


def _shares(milli: int) -> int:
    return min(max(milli * 1024 // 1000, _LEAST_SHARES), _MOST_SHARES)


def _quota(milli: int) -> int | None:
    return max(milli * _PERIOD // 1000, _LEAST_QUOTA) if milli else None
