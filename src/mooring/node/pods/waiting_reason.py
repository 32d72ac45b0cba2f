"""Why a container waits: the reasons of its status, and the error of a start that cannot be."""

from mooring.errors import MooringError
from mooring.model.backoff import Backoff

CONFIG = "CreateContainerConfigError"
CREATE = "CreateContainerError"
RUN = "RunContainerError"
POST_START = "PostStartHookError"
PULL = "ErrImagePull"
PULL_BACK_OFF = "ImagePullBackOff"
NEVER_PULL = "ErrImageNeverPull"
INVALID_IMAGE = "InvalidImageName"
IMAGE_AGAIN = Backoff(first=10.0, cap=300.0)
OF_IMAGES = frozenset((PULL, PULL_BACK_OFF, NEVER_PULL, INVALID_IMAGE))


class CannotStart(MooringError):
    """`reason` is that of the waiting state; the text is for the pod's owner.

    `again` is in how many seconds another attempt makes sense, where that is known.
    """

    def __init__(self, reason: str, message: str, again: float = 0.0) -> None:
        super().__init__(message)
        self.reason = reason
        self.again = again


class Misconfigured(CannotStart):
    """What the pod says of the container cannot be had, or makes no sense."""

    def __init__(self, message: str) -> None:
        super().__init__(CONFIG, message)
