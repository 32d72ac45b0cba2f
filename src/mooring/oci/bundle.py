"""The OCI bundle's `config.json` of a container.

Pure: data of the machine (users, device numbers) comes in `BundleContext`.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from mooring.host.user_namespace import LENGTH
from mooring.model.document import Doc
from mooring.oci import capabilities, cgroups
from mooring.oci.contract import Bind, Confinement, ContainerSpec, Limits, RuntimeRefused
from mooring.oci.devices import DeviceNode
from mooring.oci.users import User

OCI_VERSION = "1.0.2"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TERMINAL = "TERM=xterm"
PROPAGATIONS = ("private", "rslave", "rshared")  # the later lets more through

MASKED = (
    *("/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys"),
    *("/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug"),
    *("/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap"),
)
READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


class BundleContext(msgspec.Struct, frozen=True):
    """What the machine has to say about a container."""

    rootfs: Path
    user: User
    capabilities: tuple[str, ...]  # that this process can give
    is_cgroup_v2: bool = False
    has_recursive_read_only: bool = False
    devices: tuple[DeviceNode, ...] = ()  # those asked for, looked up
    host_devices: tuple[DeviceNode, ...] = ()  # for privileged ones
    pid_of_joined: int = 0
    parts: tuple[str, ...] = ()  # of the root that are mounts of their own, whose access is its own
    seccomp: Doc | msgspec.Raw | None = None  # a profile


def document(spec: ContainerSpec, around: BundleContext) -> Doc:
    """Raises: RuntimeRefused for what this runtime cannot do."""
    is_privileged = spec.privileges.is_privileged
    root = {"path": str(around.rootfs), "readonly": not spec.privileges.can_write_root}
    linux: Doc = {
        "namespaces": _namespaces(spec, around),
        "cgroupsPath": cgroups.inner_path(spec.owner.pod_uid, spec.id),
        "devices": [_device(node) for node in (*around.host_devices, *around.devices)],
        "resources": {
            **_limits(spec.limits),
            "devices": _device_rules(around.devices, is_privileged=is_privileged),
        },
    }
    read_only = _read_only_parts(spec, around)
    if not is_privileged and not spec.confinement.shows_whole_proc:
        linux["maskedPaths"] = list(MASKED)
        read_only += READ_ONLY
    if read_only:
        linux["readonlyPaths"] = list(read_only)
    linux |= _confinement(spec.confinement, around)
    most = max((PROPAGATIONS.index(bind.propagation) for bind in spec.binds), default=0)
    if most:
        linux["rootfsPropagation"] = PROPAGATIONS[most]
    return {
        "ociVersion": OCI_VERSION,
        "process": _process(spec, around),
        "root": root,
        "hostname": spec.hostname,
        "mounts": [
            *_usual_mounts(spec, around),
            *_binds(spec.binds, around),
        ],
        "linux": linux,
    }


def _read_only_parts(spec: ContainerSpec, around: BundleContext) -> tuple[str, ...]:
    """The runtime makes the root read-only, and no mount below it."""
    return () if spec.privileges.can_write_root else around.parts


def _confinement(wish: Confinement, around: BundleContext) -> Doc:
    found: Doc = {}
    if around.seccomp is not None:
        found["seccomp"] = around.seccomp
    if wish.sysctls:
        found["sysctl"] = dict(wish.sysctls)
    if wish.first_host_id is not None:
        ids = [{"containerID": 0, "hostID": wish.first_host_id, "size": LENGTH}]
        found |= {"uidMappings": ids, "gidMappings": ids}
    return found


def _process(spec: ContainerSpec, around: BundleContext) -> Doc:
    given = capabilities.choose(spec.privileges, around.capabilities)
    labels = {"apparmorProfile": spec.confinement.app_armor} if spec.confinement.app_armor else {}
    return {
        **labels,
        "terminal": spec.has_tty,
        "user": {
            "uid": around.user.uid,
            "gid": around.user.gid,
            "additionalGids": list(around.user.groups),
        },
        "args": list(spec.args),
        "env": _environment(spec),
        "cwd": spec.working_dir or "/",
        # Nothing inheritable, nothing ambient: a program of another user has none of them.
        "capabilities": {kind: list(given) for kind in ("bounding", "effective", "permitted")},
        "noNewPrivileges": not spec.privileges.may_escalate,
    }


def _environment(spec: ContainerSpec) -> list[str]:
    """Our defaults first, unless the spec sets them; of two with one name the later counts."""
    usual = [PATH, f"HOSTNAME={spec.hostname}", *([TERMINAL] if spec.has_tty else [])]
    chosen = {entry.partition("=")[0]: entry for entry in (*usual, *spec.environment)}
    return list(chosen.values())


def _namespaces(spec: ContainerSpec, around: BundleContext) -> list[Doc]:
    found: list[Doc] = [{"type": "mount"}, {"type": "uts"}]
    if spec.confinement.first_host_id is not None:
        joined = around.pid_of_joined
        # Whose processes it joins, their users it must be: others own that namespace.
        found.append({"type": "user", **({"path": f"/proc/{joined}/ns/user"} if joined else {})})
    if around.pid_of_joined:
        found.append({"type": "pid", "path": f"/proc/{around.pid_of_joined}/ns/pid"})
    elif not spec.share.pid:
        found.append({"type": "pid"})
    if not spec.share.ipc:
        found.append({"type": "ipc"})
    if not spec.share.network:
        found.append({"type": "network"})
    if around.is_cgroup_v2:
        found.append({"type": "cgroup"})
    return found


def _usual_mounts(spec: ContainerSpec, around: BundleContext) -> list[Doc]:
    access = [] if spec.privileges.is_privileged else ["ro"]
    strict = ("nosuid", "noexec", "nodev")
    pts = ("nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5")
    mounts = [
        _mount("/proc", "proc", "proc", strict),
        _mount("/dev", "tmpfs", "tmpfs", ("nosuid", "strictatime", "mode=755", "size=65536k")),
        _mount("/dev/pts", "devpts", "devpts", pts),
        _sys(spec, around, (*strict, *access)),
        _mount("/sys/fs/cgroup", "cgroup", "cgroup", (*strict, "relatime", *access)),
    ]
    if spec.share.ipc:
        whole = (*strict, "rbind")
        return [
            *mounts,
            _mount("/dev/shm", "bind", "/dev/shm", whole),  # noqa: S108  a mount point
            _mount("/dev/mqueue", "bind", "/dev/mqueue", whole),
        ]
    memory = (*strict, "mode=1777", "size=65536k")
    return [
        *mounts,
        _mount("/dev/shm", "tmpfs", "shm", memory),  # noqa: S108  a mount point
        _mount("/dev/mqueue", "mqueue", "mqueue", strict),
    ]


def _sys(spec: ContainerSpec, around: BundleContext, options: Sequence[str]) -> Doc:
    if spec.confinement.first_host_id is None:
        return _mount("/sys", "sysfs", "sysfs", options)
    # A new one shows a network that is the host's: only the host's root may mount that.
    access = "rro" if around.has_recursive_read_only else "ro"
    return _mount("/sys", "bind", "/sys", ("rbind", "rprivate", *options, access))


def _binds(binds: Iterable[Bind], around: BundleContext) -> list[Doc]:
    """The outer ones first, so that none hides another."""
    ordered = sorted(binds, key=lambda bind: len(PurePosixPath(bind.target).parts))
    return [_bind(bind, around) for bind in ordered]


def _bind(bind: Bind, around: BundleContext) -> Doc:
    if bind.recursive_read_only and not around.has_recursive_read_only:
        raise RuntimeRefused(
            f"{bind.target} cannot be made read-only with all that is mounted in it: "
            "the runtime does not know how"
        )
    access = "rro" if bind.recursive_read_only else "ro" if bind.read_only else "rw"
    propagation = "rprivate" if bind.propagation == "private" else bind.propagation
    options = ("rbind", propagation, access, *bind.flags)
    return _mount(bind.target, "bind", str(bind.source), options)


def _mount(target: str, kind: str, source: str, options: Sequence[str]) -> Doc:
    return {"destination": target, "type": kind, "source": source, "options": list(options)}


def _device(node: DeviceNode) -> Doc:
    return {
        "path": node.path,
        "type": node.kind,
        "major": node.major,
        "minor": node.minor,
        "fileMode": node.mode,
        "uid": node.uid,
        "gid": node.gid,
    }


def _device_rules(nodes: Iterable[DeviceNode], *, is_privileged: bool) -> list[Doc]:
    """The usual devices (null, zero, tty and so on) are added by the runtime."""
    if is_privileged:
        return [{"allow": True, "access": "rwm"}]
    allowed = [
        {
            "allow": True,
            "type": node.kind,
            "major": node.major,
            "minor": node.minor,
            "access": node.permissions,
        }
        for node in nodes
    ]
    return [{"allow": False, "access": "rwm"}, *allowed]


def _limits(limits: Limits) -> Doc:
    cpu: Doc = {}
    if limits.cpu_shares is not None:
        cpu["shares"] = limits.cpu_shares
    if limits.cpu_quota is not None:
        cpu |= {"quota": limits.cpu_quota, "period": limits.cpu_period}
    found: Doc = {"cpu": cpu} if cpu else {}
    if limits.memory is not None:
        found["memory"] = {"limit": limits.memory}
    if limits.pids is not None:
        found["pids"] = {"limit": limits.pids}
    return found
