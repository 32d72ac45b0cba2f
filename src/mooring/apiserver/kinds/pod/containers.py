"""The containers of a pod: regular, init and ephemeral ones."""

from collections.abc import Iterable, Mapping

from mooring.apiserver.kinds.pod.env import validate_env, validate_env_from
from mooring.apiserver.kinds.pod.mounts import validate_devices, validate_mounts
from mooring.apiserver.kinds.pod.probes import (
    PROBES,
    port_name,
    port_number,
    validate_lifecycle,
    validate_probes,
)
from mooring.apiserver.kinds.pod.security import validate_container_security
from mooring.apiserver.kinds.pod.volumes import PULL_POLICIES
from mooring.apiserver.kinds.resources import validate_not_negative
from mooring.model.document import Doc
from mooring.model.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from mooring.model.names import dns_label, qualified_name
from mooring.model.quantity import parse

_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESOURCES = frozenset(("cpu", "memory", "ephemeral-storage"))
_COMPUTING = frozenset(("cpu", "memory"))
_HUGE_PAGES = "hugepages-"
_NEVER_FOR_DEBUGGING = ("ports", "resources", *PROBES, "lifecycle")
_ONLY_FOR_SIDECARS = ("lifecycle", *PROBES)


def validate_containers(spec: Doc, volumes: Mapping[str, Doc]) -> Iterable[FieldError]:
    """Complaints about all containers of a pod; `volumes` are its well-formed ones, by name."""
    grace = spec.get("terminationGracePeriodSeconds", 0)
    containers = spec.get("containers")
    if not containers:
        yield required("spec.containers")
        containers = []
    names: set[str] = set()
    for index, container in enumerate(containers):
        path = f"spec.containers[{index}]"
        yield from _validate_common(container, volumes, path)
        yield from _validate_unique(container, names, path)
        yield from _validate_lifetime(container, grace, path)
    yield from _validate_host_ports(containers, "spec.containers")
    for index, container in enumerate(spec.get("initContainers", ())):
        path = f"spec.initContainers[{index}]"
        yield from _validate_common(container, volumes, path)
        yield from _validate_unique(container, names, path)
        yield from _validate_initial(container, grace, path)
    if debuggers := spec.get("ephemeralContainers"):
        yield from _validate_debuggers(debuggers, volumes, names)


def _validate_common(container: Doc, volumes: Mapping[str, Doc], path: str) -> Iterable[FieldError]:
    name = container.get("name", "")
    if not name:
        yield required(f"{path}.name")
    else:
        for problem in dns_label(name):
            yield invalid(f"{path}.name", name, problem)
    image = container.get("image", "")
    if not image:
        yield required(f"{path}.image")
    elif image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
    policy = container.get("terminationMessagePolicy", "File")
    if policy not in _MESSAGE_POLICIES:
        yield not_supported(f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    if "ports" in container:
        yield from _validate_ports(container["ports"], f"{path}.ports")
    if "env" in container:
        yield from validate_env(container["env"], f"{path}.env")
    if "envFrom" in container:
        yield from validate_env_from(container["envFrom"], f"{path}.envFrom")
    yield from validate_mounts(container, volumes, path)
    yield from validate_devices(container, volumes, path)
    pull = container.get("imagePullPolicy", "Always")
    if pull not in PULL_POLICIES:
        yield not_supported(f"{path}.imagePullPolicy", pull, PULL_POLICIES)
    if resources := container.get("resources"):
        yield from validate_requirements(resources, f"{path}.resources")
    if security := container.get("securityContext"):
        yield from validate_container_security(security, f"{path}.securityContext")


def _validate_unique(container: Doc, names: set[str], path: str) -> Iterable[FieldError]:
    name = container.get("name", "")
    if name in names:
        yield duplicate(f"{path}.name", name)
    elif name:
        names.add(name)


def _validate_lifetime(container: Doc, grace: int, path: str) -> Iterable[FieldError]:
    if "lifecycle" in container:
        yield from validate_lifecycle(container["lifecycle"], grace, f"{path}.lifecycle")
    yield from validate_probes(container, grace, path)
    policy = container.get("restartPolicy")
    if policy is not None and policy not in _RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)


