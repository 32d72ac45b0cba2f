"""Pod: containers that run together on one node; the fields that Mooring uses."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import msgspec

from mooring.model.condition import Condition
from mooring.model.container import (
    NO_RESOURCES,
    ComputeResources,
    Container,
    ProfileRef,
    SeLinuxOptions,
    WindowsOptions,
)
from mooring.model.container_status import ContainerStatus
from mooring.model.health import PodVolumeHealth
from mooring.model.keys import Key
from mooring.model.meta import ApiObject, Resource
from mooring.model.node_selector import NodeSelector, NodeSelectorTerm
from mooring.model.pod_affinity import PodAffinityRules, SpreadConstraint
from mooring.model.pod_volume import PodVolume
from mooring.model.reference import LocalObjectReference
from mooring.model.taint import Toleration
from mooring.model.wire import Wire, Word


class PodPhase(Word):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class Sysctl(Wire, frozen=True):
    """A kernel parameter, set for this pod only."""

    name: str
    value: str = ""


class PodSecurity(Wire, frozen=True):
    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    supplemental_groups: tuple[int, ...] = ()
    supplemental_groups_policy: str | None = None
    fs_group: int | None = None
    fs_group_change_policy: str | None = None
    se_linux_options: SeLinuxOptions | None = None
    se_linux_change_policy: str | None = None
    sysctls: tuple[Sysctl, ...] = ()
    seccomp_profile: ProfileRef | None = None
    app_armor_profile: ProfileRef | None = None
    windows_options: WindowsOptions | None = None


class PreferredTerm(Wire, frozen=True):
    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(Wire, frozen=True):
    required: NodeSelector | None = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )
    preferred: tuple[PreferredTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(Wire, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinityRules | None = None
    pod_anti_affinity: PodAffinityRules | None = None


class SchedulingGate(Wire, frozen=True):
    name: str


class ReadinessGate(Wire, frozen=True):
    condition_type: str


class DnsOption(Wire, frozen=True):
    name: str = ""
    value: str | None = None


class DnsConfig(Wire, frozen=True):
    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[DnsOption, ...] = ()


class PodResourceClaim(Wire, frozen=True):
    name: str


class PodSystem(Wire, frozen=True):
    name: str = ""


class HostAlias(Wire, frozen=True):
    ip: str
    hostnames: tuple[str, ...] = ()


class PodSpec(Wire, frozen=True):
    volumes: tuple[PodVolume, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[Container, ...] = ()
    node_name: str = ""
    node_selector: Mapping[str, str] = msgspec.field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[SpreadConstraint, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduler_name: str = ""
    priority: int = 0
    preemption_policy: str = ""
    resources: ComputeResources = NO_RESOURCES  # of the pod as a whole
    overhead: Mapping[str, str] = msgspec.field(default_factory=dict)
    service_account_name: str = ""
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    hostname: str | None = None
    subdomain: str | None = None
    set_hostname_as_fqdn: bool | None = msgspec.field(name="setHostnameAsFQDN", default=None)
    hostname_override: str | None = None
    host_aliases: tuple[HostAlias, ...] = ()
    dns_policy: str = ""
    dns_config: DnsConfig | None = None
    host_network: bool = False
    host_pid: bool = msgspec.field(name="hostPID", default=False)
    host_ipc: bool = msgspec.field(name="hostIPC", default=False)
    share_process_namespace: bool | None = None
    enable_service_links: bool | None = None
    readiness_gates: tuple[ReadinessGate, ...] = ()
    security_context: PodSecurity = PodSecurity()
    host_users: bool | None = None
    os: PodSystem | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()

    @property
    def has_user_namespace(self) -> bool:
        """Whether the pod runs in a user namespace of its own (`hostUsers: false`)."""
        return self.host_users is False

    @property
    def all_containers(self) -> tuple[Container, ...]:
        return (*self.init_containers, *self.containers, *self.ephemeral_containers)


class PodStatus(Wire, frozen=True):
    phase: PodPhase = PodPhase.PENDING
    conditions: tuple[Condition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    qos_class: str = ""
    start_time: str | None = None
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    pod_ip: str = msgspec.field(name="podIP", default="")
    host_ip: str = msgspec.field(name="hostIP", default="")
    observed_generation: int = 0
    volume_health: tuple[PodVolumeHealth, ...] = ()

    @property
    def all_containers(self) -> tuple[ContainerStatus, ...]:
        return (
            *self.init_container_statuses,
            *self.container_statuses,
            *self.ephemeral_container_statuses,
        )


class Pod(ApiObject, frozen=True):
    resource: ClassVar = Resource("", "v1", "Pod", "pods", namespaced=True)

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_scheduled(self) -> bool:
        return bool(self.spec.node_name)

    @property
    def is_finished(self) -> bool:
        """Its phase is final; the node may still have its mounts."""
        return self.status.phase in {PodPhase.SUCCEEDED, PodPhase.FAILED}

    @property
    def is_terminated(self) -> bool:
        """None of its containers runs or will run."""
        if self.is_finished:
            return True
        states = (container.state for container in self.status.all_containers)
        may_run = (state.waiting is None and state.terminated is None for state in states)
        return self.is_deleting and not any(may_run)

    def find_claim_name(self, volume: PodVolume) -> str | None:
        """The claim of a volume of this pod: named in it, or made for an ephemeral volume."""
        if volume.persistent_volume_claim is not None:
            return volume.persistent_volume_claim.claim_name
        if volume.ephemeral is not None:
            return f"{self.name}-{volume.name}"
        return None

    def shared_claim_names(self) -> Iterator[str]:
        """The claims that it names, which other pods may use too; not those made for it."""
        for volume in self.spec.volumes:
            if volume.persistent_volume_claim is not None:
                yield volume.persistent_volume_claim.claim_name

    def claim_keys(self) -> list[Key]:
        """All claims that it uses: those it names, and those made for its ephemeral volumes."""
        return [Key(self.namespace, name) for name in self.claim_names()]

    def claim_names(self) -> Iterator[str]:
        for volume in self.spec.volumes:
            if (name := self.find_claim_name(volume)) is not None:
                yield name
