"""What is to be done about an attachment, and about a volume that is going.

Always true of a plan:
- An attachment of another driver or node, or one that is as asked for and not doubted, is left
  alone; and so is a volume of another node.
- A driver that does not attach is asked nothing.
- `Attach` is the last step. Before it, volume and attachment have our finalizer, and the attachment
  has on record what is attached where: enough to undo it when volume and node are gone.
- A record of another node or volume is replaced only after `DetachFormer` has undone it.
- `Detach` is of an attachment that is being deleted and has our finalizer, as on record.
- With `AttachFails` or `DetachFails`, which are last, the driver is asked nothing.
- A volume loses our finalizer when it is being deleted and no attachment names it.
"""

from collections.abc import Mapping

from mooring.csi.capability import (
    Block,
    ControllerCapability,
    Mount,
    UnsupportedModes,
    VolumeCapability,
    combined_mode,
)
from mooring.csi.requests import AttachVolume
from mooring.errors import MooringError
from mooring.model.csi_translation.translate import translate
from mooring.model.reference import SecretReference
from mooring.model.steps import plan
from mooring.model.storage_terms import VolumeMode
from mooring.model.volume import VolumeSpec
from mooring.model.volume_source import CsiSource
from mooring.model.wellknown import Annotation
from mooring.sidecars.attacher.plan import (
    Attach,
    AttachFails,
    Detach,
    DetachFails,
    DetachFormer,
    MarkAttached,
    Plan,
    Protect,
    Record,
    Step,
    Unprotect,
    finalizer_of,
)
from mooring.sidecars.attacher.view import AttachmentView, VolumeView
from mooring.sidecars.finalizers import has_finalizer


class _Impossible(MooringError):
    """The request cannot be put together; the text goes into the status."""


def decide_attachment(view: AttachmentView) -> Plan:
    attachment = view.attachment
    if attachment.spec.attacher != view.driver:
        return plan("it is another's")
    if not view.is_here:
        return plan("it is another node's")
    if not view.abilities.attaches:
        if attachment.is_attached or attachment.is_deleting:
            return plan("there is nothing to detach")
        return plan("there is nothing to attach", MarkAttached(attachment))
    if attachment.is_deleting:
        return _decide_detach(view)
    if attachment.is_attached and not view.is_doubted:
        return plan("it is attached")
    return _decide_attach(view)


def decide_volume(view: VolumeView) -> Plan:
    """A volume's object may go when nothing attaches it."""
    volume = view.volume
    if not volume.is_deleting or not has_finalizer(volume, finalizer_of(view.driver)):
        return plan("it is not held by us, or stays")
    if not view.is_here:
        return plan("it is another node's")
    if view.is_attached:
        return plan("it is attached somewhere")
    return plan("it is attached nowhere", Unprotect(volume))


def _decide_attach(view: AttachmentView) -> Plan:
    attachment, volume = view.attachment, view.volume
    steps: list[Step] = []
    try:
        spec = _spec_of(view)
        if volume is not None:
            if volume.is_deleting:
                raise _Impossible(f'PersistentVolume "{volume.name}" is marked for deletion')
            if not has_finalizer(volume, finalizer_of(view.driver)):
                steps.append(Protect(volume))
        source = _source_of(spec)
        request = _request(view, spec, source)
    except (_Impossible, UnsupportedModes) as error:
        return plan(str(error), *steps, AttachFails(attachment, str(error)))
    notes = {
        Annotation.NODE_ID_AT_ATTACH: request.node_id,
        Annotation.HANDLE_AT_ATTACH: request.volume_id,
    }
    has = attachment.metadata.annotations
    is_held = has_finalizer(attachment, finalizer_of(view.driver))
    if is_held and _is_known_otherwise(has, notes):
        # It may be attached as recorded: a changed record would leave that attachment behind.
        handle = has.get(Annotation.HANDLE_AT_ATTACH, request.volume_id)
        former = has.get(Annotation.NODE_ID_AT_ATTACH, request.node_id)
        is_same = handle == source.volume_handle
        secret = source.controller_publish_secret_ref if is_same else None
        steps.append(DetachFormer(attachment, handle, former, request.node_id, secret))
    if not is_held or any(has.get(key) != value for key, value in notes.items()):
        steps.append(Record(attachment, notes))
    attach = Attach(attachment, request, source.controller_publish_secret_ref)
    because = "the driver does not list it" if view.is_doubted else "it is asked for"
    return plan(because, *steps, attach)


