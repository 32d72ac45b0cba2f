"""Volumes on nodes, as `decide` sees them."""

from typing import Any

from msgspec.structs import replace

from mooring.controllers.attachment.actual import BLANK, Memory, VolumeOnNode
from mooring.controllers.attachment.resolve import AttachableVolume
from mooring.controllers.attachment.view import Departure, Policy, VolumeOnNodeView, VolumeView
from mooring.model.attachment import (
    Attachment,
    AttachmentError,
    AttachmentMeta,
    AttachmentSpec,
    AttachmentStatus,
)
from mooring.model.condition import Condition
from mooring.model.meta import ObjectMeta
from mooring.model.node import Node, NodeSpec, NodeStatus
from mooring.model.pod import Pod
from mooring.model.taint import Taint
from mooring.model.wellknown import Annotation, TaintKey
from mooring.plugins.csi.attachment_name import CsiName, attachment_name
from tests.fakes.clock import START

CSI = CsiName("d.example.com", "h1")
EXCLUSIVE = AttachableVolume(CSI, "pv1", is_exclusive=True)
SHARED = AttachableVolume(CSI, "pv1", is_exclusive=False)
NOW = 1000.0


def a_pod(name: str, namespace: str = "ns", created: str = "") -> Pod:
    metadata = ObjectMeta(name=name, namespace=namespace, uid=f"uid-{name}")
    return Pod(metadata=replace(metadata, creation_timestamp=created or None))


def a_node(
    name: str = "n1",
    *,
    in_use: bool = False,
    ready: bool = True,
    out_of_service: bool = False,
    managed: bool = True,
) -> Node:
    notes = {Annotation.CONTROLLER_ATTACHES: "true"} if managed else {}
    taints = (Taint(TaintKey.OUT_OF_SERVICE),) if out_of_service else ()
    return Node(
        metadata=ObjectMeta(name=name, annotations=notes),
        spec=NodeSpec(taints=taints),
        status=NodeStatus(
            conditions=(Condition("Ready", "True" if ready else "False"),),
            volumes_in_use=(CSI.unique,) if in_use else (),
        ),
    )


def an_attachment(
    node: str = "n1",
    *,
    attached: bool = False,
    deleting: bool = False,
    attach_error: str = "",
    detach_error: str = "",
) -> Attachment:
    metadata = AttachmentMeta(
        name=attachment_name(CSI.handle, CSI.driver, node),
        deletion_timestamp="2026-01-02T03:04:05Z" if deleting else None,
    )
    status = AttachmentStatus(
        attached=attached,
        attach_error=AttachmentError(message=attach_error) if attach_error else None,
        detach_error=AttachmentError(message=detach_error) if detach_error else None,
    )
    return Attachment(metadata=metadata, spec=AttachmentSpec(CSI.driver, node), status=status)


def a_place(
    node: str = "n1",
    attachment: Attachment | None = None,
    *pods: Pod,
    on: Node | None = None,
    gone: bool = False,
    read: bool = False,
    reported: bool = False,
    memory: Memory = BLANK,
    foreign: bool = False,
    departure: Departure | None = None,
) -> VolumeOnNodeView:
    there = None if gone else on or a_node(node)
    return VolumeOnNodeView(
        VolumeOnNode(CSI.unique, node),
        there,
        read,
        attachment,
        reported,
        pods,
        memory,
        is_managed=there is not None and there.leaves_attaching_to_controller,
        is_ours=not foreign,
        departure=departure,
    )


def a_view(
    *on_nodes: VolumeOnNodeView, volume: AttachableVolume | None = EXCLUSIVE, **policy: Any
) -> VolumeView:
    return VolumeView(
        CSI.unique,
        CSI,
        volume,
        None,
        on_nodes,
        NOW,
        START,
        Policy(**policy) if policy else Policy(),
    )
