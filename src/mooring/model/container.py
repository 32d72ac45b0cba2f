"""Containers in a pod's spec: command, environment, security context, probes, resources."""

from collections.abc import Mapping

import msgspec

from mooring.model.pod_volume import FieldRef, ResourceRef, VolumeDevice, VolumeMount
from mooring.model.wire import Wire

KEEPS_RUNNING = "Always"  # the restart policy that makes an init container a sidecar


class SeLinuxOptions(Wire, frozen=True):
    user: str = ""
    role: str = ""
    type: str = ""
    level: str = ""


class ProfileRef(Wire, frozen=True):
    """A profile of seccomp or AppArmor: `RuntimeDefault`, `Unconfined`, or `Localhost` by name."""

    type: str = ""
    localhost_profile: str | None = None


class WindowsOptions(Wire, frozen=True):
    """Options that only a Windows node supports."""

    gmsa_credential_spec_name: str | None = None
    gmsa_credential_spec: str | None = None
    run_as_user_name: str | None = None
    host_process: bool | None = None


class Capabilities(Wire, frozen=True):
    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class ContainerSecurity(Wire, frozen=True):
    privileged: bool | None = None
    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    read_only_root_filesystem: bool | None = None
    allow_privilege_escalation: bool | None = None
    capabilities: Capabilities = Capabilities()
    proc_mount: str | None = None
    seccomp_profile: ProfileRef | None = None
    app_armor_profile: ProfileRef | None = None
    se_linux_options: SeLinuxOptions | None = None
    windows_options: WindowsOptions | None = None


class ClaimedDevice(Wire, frozen=True):
    """A resource claim of the pod that a container uses."""

    name: str


class ComputeResources(Wire, frozen=True):
    """The guaranteed (`requests`) and maximal (`limits`) amounts, by resource."""

    requests: Mapping[str, str] = msgspec.field(default_factory=dict)
    limits: Mapping[str, str] = msgspec.field(default_factory=dict)
    claims: tuple[ClaimedDevice, ...] = ()


NO_RESOURCES = ComputeResources()


class KeyRef(Wire, frozen=True):
    """One entry of a secret or config map."""

    key: str
    name: str = ""
    optional: bool | None = None


class FileKeyRef(Wire, frozen=True):
    """One entry of a file in a volume."""

    key: str
    volume_name: str = ""
    path: str = ""


class ValueSource(Wire, frozen=True):
    field_ref: FieldRef | None = None
    resource_field_ref: ResourceRef | None = None
    config_map_key_ref: KeyRef | None = None
    secret_key_ref: KeyRef | None = None
    file_key_ref: FileKeyRef | None = None


class Variable(Wire, frozen=True):
    name: str
    value: str = ""
    value_from: ValueSource | None = None


class SourceRef(Wire, frozen=True):
    """A whole secret or config map."""

    name: str = ""
    optional: bool | None = None


class VariablesFrom(Wire, frozen=True):
    prefix: str = ""
    config_map_ref: SourceRef | None = None
    secret_ref: SourceRef | None = None


class ExecAction(Wire, frozen=True):
    command: tuple[str, ...] = ()


class HttpHeader(Wire, frozen=True):
    name: str
    value: str = ""


class HttpGetAction(Wire, frozen=True):
    port: int | str
    path: str = ""
    host: str = ""
    scheme: str = "HTTP"
    http_headers: tuple[HttpHeader, ...] = ()


class TcpAction(Wire, frozen=True):
    port: int | str
    host: str = ""


class GrpcAction(Wire, frozen=True):
    port: int
    service: str | None = None


class SleepAction(Wire, frozen=True):
    seconds: int


class Probe(Wire, frozen=True):
    exec: ExecAction | None = None
    http_get: HttpGetAction | None = None
    tcp_socket: TcpAction | None = None
    grpc: GrpcAction | None = None
    initial_delay_seconds: int = 0
    timeout_seconds: int = 1
    period_seconds: int = 10
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None


class Handler(Wire, frozen=True):
    exec: ExecAction | None = None
    http_get: HttpGetAction | None = None
    tcp_socket: TcpAction | None = None
    sleep: SleepAction | None = None


class Lifecycle(Wire, frozen=True):
    post_start: Handler | None = None
    pre_stop: Handler | None = None
    stop_signal: str | None = None


class ExitCodes(Wire, frozen=True):
    operator: str = ""
    values: tuple[int, ...] = ()


class RestartRule(Wire, frozen=True):
    action: str = ""
    exit_codes: ExitCodes | None = None


class ContainerPort(Wire, frozen=True):
    container_port: int
    name: str = ""
    host_port: int = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"


class Container(Wire, frozen=True):
    name: str
    image: str = ""
    image_pull_policy: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[Variable, ...] = ()
    env_from: tuple[VariablesFrom, ...] = ()
    ports: tuple[ContainerPort, ...] = ()
    resources: ComputeResources = NO_RESOURCES
    restart_policy: str = ""  # of init containers: `Always` makes one a sidecar
    restart_policy_rules: tuple[RestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    volume_devices: tuple[VolumeDevice, ...] = ()
    security_context: ContainerSecurity | None = None
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle = Lifecycle()
    termination_message_path: str = ""
    termination_message_policy: str = ""
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    target_container_name: str = ""  # of an ephemeral container: the one whose processes it sees

    @property
    def is_sidecar(self) -> bool:
        """Whether this init container keeps running beside the containers after it."""
        return self.restart_policy == KEEPS_RUNNING
