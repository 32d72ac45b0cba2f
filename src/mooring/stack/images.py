"""Where the images of a node are."""

from pathlib import Path

from mooring.errors import UsageError
from mooring.host.mount import Mounts
from mooring.oci.store import ImageStore
from mooring.stack.config import default_data_dir
from mooring.stack.node_home import find_home, take_home

_IMAGES = "images"
_CONTAINERS = "containers"


def image_store(node_root: Path) -> ImageStore:
    """The images of the node with this root directory."""
    root = node_root.resolve()
    return ImageStore(root / _IMAGES, root / _CONTAINERS)


def find_node_root(data_dir: Path | None, root_dir: Path | None) -> Path:
    """The root directory of the node of `mooring up`, or of `mooring node`, as their flags say it.

    Nothing is made. Raises: UsageError when both are said.
    """
    _check_one(data_dir, root_dir)
    return root_dir or find_home(data_dir or default_data_dir())


def make_node_root(data_dir: Path | None, root_dir: Path | None) -> Path:
    """The same, made where it is missing: an image may be there before the node is."""
    _check_one(data_dir, root_dir)
    return root_dir or take_home(data_dir or default_data_dir(), Mounts())


def _check_one(data_dir: Path | None, root_dir: Path | None) -> None:
    if data_dir is not None and root_dir is not None:
        raise UsageError(
            "--data-dir is of `mooring up`, --root-dir of `mooring node`: give one of them"
        )
