"""`mooring why` about pods of a real node: what the kubelet says, and commands that heal."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc, a_claim, a_config_map
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import Pods, a_local_volume, a_script, mounting, of_claim
from tests.clients.why.heal import heal
from tests.clients.why.situations import Situation, runs
from tests.clients.why.stage import Stage

ONLY: Doc = {"accessModes": ["ReadWriteOncePod"]}


@pytest.fixture
def server(pod_server: ServerWithNode) -> ServerWithNode:
    return pod_server


@pytest.fixture
def stage(server: ServerWithNode, kubectl: Kubectl, namespace: str) -> Iterator[Stage]:
    stage = Stage(server.kubeconfig, kubectl, namespace)
    yield stage
    stage.close()


def with_volume(source: Doc) -> Doc:
    return a_script("web", volumes=[{"name": "v", **source}], container=mounting(v="/v"))


def test_a_secret_that_is_missing(stage: Stage, tmp_path: Path) -> None:
    pod = with_volume({"secret": {"secretName": "app"}})
    heal(
        stage,
        Situation("pod/web", '"app" not found', "makes the secret", (pod,), end=runs),
        tmp_path,
    )


def test_a_key_that_a_config_map_lacks(stage: Stage, tmp_path: Path) -> None:
    items = [{"key": "port", "path": "port"}]
    pod = with_volume({"configMap": {"name": "settings", "items": items}})
    objects = (a_config_map("settings", host="here"), pod)
    wanted = Situation(
        "pod/web", "non-existent config key: port", "adds the key", objects, end=runs
    )
    heal(stage, wanted, tmp_path)


def test_a_volume_for_one_pod_that_another_has(
    stage: Stage, kubectl: Kubectl, unique: str, tmp_path: Path
) -> None:
    using: Doc = {"volumes": [of_claim("data", "data")], "container": mounting(data="/data")}
    volume = a_local_volume(unique, str(tmp_path), **ONLY)
    Pods(kubectl).ready(volume, a_claim(volumeName=unique, **ONLY), a_script("first", **using))
    wanted = Situation(
        "pod/web",
        "already in-use by another pod",
        "deletes pod first",
        (a_script("web", **using),),
        end=runs,
    )
    heal(stage, wanted, tmp_path)
