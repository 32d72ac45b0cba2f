"""What a pod's owner wrote about its files, as a plugin is asked for them."""

from mooring.model.pod import Pod
from mooring.node.desired import WantedBy, WantedVolume
from mooring.plugins.contract import MountRequest, OwnershipPolicy, Tell


def mount_request(by: WantedBy, wanted: WantedVolume, record: Tell) -> MountRequest:
    security = by.pod.spec.security_context
    return MountRequest(
        record,
        fs_user=find_common_user(by.pod),
        fs_group=security.fs_group,
        ownership=_policy(security.fs_group_change_policy),
        size_limit=by.size_limit,
        selinux_label=wanted.selinux_label,
    )


def find_common_user(pod: Pod) -> int | None:
    """The one user that every container runs as; None when they differ or one does not say."""
    users = set()
    for container in pod.spec.all_containers:
        own = None if container.security_context is None else container.security_context.run_as_user
        users.add(pod.spec.security_context.run_as_user if own is None else own)
    return users.pop() if len(users) == 1 else None


def _policy(written: str | None) -> OwnershipPolicy:
    is_lazy = written == OwnershipPolicy.ON_ROOT_MISMATCH
    return OwnershipPolicy.ON_ROOT_MISMATCH if is_lazy else OwnershipPolicy.ALWAYS