def _decide_detach(view: AttachmentView) -> Plan:
    attachment = view.attachment
    if not has_finalizer(attachment, finalizer_of(view.driver)):
        return plan("it was detached, or never attached")
    notes = attachment.metadata.annotations
    handle = notes.get(Annotation.HANDLE_AT_ATTACH, "")
    secret: SecretReference | None = None
    try:
        source = _source_of(_spec_of(view))
    except _Impossible as error:
        if not handle:
            return plan(str(error), DetachFails(attachment, str(error)))
    else:
        handle = handle or source.volume_handle
        if handle == source.volume_handle:  # else the volume is lost; the record is not
            secret = source.controller_publish_secret_ref
    node_id = notes.get(Annotation.NODE_ID_AT_ATTACH) or find_node_id(view)
    if not node_id:
        missing = _no_node_id(view)
        return plan(missing, DetachFails(attachment, missing))
    return plan("it is deleted", Detach(attachment, handle, node_id, secret))


def _is_known_otherwise(has: Mapping[str, str], notes: Mapping[str, str]) -> bool:
    """Whether the record names another volume or another node."""
    return any(has.get(key, value) != value for key, value in notes.items())


def _spec_of(view: AttachmentView) -> VolumeSpec:
    """The volume's, in CSI terms. Raises: _Impossible."""
    source, volume = view.attachment.spec.source, view.volume
    name, inline = source.persistent_volume_name, source.inline_volume_spec
    if name is not None and inline is not None:
        raise _Impossible(
            "both InlineCSIVolumeSource and PersistentVolumeName specified in VA source"
        )
    if inline is not None:
        if inline.csi is None:
            raise _Impossible("inline volume spec contains nil CSI source")
        return inline
    if name is None:
        raise _Impossible(
            "neither InlineCSIVolumeSource nor PersistentVolumeName specified in VA source"
        )
    if volume is None:
        raise _Impossible(f'persistentvolume "{name}" not found')
    translated = translate(volume)
    return volume.spec if translated is None else translated.spec


def _source_of(spec: VolumeSpec) -> CsiSource:
    if spec.csi is None:
        raise _Impossible("pv spec contained non-csi source that was not migrated")
    if not spec.csi.volume_handle:
        raise _Impossible("empty volume handle in csi source")
    return spec.csi


def _request(view: AttachmentView, spec: VolumeSpec, source: CsiSource) -> AttachVolume:
    """Raises: _Impossible, UnsupportedModes."""
    if not spec.access_modes:
        raise _Impossible("access mode is not set")
    mode = combined_mode(spec.access_modes, view.abilities.writers)
    access: Mount | Block = Mount(source.fs_type or view.default_fs_type, spec.mount_options)
    if spec.volume_mode is VolumeMode.BLOCK:
        access = Block()
    node_id = find_node_id(view)
    if not node_id:
        raise _Impossible(_no_node_id(view))
    tells_readonly = view.abilities.can(ControllerCapability.PUBLISH_READONLY)
    return AttachVolume(
        volume_id=source.volume_handle,
        node_id=node_id,
        capability=VolumeCapability(access, mode),
        readonly=source.read_only and tells_readonly,
        volume_context=source.volume_attributes,
    )


def find_node_id(view: AttachmentView) -> str:
    """How the driver calls the node, by the node's own word; empty: it does not say."""
    entry = view.csi_node.find_driver(view.driver) if view.csi_node else None
    return entry.node_id if entry else ""


def _no_node_id(view: AttachmentView) -> str:
    node = view.attachment.spec.node_name
    if view.csi_node is None:
        return f'csinode.storage.k8s.io "{node}" not found'
    return f"CSINode {node} does not contain driver {view.driver}"
