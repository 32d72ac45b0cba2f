"""Where the images of a node are, and what pulls further ones."""

from pathlib import Path

from mooring.clock import Clock
from mooring.oci.registry.pull import Puller
from mooring.oci.registry.pulls import ImagePulls
from mooring.oci.registry.settings import PullSettings
from mooring.oci.store import ImageStore

_IMAGES = "images"
_CONTAINERS = "containers"


def image_store(node_root: Path) -> ImageStore:
    """The images of the node with this root directory."""
    root = node_root.resolve()
    return ImageStore(root / _IMAGES, root / _CONTAINERS)


def image_pulls(
    store: ImageStore, node_root: Path, settings: PullSettings, clock: Clock
) -> ImagePulls:
    """What pulls into that store."""
    puller = Puller(store, node_root.resolve() / _IMAGES, settings, clock)
    return ImagePulls(puller, settings, clock)
