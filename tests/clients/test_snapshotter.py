"""Snapshots of a CSI driver, on `mooring up` with a real kubectl: taken, restored, deleted."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.clients.csi import (
    OnDisk,
    a_class_of,
    bare_claim,
    driver_process,
    registrar_process,
    short_directory,
    sidecar_process,
)
from tests.clients.kubectl import Kubectl
from tests.clients.manifests import Doc
from tests.clients.nodes import NODE, ServerWithNode, need_root, server_with_node
from tests.clients.pods import WITHIN
from tests.clients.tables import read_tables

OTHER = "fake.csi.mooring.dev"
GROUP = "snapshot.storage.k8s.io"
BOUND = "--for=jsonpath={.status.phase}=Bound"
READY = "--for=jsonpath={.status.readyToUse}=true"


@pytest.fixture(scope="module")
def server() -> Iterator[ServerWithNode]:
    need_root()
    with short_directory() as place, server_with_node(place / "d") as running:
        yield running


def socket_of(disk: OnDisk) -> Path:
    return disk.node / "plugins" / OTHER / "csi.sock"


def wait_for_driver(kubectl: Kubectl) -> None:
    path = "jsonpath={.spec.drivers[?(@.name=='" + OTHER + "')].nodeID}"
    kubectl("wait", f"csinode/{NODE}", f"--for={path}", WITHIN)


@pytest.fixture
def others(server: ServerWithNode, kubectl: Kubectl) -> Iterator[Kubectl]:
    """Another's driver is registered, and has a class of volumes and one of snapshots."""
    disk = OnDisk(server.data_dir)
    with (
        driver_process(socket_of(disk)),
        registrar_process(socket_of(disk), disk.registrations),
    ):
        wait_for_driver(kubectl)
        kubectl(
            "create",
            "-f-",
            given=[
                a_class_of(OTHER, "other"),
                a_snapshot_class(GROUP, "VolumeSnapshotClass"),
                a_snapshot_class(f"group{GROUP}", "VolumeGroupSnapshotClass"),
            ],
        )
        yield kubectl
        kubectl("delete", "sc/other", "volumesnapshotclass/other", "volumegroupsnapshotclass/other")


def a_snapshot_class(group: str, kind: str) -> Doc:
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": "other"},
        "driver": OTHER,
        "deletionPolicy": "Delete",
    }


def a_snapshot(name: str, claim: str) -> Doc:
    source = {"persistentVolumeClaimName": claim}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name},
        "spec": {"source": source, "volumeSnapshotClassName": "other"},
    }


def claim_of(name: str, **spec: Any) -> Doc:
    return bare_claim(name, storageClassName="other", **spec)


def test_a_claim_is_snapshot_restored_and_all_is_deleted(others: Kubectl) -> None:
    others("create", "-f-", given=[claim_of("data")])
    others("wait", "pvc/data", BOUND, WITHIN)
    others("create", "-f-", given=[a_snapshot("before", "data")])
    others("wait", "volumesnapshot/before", READY, WITHIN)
    (row,) = read_tables(others("get", "volumesnapshot"))
    told = {column: row[column] for column in ("READYTOUSE", "SOURCEPVC", "RESTORESIZE")}
    assert told == {"READYTOUSE": "true", "SOURCEPVC": "data", "RESTORESIZE": "64Mi"}
    content = row["SNAPSHOTCONTENT"]
    restored = {"apiGroup": GROUP, "kind": "VolumeSnapshot", "name": "before"}
    others("create", "-f-", given=[claim_of("again", dataSource=restored)])
    others("wait", "pvc/again", BOUND, WITHIN)

    others("delete", "volumesnapshot", "before", WITHIN)
    others("wait", f"volumesnapshotcontent/{content}", "--for=delete", WITHIN)
    others("delete", "pvc", "data", "again", WITHIN)


def test_a_smaller_claim_is_not_restored_and_says_why(others: Kubectl) -> None:
    others("create", "-f-", given=[claim_of("data")])
    others("wait", "pvc/data", BOUND, WITHIN)
    others("create", "-f-", given=[a_snapshot("before", "data")])
    others("wait", "volumesnapshot/before", READY, WITHIN)
    source = {"apiGroup": GROUP, "kind": "VolumeSnapshot", "name": "before"}
    small = bare_claim("small", "1Mi", storageClassName="other", dataSource=source)
    others("create", "-f-", given=[small])
    told = others.event("small", "ProvisioningFailed", "is less than the size")
    assert "for the source snapshot before" in told
    others("delete", "pvc", "small", "data", WITHIN)
    others("delete", "volumesnapshot", "before", WITHIN)


def test_two_claims_are_snapshot_at_one_moment(others: Kubectl) -> None:
    claims = [claim_of("one"), claim_of("two")]
    for claim in claims:
        claim["metadata"]["labels"] = {"app": "db"}
    others("create", "-f-", given=claims)
    others("wait", "pvc/one", "pvc/two", BOUND, WITHIN)
    group = {
        "apiVersion": f"group{GROUP}/v1",
        "kind": "VolumeGroupSnapshot",
        "metadata": {"name": "both"},
        "spec": {
            "source": {"selector": {"matchLabels": {"app": "db"}}},
            "volumeGroupSnapshotClassName": "other",
        },
    }
    others("create", "-f-", given=[group])
    others("wait", "volumegroupsnapshot/both", READY, WITHIN)
    rows = read_tables(others("get", "volumesnapshot"))
    assert {(row["SOURCEPVC"], row["READYTOUSE"]) for row in rows} == {
        ("one", "true"),
        ("two", "true"),
    }
    others("delete", "volumegroupsnapshot", "both", WITHIN)
    others("wait", "volumesnapshot", "--all", "--for=delete", WITHIN)
    others("delete", "pvc", "one", "two", WITHIN)


def test_a_driver_is_left_to_sidecars_of_its_own(kubectl: Kubectl) -> None:
    need_root()
    with ExitStack() as stack:
        place = stack.enter_context(short_directory())
        flags = ("--no-sidecars-for", OTHER)
        server = stack.enter_context(server_with_node(place / "d", *flags))
        own = kubectl.as_user(server.kubeconfig).in_namespace("default")
        disk = OnDisk(server.data_dir)
        socket = socket_of(disk)
        stack.enter_context(driver_process(socket))
        stack.enter_context(registrar_process(socket, disk.registrations))
        wait_for_driver(own)
        own("create", "-f-", given=[a_class_of(OTHER, "other"), claim_of("data")])
        own.event("data", "ExternalProvisioning")
        assert "not found" in own.refused("get", "lease", "fake-csi-mooring-dev")
        assert own.field(".status.phase", "pvc", "data") == "Pending"
        stack.enter_context(sidecar_process(socket, server.kubeconfig, "all"))
        own("wait", "pvc/data", BOUND, WITHIN)
        assert own.field(".spec.holderIdentity", "lease", "fake-csi-mooring-dev")
        own("delete", "pvc", "data", WITHIN)
