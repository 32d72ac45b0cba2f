"""Events on pods about volume operations that failed, in the words that Kubernetes uses."""

from collections.abc import Iterator
from contextlib import contextmanager

from mooring import log
from mooring.errors import MooringError, WrongFilesystem
from mooring.model.event import EventType
from mooring.model.reference import ObjectReference
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Tell
from mooring.reconcile.recorder import Recorder, reference_to

FAILED_ATTACH = "FailedAttachVolume"
FAILED_MOUNT = "FailedMount"
FAILED_MAP = "FailedMapVolume"
FAILED_UNMOUNT = "FailedUnmount"  # Mooring's own: upstream says nothing, and pods hang
FAILED_ON_MISMATCH = "FailedMountOnFilesystemMismatch"

_log = log.get("mooring.node.effects")


def pod_recorder(recorder: Recorder, pod: ObjectReference | None) -> Tell:
    """Records events on `pod`; of a pod that is not known any more, none."""

    def record(kind: EventType, reason: str, message: str) -> None:
        if pod is not None:
            recorder.record(pod, kind, reason, message)

    return record


@contextmanager
def failures_logged(what: str, volume: str) -> Iterator[None]:
    """Around what no pod waits for; a failure goes on."""
    try:
        yield
    except MooringError as error:
        _log.warning("volume operation failed", what=what, volume=volume, error=error)
        raise


@contextmanager
def failures_recorded(record: Tell, reason: str, what: str, volume: str) -> Iterator[None]:
    """A failed step is an event that says what failed, of which volume; the failure goes on."""
    with failures_logged(what, volume):
        try:
            yield
        except MooringError as error:
            record(EventType.WARNING, reason, f'{what} for volume "{volume}" : {error}')
            raise


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
