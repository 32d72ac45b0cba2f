"""Is this a pod that can run? The spec as a whole; its parts are in the files beside this one."""

from collections.abc import Iterable
from ipaddress import ip_address

from mooring.apiserver.kinds.pod.containers import validate_containers, validate_requirements
from mooring.apiserver.kinds.pod.isolation import validate_isolation
from mooring.apiserver.kinds.pod.scheduling import validate_scheduling
from mooring.apiserver.kinds.pod.security import validate_pod_security
from mooring.apiserver.kinds.pod.volumes import validate_volumes
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required
from mooring.model.names import dns_label, dns_subdomain, qualified_name

MOST_SECONDS = 2**31 - 1

_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_SYSTEMS = ("linux", "windows")
_MOST_NAMESERVERS = 3
_NAMES = {
    "serviceAccountName": dns_subdomain,
    "hostname": dns_label,
    "subdomain": dns_label,
    "priorityClassName": dns_subdomain,
    "runtimeClassName": dns_subdomain,
}
ADDRESS_TEXT = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


_MIRROR = "kubernetes.io/config.mirror"


def _validate_annotations(annotations: Doc, spec: Doc) -> Iterable[FieldError]:
    if _MIRROR in annotations and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"metadata.annotations[{_MIRROR}]", annotations[_MIRROR], why)


def validate_pod(doc: Doc) -> Iterable[FieldError]:
    spec = doc.get("spec", {})
    pod_name = doc.get("metadata", {}).get("name", "")
    yield from _validate_annotations(doc.get("metadata", {}).get("annotations") or {}, spec)
    volumes, errors = validate_volumes(spec.get("volumes", []), pod_name, "spec.volumes")
    yield from errors
    yield from validate_containers(spec, volumes)
    is_new = "resourceVersion" not in doc.get("metadata", {})
    if is_new and spec.get("ephemeralContainers"):  # they join a running pod, by their own path
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    yield from _validate_policies(spec)
    if security := spec.get("securityContext"):
        yield from validate_pod_security(security, "spec.securityContext")
    yield from validate_scheduling(spec)
    yield from _validate_names(spec)
    yield from _validate_network(spec)
    yield from _validate_seconds(spec)
    if resources := spec.get("resources"):
        yield from validate_requirements(resources, "spec.resources")
    for index, gate in enumerate(spec.get("readinessGates", ())):
        condition = gate.get("conditionType", "")
        for problem in qualified_name(condition):
            yield invalid(f"spec.readinessGates[{index}].conditionType", condition, problem)
    if not spec.get("serviceAccountName"):
        yield from _validate_no_tokens(spec)
    if is_new:
        yield from validate_isolation(doc)


def _validate_policies(spec: Doc) -> Iterable[FieldError]:
    restart, dns = spec.get("restartPolicy", ""), spec.get("dnsPolicy", "")
    if restart not in _RESTART_POLICIES:
        yield not_supported("spec.restartPolicy", restart, _RESTART_POLICIES)
    if dns not in _DNS_POLICIES:
        yield not_supported("spec.dnsPolicy", dns, _DNS_POLICIES)
    preemption = spec.get("preemptionPolicy")
    if preemption is not None and preemption not in _PREEMPTION_POLICIES:
        yield not_supported("spec.preemptionPolicy", preemption, _PREEMPTION_POLICIES)
    if (system := spec.get("os")) is not None:
        if not system.get("name"):
            yield required("spec.os.name")
        elif system["name"] not in _SYSTEMS:
            yield not_supported("spec.os", system["name"], _SYSTEMS)


def _validate_names(spec: Doc) -> Iterable[FieldError]:
    for field, rule in _NAMES.items():
        if name := spec.get(field):
            for problem in rule(name):
                yield invalid(f"spec.{field}", name, problem)


def _validate_network(spec: Doc) -> Iterable[FieldError]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required("spec.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")
        elif not config.get("nameservers"):
            yield required(
                "spec.dnsConfig.nameservers",
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            )
    if config:
        yield from _validate_nameservers(config.get("nameservers", []))
    for index, alias in enumerate(spec.get("hostAliases", ())):
        at = f"spec.hostAliases[{index}]"
        if not is_address(alias.get("ip", "")):
            yield invalid(f"{at}.ip", alias.get("ip", ""), ADDRESS_TEXT)
        for position, hostname in enumerate(alias.get("hostnames", ())):
            for problem in dns_subdomain(hostname):
                yield invalid(f"{at}.hostnames[{position}]", hostname, problem)
    if spec.get("hostNetwork"):
        yield from _validate_host_ports(spec)


def _validate_nameservers(servers: list[str]) -> Iterable[FieldError]:
    path = "spec.dnsConfig.nameservers"
    if len(servers) > _MOST_NAMESERVERS:
        yield invalid(path, servers, f"must not have more than {_MOST_NAMESERVERS} nameservers")
    for index, server in enumerate(servers):
        if not is_address(server):
            yield invalid(f"{path}[{index}]", server, ADDRESS_TEXT)


def is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _validate_host_ports(spec: Doc) -> Iterable[FieldError]:
    """None at all is for a template: its pods get theirs when they are created."""
    for index, container in enumerate(spec.get("containers", ())):
        for position, port in enumerate(container.get("ports", ())):
            host_port = port.get("hostPort", 0)
            if host_port and host_port != port.get("containerPort"):
                yield invalid(
                    f"spec.containers[{index}].ports[{position}].hostPort",
                    host_port,
                    "must match `containerPort` when `hostNetwork` is true",
                )


def _validate_seconds(spec: Doc) -> Iterable[FieldError]:
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MOST_SECONDS:
        yield invalid(
            "spec.activeDeadlineSeconds",
            deadline,
            f"must be between 1 and {MOST_SECONDS}, inclusive",
        )
    if (grace := spec.get("terminationGracePeriodSeconds", 0)) < 0:
        yield invalid(
            "spec.terminationGracePeriodSeconds", grace, "must be greater than or equal to 0"
        )


def _validate_no_tokens(spec: Doc) -> Iterable[FieldError]:
    """A pod without a service account cannot have projected tokens."""
    for index, volume in enumerate(spec.get("volumes", ())):
        for position, source in enumerate(volume.get("projected", {}).get("sources", ())):
            if "serviceAccountToken" in source:
                yield forbidden(
                    f"spec.volumes[{index}].projected.sources[{position}].serviceAccountToken",
                    "must not be specified when serviceAccountName is not set",
                )
