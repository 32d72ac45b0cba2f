"""Files that containers see beside volumes: hosts, host name, resolver, termination message."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from mooring.host.refusal import refusals
from mooring.model.container import Container
from mooring.model.pod import HostAlias, Pod
from mooring.node.names.options import DnsOptions
from mooring.node.pods.paths import PodPaths
from mooring.node.pods.resolver import ClusterDns, resolver
from mooring.node.pods.waiting_reason import Misconfigured
from mooring.oci.contract import Bind

LONGEST_NAME = 63
LONGEST_FULL_NAME = 64  # of the kernel
_HOSTS = Path("/etc/hosts")
_HEADER = "# Kubernetes-managed hosts file.\n"
_HEADER_OF_HOST = "# Kubernetes-managed hosts file (host network).\n"
_STANDARD = (
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n"
)


class ContainerFiles(msgspec.Struct, frozen=True):
    """What is made for one container."""

    pod: Pod
    container: Container
    id: str
    hostname: str
    address: str
    log_path: Path
    is_read_only: bool  # its root file system
    dns: DnsOptions = DnsOptions()
    cluster_dns: ClusterDns | None = None  # None: as the host


def hostname(pod: Pod, node: str, cluster_domain: str = DnsOptions().domain) -> str:
    """What a pod calls itself. Raises: Misconfigured for a name that the kernel does not take."""
    if pod.spec.hostname_override:
        return pod.spec.hostname_override
    if pod.spec.host_network:
        return node
    short = (pod.spec.hostname or pod.name)[:LONGEST_NAME].rstrip("-.")
    domain = _domain(pod, cluster_domain)
    if not pod.spec.set_hostname_as_fqdn or not domain:
        return short
    full = f"{short}.{domain}"
    if len(full) > LONGEST_FULL_NAME:
        raise Misconfigured(
            f"failed to construct FQDN from pod hostname and cluster domain, FQDN {full} is too "
            f"long ({LONGEST_FULL_NAME} characters is the max, {len(full)} characters requested)"
        )
    return full


def _domain(pod: Pod, cluster_domain: str) -> str:
    """Below which its name stands; empty when it has none."""
    if not pod.spec.subdomain or pod.spec.hostname_override:
        return ""
    return f"{pod.spec.subdomain}.{pod.namespace}.svc.{cluster_domain}"


def prepare(paths: PodPaths, wish: ContainerFiles) -> tuple[Bind, ...]:
    """Write what the container will see, and say where; blocks.

    Before: the pod's directory is there.
    Repeated: the same files again; what a container has said since is kept.
    Raises: HostError.
    """
    pod = wish.pod
    taken = {each.mount_path for each in wish.container.volume_mounts}
    shown = {
        "/etc/hosts": (paths.hosts(pod), _hosts(wish)),
        "/etc/hostname": (paths.hostname(pod), f"{wish.hostname}\n"),
        "/etc/resolv.conf": (
            paths.resolver(pod),
            resolver(pod, _read(wish.dns.resolv_conf), wish.cluster_dns),
        ),
    }
    with refusals(f"prepare the files of container {wish.container.name}"):
        wish.log_path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        binds = []
        for target, (path, content) in shown.items():
            if target not in taken:
                _write(path, content)
                binds.append(Bind(path, target, read_only=wish.is_read_only))
        message = _termination_message(paths, wish)
        return (*binds, message) if message is not None else tuple(binds)


def _termination_message(paths: PodPaths, wish: ContainerFiles) -> Bind | None:
    target = wish.container.termination_message_path
    if not target:
        return None
    path = paths.termination_message(wish.pod, wish.container.name, wish.id)
    path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
    path.touch()
    path.chmod(0o666)  # any user that the container runs as may write it
    return Bind(path, target if target.startswith("/") else f"/{target}")


def _hosts(wish: ContainerFiles) -> str:
    pod = wish.pod
    aliases = _aliases(pod.spec.host_aliases)
    if pod.spec.host_network:
        return _HEADER_OF_HOST + _read(_HOSTS) + aliases
    return _HEADER + _STANDARD + _own_line(wish) + aliases


def _own_line(wish: ContainerFiles) -> str:
    name, address = wish.hostname, wish.address
    if not address:
        return ""
    if domain := _domain(wish.pod, wish.dns.domain):
        short = name.removesuffix(f".{domain}")
        return f"{address}\t{short}.{domain}\t{short}\n"
    return f"{address}\t{name}\n"


def _aliases(aliases: Iterable[HostAlias]) -> str:
    lines = ["\t".join((alias.ip, *alias.hostnames)) + "\n" for alias in aliases]
    return "".join(("\n# Entries added by HostAliases.\n", *lines)) if lines else ""


def _write(path: Path, content: str) -> None:
    """Unless it says so already: containers that run have this very file."""
    data = content.encode()
    with suppress(FileNotFoundError):
        if path.stat().st_size == len(data) and path.read_bytes() == data:
            return
    path.write_bytes(data)
    path.chmod(0o644)


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(errors="replace")
    return ""


def remove_log(path: Path) -> None:
    """The log of one attempt, and its older parts; blocks. Raises: HostError."""
    with refusals(f"remove {path}"):
        for part in log_parts(path):
            part.unlink(missing_ok=True)


def log_parts(path: Path) -> list[Path]:
    """A log and its older parts, the oldest first. Raises: OSError."""
    try:
        names = os.listdir(path.parent)
    except FileNotFoundError:
        return []
    older = sorted(name for name in names if name.startswith(f"{path.name}."))
    return [path.parent / name for name in (*older, *({path.name} & set(names)))]
