"""May this pod run here, and what of it will have no effect? Pure."""

from collections.abc import Iterator
from typing import Final

import msgspec

from mooring.model.container import Container, ContainerPort
from mooring.model.pod import Pod
from mooring.node.admission import apparmor, sysctls
from mooring.node.admission.sysctls import Allowed

OS_REASON: Final = "PodOSNotSupported"
UNSUPPORTED: Final = "PodFeatureUnsupported"
SELINUX: Final = "SELinux"
IGNORED: Final = "FieldIgnored"  # of an event: something that the pod says has no effect here
_SYSTEM = "linux"
_HUGE_PAGES = "hugepages-"


class Rules(msgspec.Struct, frozen=True):
    """What this machine can enforce, and what its owner allows."""

    sysctls: Allowed = Allowed()
    has_app_armor: bool = False
    has_selinux: bool = False


class Rejection(msgspec.Struct, frozen=True):
    """`reason` is the word of the pod's status and of the event."""

    reason: str
    message: str


def find_rejection(pod: Pod, rules: Rules) -> Rejection | None:
    """Why the pod can never run here as it was promised; None: it can."""
    spec = pod.spec
    if spec.os is not None and spec.os.name != _SYSTEM:
        text = "Failed to admit pod as the OS field doesn't match node OS"
        return Rejection(OS_REASON, text)
    if why := apparmor.why_not(pod, is_enabled=rules.has_app_armor):
        return Rejection(apparmor.REASON, why)
    if why := sysctls.why_not(pod, rules.sysctls):
        return Rejection(sysctls.FORBIDDEN, why)
    if rules.has_selinux and _asks_for_labels(pod):
        text = "Cannot set SELinux labels: this node gives containers none"
        return Rejection(SELINUX, text)
    if spec.resource_claims or any(each.resources.claims for each in spec.all_containers):
        return Rejection(
            UNSUPPORTED, "resource claims cannot be had: this node allocates no devices"
        )
    return None


def remarks(pod: Pod, rules: Rules) -> Iterator[str]:
    """What the pod says and might count on, though it has no effect here."""
    if not rules.has_selinux and _asks_for_labels(pod):
        yield "seLinuxOptions have no effect: SELinux is not enabled on the host"
    of_pod = pod.spec.security_context.windows_options
    if of_pod is not None or any(_windows_options(each) for each in pod.spec.all_containers):
        yield "windowsOptions have no effect: the node runs Linux"
    if any(_is_mapped(port) for each in pod.spec.all_containers for port in each.ports):
        yield (
            "hostIP, and a hostPort other than the containerPort, have no effect: containers "
            "listen on the addresses of the node themselves"
        )
    if pod.spec.resources.limits and len(pod.spec.containers) > 1:
        yield (
            "the limits of the pod as a whole are those of each of its containers: "
            "together they may use more"
        )
    if unlimited := sorted(_unlimited(pod)):
        yield f"limits of {', '.join(unlimited)} have no effect: this node does not enforce them"


def _is_mapped(port: ContainerPort) -> bool:
    return bool(port.host_ip) or port.host_port not in {0, port.container_port}


def _unlimited(pod: Pod) -> set[str]:
    limited = [pod.spec.resources, *(each.resources for each in pod.spec.all_containers)]
    names = {name for resources in limited for name in resources.limits}
    return {name for name in names if name.startswith(_HUGE_PAGES)}


def _asks_for_labels(pod: Pod) -> bool:
    containers = (each.security_context for each in pod.spec.all_containers)
    return pod.spec.security_context.se_linux_options is not None or any(
        each is not None and each.se_linux_options is not None for each in containers
    )


def _windows_options(container: Container) -> bool:
    own = container.security_context
    return own is not None and own.windows_options is not None
