"""Making ready what a container needs before it exists: its files, its user, its document."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mooring.host.contract import MountOps
from mooring.host.mountinfo import canonical
from mooring.host.refusal import refusals
from mooring.model.document import Doc
from mooring.oci import bundle, capabilities, devices, id_mapping, rootfs, seccomp, users
from mooring.oci.contract import Bind, ContainerSpec, RuntimeRefused, SeccompKind
from mooring.oci.host_root import HostRoot
from mooring.oci.id_mapping import IdMapping
from mooring.oci.records import ID, ContainerDirectory, Record
from mooring.oci.runc import RuntimeProgram

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Maker:
    """Prepares containers. Every call blocks: it reads, writes and mounts."""

    def __init__(
        self, mounts: MountOps, program: RuntimeProgram, host: HostRoot, seccomp_profiles: Path
    ) -> None:
        self._mounts = mounts
        self._program = program
        self._host = host
        self._seccomp_profiles = seccomp_profiles
        self._capabilities = capabilities.available()

    def prepare(
        self, spec: ContainerSpec, place: ContainerDirectory, record: Record, joined: int
    ) -> None:
        """Make all but the container itself. `joined` is the pid of the one to live with, or 0.

        Raises: RuntimeRefused, HostError; what was made so far is left.
        """
        users.refuse_root(spec.user, spec.owner)
        if spec.devices and spec.confinement.first_host_id is not None:
            # The runtime would bind what the host has at the path that is meant for the container.
            raise RuntimeRefused("devices cannot be given to users who are not the host's")
        self._check_sources(spec.binds)
        place.make()
        place.write(record)
        with refusals(f"mkdir {spec.log_path.parent}"):
            spec.log_path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        first = spec.confinement.first_host_id
        if first is None:
            parts = self._mount_root(spec, place)
        else:
            with id_mapping.mapping(self._mounts, place, first) as mapping:
                shown = self._mount_root(spec, place, mapping)
                id_mapping.release_layers(self._mounts, place)  # the overlay has its own
                spec = msgspec.structs.replace(spec, binds=mapping.binds(spec.binds))
                mapping.show_root(shown)
                parts = ()  # they can only be read
        around = self._look_around(spec, place, joined, parts)
        place.write_config(msgspec.json.encode(bundle.document(spec, around)))

    def _mount_root(
        self, spec: ContainerSpec, place: ContainerDirectory, mapping: IdMapping | None = None
    ) -> tuple[str, ...]:
        """What of it is a mount of its own. Raises: HostError."""
        if spec.image is None:
            return rootfs.mount_host(self._mounts, place, self._host, mapping)
        rootfs.mount(self._mounts, place, spec.image, mapping)
        return ()

    def release(self, place: ContainerDirectory) -> None:
        """The container is made. Raises: HostError."""
        id_mapping.release(self._mounts, place)

    def _look_around(
        self, spec: ContainerSpec, place: ContainerDirectory, joined: int, parts: tuple[str, ...]
    ) -> bundle.BundleContext:
        is_privileged = spec.privileges.is_privileged
        has_own_users = spec.confinement.first_host_id is not None
        user = users.resolve(spec.user, users.read_accounts(place.rootfs))
        if has_own_users:
            id_mapping.check_user(user)
        wanted = devices.merged([devices.look_up(device) for device in spec.devices])
        paths = {node.path for node in wanted}
        of_host = devices.of_host() if is_privileged else ()
        return bundle.BundleContext(
            rootfs=place.open_rootfs if has_own_users else place.rootfs,
            user=user,
            capabilities=self._capabilities,
            is_cgroup_v2=self._program.is_cgroup_v2,
            has_recursive_read_only=self._program.has_recursive_read_only,
            devices=wanted,
            host_devices=tuple(node for node in of_host if node.path not in paths),
            pid_of_joined=joined,
            parts=parts,
            seccomp=self._seccomp(spec),
        )

    def _seccomp(self, spec: ContainerSpec) -> Doc | msgspec.Raw | None:
        """Raises: RuntimeRefused."""
        wish = spec.confinement
        if wish.seccomp is SeccompKind.UNCONFINED or spec.privileges.is_privileged:
            return None
        if not self._program.has_seccomp:
            raise RuntimeRefused(f"seccomp is not supported by {self._program.path}")
        given = capabilities.choose(spec.privileges, self._capabilities)
        return seccomp.profile(wish, self._seccomp_profiles, given, os.uname().machine)

    def _check_sources(self, binds: Sequence[Bind]) -> None:
        """Raises: RuntimeRefused."""
        for bind in binds:
            if not bind.source.exists():
                raise RuntimeRefused(f"{bind.source} does not exist")
            if bind.propagation != "private":
                self._check_propagation(bind)

    def _check_propagation(self, bind: Bind) -> None:
        """A mount that is not shared passes nothing on, and would do so without a word."""
        entry = self._mounts.table().covering(canonical(bind.source))
        tags = entry.tags if entry is not None else ()
        is_shared = any(tag.startswith("shared:") for tag in tags)
        is_slave = any(tag.startswith("master:") for tag in tags)
        if is_shared or (is_slave and bind.propagation == "rslave"):
            return
        at = entry.at if entry is not None else "/"
        wanted = "mount" if bind.propagation == "rshared" else "or slave mount"
        raise RuntimeRefused(
            f'path "{bind.source}" is mounted on "{at}" but it is not a shared {wanted}'
        )


def check_names(spec: ContainerSpec) -> None:
    """What becomes part of a path must be no path. Raises: RuntimeRefused."""
    if ID.fullmatch(spec.id) is None:
        raise RuntimeRefused(f"a container's id is 64 hexadecimal digits, not {spec.id!r}")
    if _NAME.fullmatch(spec.owner.pod_uid) is None:
        raise RuntimeRefused(f"the uid of a pod cannot be {spec.owner.pod_uid!r}")
    if not spec.args:
        raise RuntimeRefused("no command specified")
    for bind in spec.binds:
        if not bind.target.startswith("/"):
            raise RuntimeRefused(f"the path {bind.target!r} in a container is not absolute")
