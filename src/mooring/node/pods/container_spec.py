"""The runtime's specification of a container, from the pod, its image and the node."""

import posixpath
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from mooring.host.blocking import in_thread
from mooring.host.contract import MountOps
from mooring.model.container import Container
from mooring.model.pod import Pod
from mooring.node.mount_list import ContainerVolumes, Sight, list_volumes
from mooring.node.names.options import DnsOptions
from mooring.node.pods import files, security
from mooring.node.pods.command import command_line, variables_of, working_directory
from mooring.node.pods.contract import PodVolumes
from mooring.node.pods.environment import EnvironmentSources, environment
from mooring.node.pods.files import ContainerFiles
from mooring.node.pods.image_volumes import ImageVolumes
from mooring.node.pods.paths import PodPaths
from mooring.node.pods.resolver import ClusterDns
from mooring.node.pods.stop_signal import SIGNAL_NOTE
from mooring.node.pods.user_ranges import USERS_NOTE, UserRanges
from mooring.oci.contract import Bind, ContainerSpec, Device, Owner, StoredImage

DEFAULT_PIDS = 1024


def _as_the_host() -> None:
    return None


class ContainerSettings(msgspec.Struct, frozen=True):
    """What the node says of containers."""

    node_name: str
    address: str = ""  # of the node, and so of its pods
    host_rootfs: bool = False  # an image that is not here is replaced by the host's root
    services: Mapping[str, str] = {}  # see `environment.api_server_variables`
    pids: int | None = DEFAULT_PIDS
    can_be_read_only_below: bool = False  # the runtime knows recursive read-only mounts
    seccomp_default: bool = False  # containers without a profile get RuntimeDefault
    dns: DnsOptions = DnsOptions()
    find_dns: Callable[[], ClusterDns | None] = _as_the_host  # who answers for the cluster


class StartOptions(msgspec.Struct, frozen=True):
    """One attempt at one container."""

    id: str
    pod: Pod
    container: Container
    attempt: int
    log_path: Path
    volumes: PodVolumes
    find_neighbour: Callable[[], str]  # the id of whose processes it shares, or ""

    @property
    def owner(self) -> Owner:
        pod = self.pod
        return Owner(pod.namespace, pod.name, pod.uid, self.container.name, self.attempt)


class SpecWriter:
    def __init__(
        self,
        settings: ContainerSettings,
        paths: PodPaths,
        mounts: MountOps,
        surroundings: EnvironmentSources,
        image_volumes: ImageVolumes,
        user_ranges: UserRanges,
    ) -> None:
        self._settings = settings
        self._paths = paths
        self._mounts = mounts
        self._surroundings = surroundings
        self._image_volumes = image_volumes
        self._user_ranges = user_ranges

    async def write(self, wish: StartOptions, image: StoredImage | None) -> ContainerSpec:
        """Everything is there that the container will see.

        Raises: CannotStart, VolumeError, HostError, ConnectionLost.
        """
        pod, container, owner = wish.pod, wish.container, wish.owner
        user = security.user(pod, container, image, wish.volumes.groups())
        privileges = security.privileges(container)
        confinement = security.confinement(
            pod,
            container,
            seccomp_default=self._settings.seccomp_default,
            first_host_id=self._user_ranges.of(pod.uid) if pod.spec.has_user_namespace else None,
        )
        variables = await environment(pod, container, self._surroundings)
        args = command_line(container, image, variables)
        sight = Sight(
            pod,
            container,
            wish.volumes.reach(),
            variables,
            self._settings.can_be_read_only_below,
        )
        shown = await list_volumes(self._paths.layout, self._mounts, sight)
        dns = self._settings.dns
        name = files.hostname(pod, self._settings.node_name, dns.domain)
        own = ContainerFiles(
            pod,
            container,
            wish.id,
            name,
            self._settings.address,
            wish.log_path,
            is_read_only=not privileges.can_write_root,
            dns=dns,
            cluster_dns=self._settings.find_dns(),
        )
        binds = [*await in_thread(files.prepare, self._paths, own)]
        binds += await self._volumes(wish, shown)
        return ContainerSpec(
            id=wish.id,
            owner=owner,
            image=image,
            args=args,
            environment=variables_of(image, variables),
            working_dir=working_directory(container, image),
            user=user,
            hostname=name,
            log_path=own.log_path,
            binds=tuple(sorted(binds, key=_depth)),
            devices=tuple(
                Device(each.host_path, each.container_path, each.permissions)
                for each in shown.devices
            ),
            limits=security.limits(pod, container, self._settings.pids),
            privileges=privileges,
            confinement=confinement,
            share=security.share(pod),
            join_pid_of=wish.find_neighbour(),
            has_stdin=container.stdin,
            closes_stdin_after_first=container.stdin_once,
            has_tty=container.tty,
            notes=self._notes(wish, image, confinement.first_host_id),
        )

    async def _volumes(self, wish: StartOptions, shown: ContainerVolumes) -> list[Bind]:
        binds = []
        for index, each in enumerate(shown.mounts):
            source = each.host_path
            if source is None:
                source = await self._image_volumes.show(wish.pod, wish.container, each, index)
            binds.append(
                Bind(
                    source,
                    each.container_path,
                    each.read_only,
                    each.recursive_read_only,
                    each.propagation.value,
                )
            )
        return binds

    def _notes(
        self, wish: StartOptions, image: StoredImage | None, first_host_id: int | None
    ) -> Mapping[str, str]:
        """What its end will need, when neither pod nor image may be known any more."""
        of_image = "" if image is None else image.config.stop_signal
        notes = {SIGNAL_NOTE: wish.container.lifecycle.stop_signal or of_image}
        if first_host_id is not None:
            notes[USERS_NOTE] = str(first_host_id)
        return notes


def _depth(bind: Bind) -> int:
    """What is mounted inside another mount comes after it."""
    return len([part for part in posixpath.normpath(bind.target).split("/") if part])
