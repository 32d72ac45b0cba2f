"""Where a node's images are."""

from pathlib import Path

import pytest

from mooring.errors import UsageError
from mooring.oci.contract import Images
from mooring.stack.config import Config, default_node_root
from mooring.stack.images import get_node_root, image_store


def test_a_store_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    store: Images = image_store(tmp_path)
    assert list(store.list()) == []
    assert store.find("busybox") is None
    assert list(tmp_path.iterdir()) == []


def test_as_up_and_node_have_it() -> None:
    data, root = Path("/data"), Path("/root-dir")
    assert get_node_root(data, None) == Config(data).node_root
    assert get_node_root(None, root) == root
    assert get_node_root(None, None) == default_node_root()
    with pytest.raises(UsageError, match="give one of them"):
        get_node_root(data, root)
