"""How much a pod may put into a volume that lives on the node's own disk."""

from mooring.model import quantity
from mooring.model.pod import Pod
from mooring.model.pod_resources import EPHEMERAL_STORAGE, total_limit
from mooring.model.volume_use import VolumeUse


def find_size_limit(pod: Pod, use: VolumeUse) -> int | None:
    """The smaller of what the pod may use of the disk and what the volume says; None: no limit.

    Only for volumes that are files on the disk: emptyDir without a medium, gitRepo, configMap.
    """
    inline = use.inline
    if inline is None:
        return None
    source = inline.empty_dir
    on_disk = source is not None and not source.medium
    if not on_disk and inline.git_repo is None and inline.config_map is None:
        return None
    limits = [total_limit(pod, EPHEMERAL_STORAGE).bytes_ceil()]
    if source is not None and source.size_limit is not None:
        limits.append(quantity.parse(source.size_limit).bytes_ceil())
    return min((limit for limit in limits if limit > 0), default=None)
