"""Which images to remove when the disk is full of them. Pure.

As Kubernetes has it: above a high threshold, images that nobody uses go, the ones unused longest
first, until the disk is below a low threshold. Images that were imported stay, for nobody could
pull them again.
"""

from collections.abc import Sequence

import msgspec

from mooring.oci.registry.settings import GcSettings


class ImageAge(msgspec.Struct, frozen=True):
    """An image, and when it was last of use. Times are of the monotonic clock."""

    id: str
    size: int
    last_used: float
    first_seen: float
    is_in_use: bool
    is_pulled: bool


class GcView(msgspec.Struct, frozen=True):
    now: float
    capacity: int  # bytes of the disk with the images
    available: int
    images: Sequence[ImageAge]


class GcPlan(msgspec.Struct, frozen=True):
    because: str
    wanted: int = 0  # bytes to be freed
    remove: tuple[str, ...] = ()  # ids
    freed: int = 0  # bytes that these have


def decide_garbage(view: GcView, settings: GcSettings) -> GcPlan:
    wanted, because = _wanted(view, settings)
    remove: list[str] = []
    freed = 0
    for image in sorted(view.images, key=lambda one: (one.last_used, one.first_seen, one.id)):
        if freed >= wanted:
            break
        if _may_go(image, view.now, settings):
            remove.append(image.id)
            freed += image.size
    return GcPlan(because, wanted, tuple(remove), freed)


def _wanted(view: GcView, settings: GcSettings) -> tuple[int, str]:
    """How many bytes have to go, and why."""
    wanted, because = 0, "the disk has room"
    if view.capacity > 0:
        used = 100 - view.available * 100 // view.capacity
        if used >= settings.high_percent:
            wanted = view.capacity * (100 - settings.low_percent) // 100 - view.available
            because = f"{used} % of the disk is used"
    pulled = sum(image.size for image in view.images if image.is_pulled)
    if settings.most_bytes is not None and pulled - settings.most_bytes > wanted:
        wanted = pulled - settings.most_bytes
        because = f"pulled images have {pulled} bytes, and {settings.most_bytes} are allowed"
    return max(wanted, 0), because


def _may_go(image: ImageAge, now: float, settings: GcSettings) -> bool:
    if image.is_in_use or not image.is_pulled:
        return False
    return now - max(image.last_used, image.first_seen) >= settings.minimum_age
