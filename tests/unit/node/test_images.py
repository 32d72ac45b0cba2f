"""Where a node's images are."""

from pathlib import Path

from mooring.node.images import image_store
from mooring.oci.contract import Images


def test_a_store_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    store: Images = image_store(tmp_path)
    assert list(store.list()) == []
    assert store.find("busybox") is None
    assert list(tmp_path.iterdir()) == []
