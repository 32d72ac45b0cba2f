"""Which image a container gets; nothing is ever pulled."""

from mooring.node.pods.waiting_reason import INVALID_IMAGE, NEVER_PULL, PULL, CannotStart
from mooring.oci import reference as references
from mooring.oci.contract import Images, StoredImage
from mooring.oci.refused import ImageRefused

_NEVER = "Never"


def find_image(images: Images, reference: str) -> StoredImage | None:
    """Raises: CannotStart when no image can be called that."""
    try:
        references.parse(reference)
    except ImageRefused as error:
        raise CannotStart(
            INVALID_IMAGE,
            f'Failed to apply default image tag "{reference}": '
            f'couldn\'t parse image name "{reference}": invalid reference format: {error}',
        ) from error
    return images.find(reference)


def absent(reference: str, pull_policy: str) -> CannotStart:
    """The image is not on this machine; says how it could come there."""
    remedy = (
        f"add it with `mooring image import {reference} FILE`, and the --data-dir or --root-dir "
        "that this node runs with"
    )
    if pull_policy == _NEVER:
        return CannotStart(
            NEVER_PULL,
            f'Container image "{reference}" is not present with pull policy of Never; {remedy}',
        )
    return CannotStart(
        PULL,
        f'image "{reference}" is not on this machine, and Mooring does not pull images: {remedy}',
    )
