"""Which image a container or a volume gets, and whether it has to be pulled first. Pure.

An image that was imported under a name is the administrator's word on what that name means here:
`Always` pulls only what came from a registry before, or is not here.
"""

from enum import Enum, auto

import msgspec

from mooring.node.pods.waiting_reason import INVALID_IMAGE, NEVER_PULL, CannotStart
from mooring.oci import reference as references
from mooring.oci.contract import Images, StoredImage
from mooring.oci.reference import Reference
from mooring.oci.refused import ImageRefused

ALWAYS, IF_NOT_PRESENT, NEVER = "Always", "IfNotPresent", "Never"


class ImageChoice(Enum):
    USE = auto()  # what is here
    PULL = auto()
    HOST_ROOT = auto()  # the host's root file system instead
    NEVER = auto()  # it is not here, and may not be pulled


class ImageView(msgspec.Struct, frozen=True):
    written: str  # as the pod has it
    policy: str  # empty: the default
    found: StoredImage | None
    pulls: bool  # whether this node pulls images at all
    host_rootfs: bool  # whether the host's root may stand in for an image


def decide_image(view: ImageView) -> ImageChoice:
    """With the host's root as a stand-in, only a name that says its registry is pulled."""
    reference = references.parse(view.written)
    policy = view.policy or default_policy(reference)
    if view.found is not None:
        may_be_newer = str(reference) in view.found.pulled_names and view.pulls
        return ImageChoice.PULL if policy == ALWAYS and may_be_newer else ImageChoice.USE
    if view.host_rootfs and not (
        view.pulls and policy != NEVER and references.names_registry(view.written)
    ):
        return ImageChoice.HOST_ROOT
    return ImageChoice.NEVER if policy == NEVER else ImageChoice.PULL


def default_policy(reference: Reference) -> str:
    return ALWAYS if reference.tag == "latest" and not reference.digest else IF_NOT_PRESENT


def get_reference(written: str) -> Reference:
    """Raises: CannotStart when no image can be called that."""
    try:
        return references.parse(written)
    except ImageRefused as error:
        raise CannotStart(
            INVALID_IMAGE,
            f'Failed to apply default image tag "{written}": '
            f'couldn\'t parse image name "{written}": invalid reference format: {error}',
        ) from error


def find_image(images: Images, written: str) -> StoredImage | None:
    """Raises: CannotStart when no image can be called that."""
    get_reference(written)
    return images.find(written)


def never_pulled(written: str) -> CannotStart:
    return CannotStart(
        NEVER_PULL,
        f'Container image "{written}" is not present with pull policy of Never; '
        f"{import_remedy(written)}",
    )


def not_pulled_here(written: str) -> str:
    """Why a node that pulls nothing has no such image."""
    return (
        f'image "{written}" is not on this machine, and this node pulls none '
        f"(--no-pull-images): {import_remedy(written)}"
    )


def import_remedy(written: str) -> str:
    return (
        f"add it with `mooring image import {written} FILE`, and the --data-dir or --root-dir "
        "that this node runs with"
    )
