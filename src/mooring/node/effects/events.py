"""Events on pods about volume operations that failed, in the words that Kubernetes uses."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import EPERM

from mooring import log
from mooring.errors import KernelRefused, MooringError, WrongFilesystem
from mooring.model.event import EventType
from mooring.model.reference import ObjectReference
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import NotUpYet, Tell
from mooring.reconcile.recorder import Recorder, reference_to

FAILED_ATTACH = "FailedAttachVolume"
FAILED_MOUNT = "FailedMount"
FAILED_MAP = "FailedMapVolume"
FAILED_UNMOUNT = "FailedUnmount"  # Mooring's own: upstream says nothing, and pods hang
FAILED_ON_MISMATCH = "FailedMountOnFilesystemMismatch"

MAY_NOT_MOUNT = (
    "this pod has volumes that have to be mounted, which this node may not do: run mooring as root"
)

_log = log.get("mooring.node.effects")


def pod_recorder(recorder: Recorder, pod: ObjectReference | None) -> Tell:
    """Records events on `pod`; of a pod that is not known any more, none."""

    def record(kind: EventType, reason: str, message: str) -> None:
        if pod is not None:
            recorder.record(pod, kind, reason, message)

    return record


@contextmanager
def failures_logged(what: str, volume: str, **about: object) -> Iterator[None]:
    """Around what no pod waits for; a failure goes on. `about`: more fields of the log line.

    What comes up with the node is no warning: pods of before want their volumes first.
    """
    try:
        yield
    except MooringError as error:
        told = MAY_NOT_MOUNT if _may_not(error) else error
        tell = _log.debug if isinstance(error, NotUpYet) else _log.warning
        tell("volume operation failed", what=what, volume=volume, **about, error=told)
        raise


@contextmanager
def failures_recorded(
    record: Tell, reason: str, what: str, volume: str, **about: object
) -> Iterator[None]:
    """A failed step is an event that says what failed, of which volume; the failure goes on.

    That nothing can be mounted here is said in the same words of all volumes: one event of the pod.
    """
    with failures_logged(what, volume, **about):
        try:
            yield
        except MooringError as error:
            told = MAY_NOT_MOUNT if _may_not(error) else f'{what} for volume "{volume}" : {error}'
            record(EventType.WARNING, reason, told)
            raise


def claim_and_driver(use: VolumeUse) -> Mapping[str, object]:
    """What a log line about it names beside the volume, as far as there is one."""
    about: dict[str, object] = {}
    if use.volume is not None and use.volume.spec.claim_ref is not None:
        about["claim"] = use.volume.spec.claim_ref.key
    found = use.source
    if found is not None and (driver := getattr(found[1], "driver", "")):
        about["driver"] = driver
    return about


def _may_not(error: MooringError) -> bool:
    """Whether the kernel lets this process mount nothing at all."""
    return isinstance(error, KernelRefused) and error.errno == EPERM


@contextmanager
def mismatch_recorded(recorder: Recorder, use: VolumeUse) -> Iterator[None]:
    """That a persistent volume has another file system than it says is an event on it, too."""
    try:
        yield
    except WrongFilesystem as error:
        if use.volume is not None:
            message = f'MountVolume failed for volume "{use.name}" {error}'
            recorder.record(
                reference_to(use.volume), EventType.WARNING, FAILED_ON_MISMATCH, message
            )
        raise
