"""Where the images of a node are."""

from pathlib import Path

from mooring.errors import UsageError
from mooring.oci.store import ImageStore
from mooring.stack.config import Config, default_data_dir

_IMAGES = "images"
_CONTAINERS = "containers"


def image_store(node_root: Path) -> ImageStore:
    """The images of the node with this root directory."""
    root = node_root.resolve()
    return ImageStore(root / _IMAGES, root / _CONTAINERS)


def get_node_root(data_dir: Path | None, root_dir: Path | None) -> Path:
    """The root directory of the node of `mooring up`, or of `mooring node`, as their flags say it.

    Raises: UsageError when both are said.
    """
    if root_dir is None:
        return Config(data_dir or default_data_dir()).node_root
    if data_dir is None:
        return root_dir
    raise UsageError(
        "--data-dir is of `mooring up`, --root-dir of `mooring node`: give one of them"
    )