def _validate_initial(container: Doc, grace: int, path: str) -> Iterable[FieldError]:
    """A container that runs first; one that is restarted stays on as a sidecar."""
    yield from _validate_host_ports([container], path.rpartition("[")[0])
    if container.get("restartPolicy") == "Always":
        yield from _validate_lifetime(container, grace, path)
        return
    for field in _ONLY_FOR_SIDECARS:
        if field in container:
            yield forbidden(
                f"{path}.{field}",
                "may not be set for init containers without restartPolicy=Always",
            )
    policy = container.get("restartPolicy")
    if policy is not None and policy not in _RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES)


def _validate_debuggers(
    debuggers: list[Doc], volumes: Mapping[str, Doc], others: set[str]
) -> Iterable[FieldError]:
    names = set(others)
    for index, container in enumerate(debuggers):
        path = f"spec.ephemeralContainers[{index}]"
        yield from _validate_common(container, volumes, path)
        yield from _validate_unique(container, names, path)
        if (target := container.get("targetContainerName")) and target not in others:
            yield not_found(f"{path}.targetContainerName", target)
        for field in _NEVER_FOR_DEBUGGING:
            if container.get(field):
                yield forbidden(f"{path}.{field}", "cannot be set for an Ephemeral Container")
        for position, mount in enumerate(container.get("volumeMounts", ())):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    yield forbidden(
                        f"{path}.volumeMounts[{position}].{field}",
                        "cannot be set for an Ephemeral Container",
                    )


def _validate_ports(ports: list[Doc], path: str) -> Iterable[FieldError]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        if name := port.get("name"):
            problems = list(port_name(name))
            for problem in problems:
                yield invalid(f"{at}.name", name, problem)
            if not problems and name in names:
                yield duplicate(f"{at}.name", name)
            names.add(name)
        if not port.get("containerPort"):
            yield required(f"{at}.containerPort")
        for field in ("containerPort", "hostPort"):
            if number := port.get(field):
                for problem in port_number(number):
                    yield invalid(f"{at}.{field}", number, problem)
        if (protocol := port.get("protocol", "")) not in _PROTOCOLS:
            yield not_supported(f"{at}.protocol", protocol, _PROTOCOLS)


def _validate_host_ports(containers: list[Doc], path: str) -> Iterable[FieldError]:
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports", ())):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in taken:
                yield duplicate(f"{path}[{index}].ports[{position}].hostPort", key)
            taken.add(key)


def validate_requirements(resources: Doc, path: str) -> Iterable[FieldError]:
    """Complaints about what a container asks for and may use at most."""
    limits: dict[str, str] = resources.get("limits", {})
    requests: dict[str, str] = resources.get("requests", {})
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            at = f"{path}.{field}[{name}]"
            yield from _validate_resource_name(name, at)
            yield from validate_not_negative(at, amount)
            if _is_counted(name) and parse(amount).value.denominator != 1:
                yield invalid(at, amount, "must be an integer")
    for name, amount in requests.items():
        if limit := limits.get(name):
            yield from _validate_within_limit(name, amount, limit, f"{path}.requests")
        elif not _may_overcommit(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    asked = {*limits, *requests}
    if any(name.startswith(_HUGE_PAGES) for name in asked) and not asked & _COMPUTING:
        yield forbidden(path, "HugePages require cpu or memory")


def _is_counted(name: str) -> bool:
    """Devices of vendors come in whole pieces."""
    return "/" in name and "kubernetes.io/" not in name


def _validate_resource_name(name: str, field: str) -> Iterable[FieldError]:
    if name in _RESOURCES or name.startswith(_HUGE_PAGES):
        return
    problems = list(qualified_name(name))
    for problem in problems:
        yield invalid(field, name, problem)
    if "/" not in name:
        if not problems:
            yield invalid(field, name, "must be a standard resource type or fully qualified")
        yield invalid(field, name, "must be a standard resource for containers")


def _validate_within_limit(name: str, amount: str, limit: str, field: str) -> Iterable[FieldError]:
    if amount == limit:
        return
    asked, most = parse(amount), parse(limit)
    if asked == most:
        return
    if not _may_overcommit(name):
        yield invalid(field, amount, f"must be equal to {name} limit of {limit}")
    elif asked > most:
        yield invalid(field, amount, f"must be less than or equal to {name} limit of {limit}")


def _may_overcommit(name: str) -> bool:
    """Whether more may be promised than there is: not of pages, and not of vendors' devices."""
    return name in _RESOURCES or "kubernetes.io/" in name
