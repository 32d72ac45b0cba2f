"""downwardAPI: which files tell a pod what."""

from pathlib import Path

import pytest

from mooring.host.atomic_dir import FileContent
from mooring.model.pod_volume import DownwardFile, FieldRef, ResourceRef
from mooring.plugins.downward_api import DownwardApiPlugin, downward_files
from mooring.plugins.payload import Incomplete
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.objects import LABELS_FILE, a_downward_use, a_told_pod
from tests.unit.plugins.world import a_host, a_request

NAME = FieldRef("metadata.name")


def test_fields_and_resources_become_files() -> None:
    items = (
        DownwardFile("name", NAME),
        DownwardFile("deep//./mem", None, ResourceRef("limits.memory", "main", "1Mi"), 0o400),
        DownwardFile("nothing"),
    )
    assert downward_files(items, a_told_pod(), {"memory": "1Gi"}, 0o644) == {
        "name": FileContent(b"web", 0o644),
        "deep/mem": FileContent(b"1024", 0o400),
        "nothing": FileContent(b"", 0o644),
    }


def test_what_many_files_tell_is_worked_out_once() -> None:
    labels = FieldRef("metadata.labels")
    items = (DownwardFile("a", labels), DownwardFile("b", labels, mode=0o400))
    files = downward_files(items, a_told_pod(labels={"x": "y"}), {}, 0o644)
    assert files["a"].data is files["b"].data


def test_all_that_is_wrong_is_told_at_a_time() -> None:
    items = (
        DownwardFile("a", FieldRef("spec.x")),
        DownwardFile("name", NAME),
        DownwardFile("b", None, ResourceRef("limits.cpu", "nobody")),
        DownwardFile("c", FieldRef("spec.x")),
    )
    with pytest.raises(Incomplete) as refused:
        downward_files(items, a_told_pod(), {}, 0o644)
    assert str(refused.value) == "[unsupported fieldPath: spec.x, container nobody not found]"


async def test_labels_with_quotes_and_newlines_follow_the_pod(tmp_path: Path) -> None:
    plugin = DownwardApiPlugin(a_host(tmp_path, FakeMounts()))
    use = a_downward_use(LABELS_FILE)
    first = plugin.mounter(use, a_told_pod(labels={"b": 'x "y"\nz', "a": "1"}))
    await first.set_up(a_request())
    assert (first.path / "labels").read_text() == 'a="1"\nb="x \\"y\\"\\nz"'
    later = plugin.mounter(use, a_told_pod(labels={"a": "2"}))
    await later.set_up(a_request())
    assert (first.path / "labels").read_text() == 'a="2"'


async def test_a_path_that_leads_out_is_refused(tmp_path: Path) -> None:
    host = a_host(tmp_path, FakeMounts())
    mounter = DownwardApiPlugin(host).mounter(
        a_downward_use(DownwardFile("a/../../x", NAME)), a_told_pod()
    )
    with pytest.raises(Exception, match=r"invalid path: must not contain '\.\.': \.\./x"):
        await mounter.set_up(a_request())
    assert not host.layout.root.exists()
