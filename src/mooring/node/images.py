"""Where the images of a node are."""

from pathlib import Path

from mooring.oci.store import ImageStore

_IMAGES = "images"
_CONTAINERS = "containers"


def image_store(node_root: Path) -> ImageStore:
    """The images of the node with this root directory."""
    root = node_root.resolve()
    return ImageStore(root / _IMAGES, root / _CONTAINERS)
