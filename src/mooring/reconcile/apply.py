"""Carrying out the steps that any plan may hold (`model/steps.py`)."""

from mooring.errors import MooringError
from mooring.model.steps import Emit, Fail
from mooring.reconcile.recorder import Recorder, reference_to


class NotNow(MooringError):
    """The plan itself says that it cannot go on; trying again later may help."""


def apply(step: Emit | Fail, recorder: Recorder) -> None:
    """Raises: NotNow."""
    match step:
        case Emit(about, kind, reason, message):
            recorder.record(reference_to(about), kind.value, reason, message)
        case Fail(message):
            raise NotNow(message)
