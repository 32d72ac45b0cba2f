"""Where a node's images are."""

from pathlib import Path

import pytest

from mooring.errors import UsageError
from mooring.oci.contract import Images
from mooring.stack.config import default_data_dir
from mooring.stack.images import find_node_root, image_store, make_node_root
from mooring.stack.node_home import find_home


def test_a_store_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    store: Images = image_store(tmp_path)
    assert list(store.list()) == []
    assert store.find("busybox") is None
    assert list(tmp_path.iterdir()) == []


def test_as_up_and_node_have_it() -> None:
    data, root = Path("/data"), Path("/root-dir")
    assert find_node_root(data, None) == find_home(data)
    assert find_node_root(None, root) == root
    assert find_node_root(None, None) == find_home(default_data_dir())
    assert make_node_root(None, root) == root
    for ask in (find_node_root, make_node_root):
        with pytest.raises(UsageError, match="give one of them"):
            ask(data, root)
