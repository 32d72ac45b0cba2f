"""A claim and its volume in any state of growth or change."""

from typing import Any

from msgspec.structs import replace

from mooring.csi.capability import ControllerCapability, PluginService
from mooring.model.attributes_class import AttributesClass
from mooring.model.claim import (
    Claim,
    ClaimPhase,
    ClaimResources,
    ClaimSpec,
    ClaimStatus,
    ModifyStatus,
)
from mooring.model.condition import Condition
from mooring.model.meta import ObjectMeta
from mooring.model.reference import ClaimRef
from mooring.model.storage_terms import AccessMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_source import CsiSource
from mooring.model.wellknown import Annotation
from mooring.sidecars.driver import Abilities
from mooring.sidecars.resizer.view import ClaimView

DRIVER = "d.example.com"
THEN = "2026-01-02T03:04:05Z"
ABLE = Abilities(
    frozenset({PluginService.CONTROLLER_SERVICE}),
    frozenset({ControllerCapability.EXPAND_VOLUME, ControllerCapability.MODIFY_VOLUME}),
)
NODE_ONLY = Abilities(frozenset({PluginService.CONTROLLER_SERVICE}), node_expands=True)


def a_view(claim: Claim, volume: Volume | None, **more: Any) -> ClaimView:
    return ClaimView(**{"driver": DRIVER, "abilities": ABLE, **more}, claim=claim, volume=volume)


def a_claim(
    asks: str = "2Gi",
    has: str = "1Gi",
    *,
    allocated: str = "",
    at: str = "",
    conditions: tuple[Condition, ...] = (),
) -> Claim:
    status = ClaimStatus(
        phase=ClaimPhase.BOUND,
        capacity={"storage": has},
        allocated_resources={"storage": allocated} if allocated else {},
        allocated_resource_statuses={"storage": at} if at else {},
        conditions=conditions,
    )
    return Claim(
        metadata=ObjectMeta(name="data", namespace="default", uid="u1"),
        spec=ClaimSpec(
            access_modes=(AccessMode.ONCE,),
            volume_name="pv1",
            resources=ClaimResources(requests={"storage": asks}),
        ),
        status=status,
    )


def a_volume(size: str = "1Gi", *, before: str = "", uid: str = "u1") -> Volume:
    notes = {Annotation.PRE_RESIZE_CAPACITY: before} if before else {}
    return Volume(
        metadata=ObjectMeta(name="pv1", annotations=notes),
        spec=VolumeSpec(
            capacity={"storage": size},
            access_modes=(AccessMode.ONCE,),
            claim_ref=ClaimRef(namespace="default", name="data", uid=uid),
            csi=CsiSource(DRIVER, "h1"),
        ),
    )


def told(kind: str, reason: str = "", at: str = THEN) -> Condition:
    return Condition(kind, "True", reason, last_transition_time=at, last_probe_time=at)


def with_class(claim: Claim, wanted: str, current: str, state: str = "", target: str = "") -> Claim:
    spec = replace(claim.spec, volume_attributes_class_name=wanted or None)
    status = replace(
        claim.status,
        current_volume_attributes_class_name=current or None,
        modify_volume_status=ModifyStatus(state, target) if state else None,
    )
    return replace(claim, spec=spec, status=status)


def a_class(name: str, driver: str = DRIVER) -> AttributesClass:
    return AttributesClass(
        metadata=ObjectMeta(name=name, uid=f"uid-{name}"),
        driver_name=driver,
        parameters={"tier": name},
    )
