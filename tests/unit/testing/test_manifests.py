"""What may be applied, and how it is read."""

from pathlib import Path
from typing import Any

import pytest

from mooring.testing.errors import ClusterError
from mooring.testing.manifests import documents_of

TWO = """
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
# nothing in here
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
"""


def _map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def _file(folder: Path) -> Path:
    path = folder / "two.yaml"
    path.write_text(TWO)
    return path


@pytest.mark.parametrize(
    "manifest",
    [
        [_map("a"), _map("b")],
        (_map("a"), _map("b")),
        {"apiVersion": "v1", "kind": "List", "items": [_map("a"), _map("b")]},
        TWO,
        '{"apiVersion": "v1", "kind": "List", "items": ['
        '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},'
        '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}]}',
    ],
    ids=["list", "tuple", "List", "YAML", "JSON"],
)
def test_every_form_gives_the_same_documents(manifest: Any) -> None:
    assert documents_of(manifest) == [_map("a"), _map("b")]


def test_paths_are_read_directories_in_the_order_of_names(tmp_path: Path) -> None:
    path = _file(tmp_path)
    (tmp_path / "a.json").write_text('{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}')
    (tmp_path / "notes.txt").write_text("not a manifest")
    assert documents_of(path) == documents_of(str(path)) == [_map("a"), _map("b")]
    assert [doc["metadata"]["name"] for doc in documents_of(tmp_path)] == ["n", "a", "b"]


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("missing.yaml", "cannot read the manifest missing.yaml: No such file"),
        ("a: [\n", "the manifest is no YAML"),
        ("- a\n- b\n", "the manifest holds list, where an object belongs"),
        ({"kind": "Pod", "metadata": {"name": "a"}}, "a manifest has no apiVersion"),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {}}, "a Pod has no metadata.name"),
    ],
)
def test_what_cannot_be_applied_is_refused_in_one_line(manifest: Any, said: str) -> None:
    with pytest.raises(ClusterError) as refused:
        documents_of(manifest)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
