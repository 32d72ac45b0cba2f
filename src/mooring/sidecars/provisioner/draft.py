"""The CreateVolume request for a claim, built without API or driver calls."""

from collections.abc import Mapping

import msgspec

from mooring.csi.capability import (
    Block,
    ControllerCapability,
    Mount,
    PluginService,
    VolumeCapability,
    single_mode,
)
from mooring.csi.requests import CreateVolume
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.csi.topology import TopologyRequirement
from mooring.csi.volume import CapacityRange, ContentSource
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import Claim
from mooring.model.reference import SecretReference
from mooring.model.storage_class import StorageClass
from mooring.model.storage_terms import VolumeMode
from mooring.model.wellknown import Parameter
from mooring.sidecars.driver import Abilities, Driver
from mooring.sidecars.provisioner import secret_templates
from mooring.sidecars.provisioner.options import ProvisionerOptions
from mooring.sidecars.provisioner.parameters import find_fs_type, for_driver
from mooring.sidecars.provisioner.secret_templates import Subject, find_secret
from mooring.sidecars.provisioner.sources import DataSource
from mooring.sidecars.provisioner.waiting_reason import WaitingReason

NAME_PREFIX = "pvc"


def volume_name(claim: Claim) -> str:
    """Of the volume that a claim gets; the same for as long as the claim lives."""
    return f"{NAME_PREFIX}-{claim.uid}"


class SecretReferences(msgspec.Struct, frozen=True):
    """The secrets that the new volume will speak of."""

    provisioner: SecretReference | None = None
    controller_publish: SecretReference | None = None
    node_stage: SecretReference | None = None
    node_publish: SecretReference | None = None
    controller_expand: SecretReference | None = None
    node_expand: SecretReference | None = None
    controller_modify: SecretReference | None = None


class Draft(msgspec.Struct, frozen=True):
    """All that can be known of a volume before its driver is asked."""

    claim: Claim
    storage_class: StorageClass
    request: CreateVolume
    references: SecretReferences
    fs_type: str

    def completed(
        self,
        *,
        secrets: Secrets = NO_SECRETS,
        topology: TopologyRequirement | None = None,
        source: ContentSource | None = None,
        attributes: AttributesClass | None = None,
    ) -> "Draft":
        """With what had to be looked up."""
        request = msgspec.structs.replace(
            self.request,
            secrets=secrets,
            topology=topology,
            source=source,
            mutable_parameters=attributes.parameters if attributes else {},
        )
        return msgspec.structs.replace(self, request=request)


def check_abilities(abilities: Abilities, claim: Claim, source: DataSource | None) -> None:
    """Raises: WaitingReason for what the driver cannot do."""
    if PluginService.CONTROLLER_SERVICE not in abilities.services:
        raise WaitingReason(
            "CSI driver does not support dynamic provisioning:"
            " plugin CONTROLLER_SERVICE capability is not reported"
        )
    needed = [(ControllerCapability.CREATE_DELETE_VOLUME, "dynamic provisioning")]
    if source is not None and source.needs is not None:
        needed.append(source.needs)
    if claim.spec.volume_attributes_class_name:
        needed.append((ControllerCapability.MODIFY_VOLUME, "VolumeAttributesClass"))
    for capability, what in needed:
        if not abilities.can(capability):
            raise WaitingReason(
                f"CSI driver does not support {what}:"
                f" controller {capability.name} capability is not reported"
            )


def draft(
    claim: Claim, storage_class: StorageClass, driver: Driver, options: ProvisionerOptions
) -> Draft:
    """Raises: WaitingReason."""
    if claim.spec.selector is not None:
        raise WaitingReason("claim Selector is not supported")
    parameters = storage_class.parameters
    fs_type = find_fs_type(parameters, options.default_fs_type)
    name = volume_name(claim)
    references = _references(claim, name, parameters)
    sent = for_driver(parameters)
    if options.extra_create_metadata:
        sent |= {
            Parameter.CLAIM_NAME: claim.name,
            Parameter.CLAIM_NAMESPACE: claim.namespace,
            Parameter.VOLUME_NAME: name,
        }
    request = CreateVolume(
        name=name,
        capabilities=_capabilities(claim, storage_class, driver.abilities, fs_type),
        capacity=CapacityRange(required_bytes=claim.requested.bytes_ceil()),
        parameters=sent,
    )
    return Draft(claim, storage_class, request, references, fs_type)


def check_attributes(attributes: AttributesClass, driver: str) -> None:
    """Raises: WaitingReason for a class of another driver."""
    if attributes.driver_name != driver:
        raise WaitingReason(
            f"VAC {attributes.name} referenced in PVC is for driver {attributes.driver_name}"
            f" which does not match driver name {driver}"
        )


def _capabilities(
    claim: Claim, storage_class: StorageClass, abilities: Abilities, fs_type: str
) -> tuple[VolumeCapability, ...]:
    """One for each mode of the claim, each by itself."""
    access: Mount | Block = Mount(fs_type, storage_class.mount_options)
    if claim.spec.volume_mode is VolumeMode.BLOCK:
        access = Block()
    modes = (single_mode(mode, abilities.writers) for mode in claim.spec.access_modes)
    return tuple(VolumeCapability(access, mode) for mode in modes)


def _references(claim: Claim, name: str, parameters: Mapping[str, str]) -> SecretReferences:
    subject = Subject(name, claim.namespace, claim.name, claim.metadata.annotations)
    kinds = (
        secret_templates.PROVISIONER,
        secret_templates.CONTROLLER_PUBLISH,
        secret_templates.NODE_STAGE,
        secret_templates.NODE_PUBLISH,
        secret_templates.CONTROLLER_EXPAND,
        secret_templates.NODE_EXPAND,
        secret_templates.CONTROLLER_MODIFY,
    )
    return SecretReferences(*(find_secret(kind, parameters, subject) for kind in kinds))
