"""The options of a node, from the command line or from the process that it is a role of."""

from pathlib import Path

import msgspec

from mooring.model.kubernetes_version import NEWEST, KubernetesVersion
from mooring.node.names.options import DnsOptions
from mooring.node.status.heartbeat import UNTOLD, Holding
from mooring.oci.registry.settings import ImageSettings
from mooring.plugins.flex.drivers import DEFAULT_DIRECTORY

LOOPBACK = "127.0.0.1"


class NodeOptions(msgspec.Struct, frozen=True):
    """How the node is called, how it runs pods, and how it is reached."""

    name: str
    holding: Holding = UNTOLD  # of the node's lease
    host_rootfs: bool = False  # an image that is not here is replaced by the host's root
    hidden: tuple[Path, ...] = ()  # what containers never see of the host, wherever it is
    listen: str = LOOPBACK  # where logs, exec and attach are served
    port: int = 0  # 0: any that is free
    authority: bytes = b""  # PEM of the cluster's CA, for client certificates
    api_server: str = ""  # URL, as pods find it
    pull_images: bool = True  # from registries; else only those that were imported are run
    images: ImageSettings = ImageSettings()
    seccomp_default: bool = False  # containers without a seccomp profile get RuntimeDefault
    volume_stats_period: float = 60.0  # seconds between looks at the health of volumes
    allowed_unsafe_sysctls: tuple[str, ...] = ()  # names, or patterns that end in `*`
    volume_plugin_dir: Path = DEFAULT_DIRECTORY  # of FlexVolume drivers
    dns: DnsOptions = DnsOptions()
    release: KubernetesVersion = NEWEST

    @property
    def listens_everywhere(self) -> bool:
        return self.listen in ("0.0.0.0", "::")  # noqa: S104  compared, not bound
