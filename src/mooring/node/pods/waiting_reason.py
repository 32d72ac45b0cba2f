"""Why a container waits: the reasons of its status, and the error of a start that cannot be."""

from mooring.errors import MooringError

CONFIG = "CreateContainerConfigError"
CREATE = "CreateContainerError"
RUN = "RunContainerError"
POST_START = "PostStartHookError"
PULL = "ErrImagePull"
PULL_BACK_OFF = "ImagePullBackOff"
NEVER_PULL = "ErrImageNeverPull"
INVALID_IMAGE = "InvalidImageName"
OF_IMAGES = frozenset((PULL, PULL_BACK_OFF, NEVER_PULL, INVALID_IMAGE))


class CannotStart(MooringError):
    """`reason` is that of the waiting state; the text is for the pod's owner."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Misconfigured(CannotStart):
    """What the pod says of the container cannot be had, or makes no sense."""

    def __init__(self, message: str) -> None:
        super().__init__(CONFIG, message)
