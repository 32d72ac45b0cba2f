"""The bundled driver on two nodes of one cluster, and `mooring sidecar --node-deployment` beside
each: no node is asked about the volumes of the other."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from mooring.driver.settings import NAME
from tests.clients.csi import (
    OnDisk,
    a_class_of,
    bundled_process,
    need_loop_devices,
    short_directory,
    sidecar_process,
)
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import a_claim
from tests.clients.nodes import NODE, need_root, server_with_node
from tests.clients.pods import WITHIN
from tests.fakes.real_server import RealServer
from tests.fakes.waiting import until

NODES = ("n1", "n2")
SOON = ("--node-deployment-base-delay", "0.2", "--node-deployment-max-delay", "1")
SELECTED = "volume.kubernetes.io/selected-node"
KEY = f"topology.{NAME}/node"
CLAIMS = 6


def volumes_in(state: Path) -> set[str]:
    return {each.name for each in (state / "volumes").iterdir()}


async def test_each_node_makes_and_deletes_its_own_volumes(
    alone: Kubectl,
    own_server: RealServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    need_loop_devices()
    kubectl = alone
    with ExitStack() as stack:
        place = stack.enter_context(short_directory())
        states = {node: place / node for node in NODES}
        for node, state in states.items():
            socket = place / f"{node}.sock"
            stack.enter_context(bundled_process(socket, node, state))
            monkeypatch.setenv("NODE_NAME", node)
            flags = ("all", "--node-deployment", *SOON)
            stack.enter_context(sidecar_process(socket, own_server.kubeconfig, *flags))
        kubectl("create", "-f", "-", given=[a_class_of(NAME, "here")])
        names = [f"data-{number}" for number in range(CLAIMS)]
        claims = [a_claim(name, "16Mi", storageClassName="here") for name in names]
        for number, claim in enumerate(claims[:2]):
            claim["metadata"]["annotations"] = {SELECTED: NODES[number]}
        kubectl("create", "-f", "-", given=claims)
        for name in names:
            kubectl("wait", f"pvc/{name}", "--for=jsonpath={.status.phase}=Bound", "--timeout=60s")
        made: dict[str, set[str]] = {node: set() for node in NODES}
        for volume in kubectl.doc("pv")["items"]:
            (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
            (wanted,) = term["matchExpressions"]
            assert wanted["key"] == KEY
            made[wanted["values"][0]].add(volume["spec"]["csi"]["volumeHandle"])
        assert {node: volumes_in(state) for node, state in states.items()} == made
        assert min(map(len, made.values())) >= 1
        assert sum(map(len, made.values())) == CLAIMS

        grown = '{"spec":{"resources":{"requests":{"storage":"32Mi"}}}}'
        kubectl("patch", "sc", "here", "-p", '{"allowVolumeExpansion":true}')
        for name in names[:2]:
            kubectl("patch", "pvc", name, "-p", grown)
            to_size = "--for=jsonpath={.status.allocatedResources.storage}=32Mi"
            kubectl("wait", f"pvc/{name}", to_size, "--timeout=60s")

        kubectl("delete", "pvc", *names, "--timeout=60s")
        await until(lambda: not any(map(volumes_in, states.values())))
        await until(lambda: kubectl.doc("pv")["items"] == [])


def test_on_the_node_of_up_snapshots_are_taken_when_they_are_labelled(
    kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_root()
    need_loop_devices()
    monkeypatch.setenv("NODE_NAME", NODE)
    flags = ("--no-sidecars-for", NAME, "--enable-distributed-snapshotting")
    with ExitStack() as stack:
        place = stack.enter_context(short_directory())
        server = stack.enter_context(server_with_node(place / "d", *flags))
        own = kubectl.as_user(server.kubeconfig).in_namespace("default")
        socket = OnDisk(server.data_dir).node / "plugins" / NAME / "csi.sock"
        sidecars = ("all", "--node-deployment", *SOON)
        stack.enter_context(sidecar_process(socket, server.kubeconfig, *sidecars))
        own("create", "-f-", given=[a_claim("data", "16Mi", storageClassName="mooring-loop")])
        own("wait", "pvc/data", "--for=jsonpath={.status.phase}=Bound", WITHIN)
        snapshot = {
            "apiVersion": "snapshot.storage.k8s.io/v1",
            "kind": "VolumeSnapshot",
            "metadata": {"name": "monday"},
            "spec": {"source": {"persistentVolumeClaimName": "data"}},
        }
        own("create", "-f-", given=[snapshot])
        own("wait", "volumesnapshot/monday", "--for=jsonpath={.status.readyToUse}=true", WITHIN)
        own("delete", "volumesnapshot", "monday", WITHIN)
        own("delete", "pvc", "data", WITHIN)
