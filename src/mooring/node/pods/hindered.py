"""Why a container cannot be started now, raised by whoever finds out."""

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


class Hindered(MooringError):
    """`reason` is the word of the container's status; the text is for its owner."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Misconfigured(Hindered):
    """What the pod says of the container cannot be had, or makes no sense."""

    def __init__(self, message: str) -> None:
        super().__init__(CONFIG, message)
