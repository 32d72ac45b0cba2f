"""What to do next about one volume: unmount from pods, then mount, then unmount the device, detach.

Each pass starts what can start now; the end of an operation is another pass. What is always true of
a plan:

- Before both pictures are complete (`may_destroy`) it unmounts nothing, and forgets nothing.
- It unmounts nothing from a pod that wants the volume as it is mounted, nor from one that may want
  more than is known (`unsure`).
- A device is unmounted only when no pod has the volume, or may have it, and none wants it with the
  SELinux label it is mounted with. It is unmounted before the volume is detached or forgotten.
- It mounts nothing under another SELinux label than that of an existing mount.
- A volume that a controller attaches is waited for: it is in the node's `volumesInUse`, then in its
  `volumesAttached`. So is one that was found on disk: it may have been detached, or be detached at
  this moment. Attach and Detach are only in plans of a node that attaches itself.
- An uncertain mount counts as mounted when it is to be unmounted, and as missing when it is wanted.
- A volume is expanded only when no pod waits for its mount, and never after its plugin refused.
- While an operation on the whole volume runs the plan is empty; while one for a pod runs it holds
  only unmounts from other pods.
- When every pod that wants it certainly has it, up to date and large enough, and no other pod has
  it, the plan is empty.
"""

from collections.abc import Iterator

from mooring.model.storage_terms import VolumeMode
from mooring.node.actual import ActualVolume, Attachability, DeviceState, PodState
from mooring.node.desired import WantedVolume
from mooring.node.plan import (
    Attach,
    Detach,
    Forget,
    Grow,
    Map,
    Mount,
    Operation,
    Plan,
    Unmap,
    UnmapDevice,
    Unmount,
    UnmountDevice,
    VerifyAttached,
    plan,
)
from mooring.node.view import View

_EVERYBODY = ""


def decide(view: View) -> Plan:
    """The operations to start now, in this order; one may keep those behind it from starting."""
    if _EVERYBODY in view.busy:
        return plan("an operation on the volume is running")
    leaving = tuple(_leaving(view))
    if view.busy:
        return plan("an operation for a pod is running", *leaving)
    then = _decide_rest(view)
    if not leaving:
        return then
    # A failed unmount from one pod is retried later, and does not block the others.
    return plan(f"pods no longer want it; {then.because}", *leaving, *then.operations)


def _decide_rest(view: View) -> Plan:
    if view.wanted is not None and not _is_mislabelled(view):
        return _bring(view, view.wanted)
    if view.actual is not None and not view.actual.pods and view.may_destroy:
        return _clear_up(view, view.actual)
    return plan("nothing can be done now")


def is_waiting_for_label(view: View) -> bool:
    """Wanted under another SELinux label than it is mounted with: the old mount must go first."""
    return view.wanted is not None and _is_mislabelled(view)


def _is_mislabelled(view: View) -> bool:
    wanted, actual = view.wanted, view.actual
    if wanted is None or actual is None or actual.device is DeviceState.NOT_MOUNTED:
        return False
    return wanted.selinux_label != actual.selinux_label


def _leaving(view: View) -> Iterator[Operation]:
    actual = view.actual
    if actual is None or not view.may_destroy:
        return
    wanted = {} if view.wanted is None or _is_mislabelled(view) else view.wanted.pods
    for uid in actual.pods:
        if uid not in wanted and uid not in view.busy and uid not in view.unsure:
            is_block = actual.use.mode is VolumeMode.BLOCK
            yield Unmap(view.name, uid) if is_block else Unmount(view.name, uid)


def _bring(view: View, wanted: WantedVolume) -> Plan:
    actual = view.actual
    if wanted.is_attachable and (actual is None or not actual.is_attached):
        return _have_attached(view, wanted)
    if actual is None:
        return plan("it is not here yet", VerifyAttached(view.name))
    mounting = tuple(_mounting(wanted, actual))
    if mounting:
        return plan("pods wait for it, or for news in it", *mounting)
    if _must_grow(view, wanted, actual):
        return plan("the volume is larger than what its pods see", Grow(view.name))
    return plan("all its pods have it")


def _have_attached(view: View, wanted: WantedVolume) -> Plan:
    if view.attaches_itself:
        return plan("this node attaches it itself", Attach(view.name))
    if not wanted.reported_in_use:
        return plan("the API does not know yet that it is used here")
    if not view.is_attached:
        return plan("it is not yet in the node's status")
    return plan("it is not known to be attached", VerifyAttached(view.name))


def _mounting(wanted: WantedVolume, actual: ActualVolume) -> Iterator[Operation]:
    """For every pod that lacks it: one starts, and those behind it when it has ended or failed."""
    for uid, by in wanted.pods.items():
        mount = actual.pods.get(uid)
        if mount is None or mount.state is PodState.UNCERTAIN or mount.wants_remount:
            is_block = by.use.mode is VolumeMode.BLOCK
            yield Map(wanted.name, uid) if is_block else Mount(wanted.name, uid)


def _must_grow(view: View, wanted: WantedVolume, actual: ActualVolume) -> bool:
    if not view.grows_on_node or actual.refuses_growth:
        return False
    return bool(actual.size) and wanted.capacity > actual.size


def _clear_up(view: View, actual: ActualVolume) -> Plan:
    if actual.device is not DeviceState.NOT_MOUNTED:
        is_block = actual.use.mode is VolumeMode.BLOCK
        clear = UnmapDevice(view.name) if is_block else UnmountDevice(view.name)
        return plan("no pod uses the device", clear)
    if view.attaches_itself and actual.attachability is not Attachability.NO:
        return plan("nobody wants it", Detach(view.name))
    return plan("nobody wants it", Forget(view.name))
