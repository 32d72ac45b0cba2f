"""The pod that wipes a volume: upstream's, or an administrator's."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from mooring.controllers.binding.effects.recycler_template import (
    DEFAULT_TEMPLATE,
    HOST_ROOT_TEMPLATE,
    load_template,
    recycler_pod,
)
from mooring.controllers.options import recycling_for
from mooring.errors import UsageError
from mooring.model.volume_source import NfsSource
from mooring.oci.reference import names_registry
from tests.unit.controllers.binding.things import HOST_PATH, NFS, a_volume

Doc = dict[str, Any]

OWN: Doc = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "wipe-", "namespace": "wipers", "labels": {"a": "b"}},
    "spec": {
        "activeDeadlineSeconds": 1,
        "serviceAccountName": "wiper",
        "volumes": [
            {"name": "victim", "hostPath": {"path": "/nowhere"}},
            {"name": "tools", "emptyDir": {}},
        ],
        "containers": [{"name": "wipe", "image": "example.com/wipe:1"}],
    },
}


def test_what_it_does_unless_told_otherwise() -> None:
    pod = recycler_pod(DEFAULT_TEMPLATE, a_volume(nfs=NFS), 300)
    container = pod["spec"]["containers"][0]
    assert pod["metadata"] == {"name": "recycler-for-pv", "namespace": "default"}
    assert pod["spec"]["volumes"] == [{"name": "vol", "nfs": {"server": "s", "path": "/"}}]
    assert pod["spec"]["activeDeadlineSeconds"] == 300
    assert pod["spec"]["restartPolicy"] == "Never"
    assert container["volumeMounts"] == [{"name": "vol", "mountPath": "/scrub"}]
    assert container["command"] == ["/bin/sh"]
    assert container["args"][0] == "-c"


def test_where_the_hosts_root_stands_in_for_images_no_registry_is_needed() -> None:
    options = recycling_for(host_rootfs=True)
    assert options.host_path_pod == options.nfs_pod == HOST_ROOT_TEMPLATE
    assert not names_registry(HOST_ROOT_TEMPLATE["spec"]["containers"][0]["image"])
    assert recycling_for(host_rootfs=False).host_path_pod == DEFAULT_TEMPLATE


def test_a_host_path_is_mounted_without_its_type() -> None:
    pod = recycler_pod(DEFAULT_TEMPLATE, a_volume(host_path=HOST_PATH), 60)
    assert pod["spec"]["volumes"] == [{"name": "vol", "hostPath": {"path": HOST_PATH.path}}]


def test_a_share_that_pods_mount_read_only_is_wiped_nevertheless() -> None:
    source = NfsSource(server="s", path="/x", read_only=True)
    pod = recycler_pod(DEFAULT_TEMPLATE, a_volume(nfs=source), 60)
    assert pod["spec"]["volumes"][0]["nfs"] == {"server": "s", "path": "/x"}


def test_of_a_template_only_name_deadline_and_first_source_are_replaced() -> None:
    before = deepcopy(OWN)
    pod = recycler_pod(OWN, a_volume(nfs=NFS), 300)
    assert pod["metadata"] == {
        "name": "recycler-for-pv",
        "namespace": "wipers",
        "labels": {"a": "b"},
    }
    assert pod["spec"] == OWN["spec"] | {
        "activeDeadlineSeconds": 300,
        "volumes": [
            {"name": "victim", "nfs": {"server": "s", "path": "/"}},
            {"name": "tools", "emptyDir": {}},
        ],
    }
    assert before == OWN, "the next volume gets the same template"


def test_a_template_without_a_namespace_runs_where_upstreams_does() -> None:
    pod = recycler_pod(OWN | {"metadata": None}, a_volume(nfs=NFS), 300)
    assert pod["metadata"] == {"name": "recycler-for-pv", "namespace": "default"}


YAML = """
apiVersion: v1
kind: Pod
metadata: {name: anything}
spec:
  volumes:
  - name: victim
  containers: []
"""


@pytest.mark.parametrize("text", [YAML, json.dumps(OWN)], ids=["YAML", "JSON"])
def test_a_template_is_read_from_a_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(text)
    assert load_template(path)["spec"]["volumes"][0]["name"] == "victim"


BAD = {
    "empty": ("", "file was empty: {}"),
    "no YAML": ("a: [", "failed decoding file {}: "),
    "a list": ("[]", "failed decoding file {}: it is no Pod of apiVersion v1"),
    "another kind": (
        "{apiVersion: v1, kind: PodTemplate}",
        "failed decoding file {}: it is no Pod of apiVersion v1",
    ),
    "no spec": (
        "{apiVersion: v1, kind: Pod}",
        "pod specification ({}): does not contain any volume(s)",
    ),
    "no volumes": (
        "{apiVersion: v1, kind: Pod, spec: {volumes: []}}",
        "pod specification ({}): does not contain any volume(s)",
    ),
    "a volume without a name": (
        "{apiVersion: v1, kind: Pod, spec: {volumes: [{emptyDir: {}}]}}",
        "pod specification ({}): does not contain any volume(s)",
    ),
}


@pytest.mark.parametrize(("text", "why"), BAD.values(), ids=BAD)
def test_what_is_no_template_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as refusal:
        load_template(path)
    assert str(refusal.value).startswith(why.format(path))
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"failed to read file path .*No such file"):
        load_template(tmp_path / "gone")
