"""Upstream's client of snapshot metadata hears of the blocks that Mooring's own client does."""

import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from mooring.driver.objects import CLASS
from mooring.driver.settings import NAME
from tests.clients.csi import bare_claim, need_loop_devices, server_with_driver
from tests.clients.manifests import a_snapshot
from tests.clients.mooring_command import done
from tests.clients.nodes import ServerWithNode
from tests.clients.pods import WITHIN, Pods, a_script, mounting, of_claim
from tests.conformance.csi.clusters import kubectl_of
from tests.conformance.obtain import SNAPSHOT_METADATA_LISTER, Missing
from tests.conformance.peers import Find

SECONDS = 120
MAY_READ = ("--verb=get,list", "--resource=volumesnapshots.snapshot.storage.k8s.io")


@pytest.fixture(scope="module")
def lister(find: Find) -> Path:
    need_loop_devices()
    try:
        return find(SNAPSHOT_METADATA_LISTER)
    except Missing as reason:
        pytest.skip(f"no snapshot-metadata-lister: {reason}")


@pytest.fixture
def server(lister: Path) -> Iterator[ServerWithNode]:
    with server_with_driver() as running:
        yield running


def joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Offset and size; neighbours are one."""
    found: list[tuple[int, int]] = []
    for offset, size in sorted(ranges):
        if found and sum(found[-1]) == offset:
            found[-1] = (found[-1][0], found[-1][1] + size)
        else:
            found.append((offset, size))
    return found


def listed(lister: Path, *flags: str) -> list[tuple[int, int]]:
    """From its table, whose columns are record, capacity, type, offset and size."""
    ran = subprocess.run(  # noqa: S603  the peer
        [str(lister), *flags], capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert ran.returncode == 0, ran.stderr
    rows = (line.split() for line in ran.stdout.splitlines()[2:])
    return joined((int(row[3]), int(row[4])) for row in rows)


def test_changed_and_allocated_blocks(lister: Path, server: ServerWithNode, tmp_path: Path) -> None:
    kubeconfig = server.data_dir / "kubeconfig"
    kubectl = kubectl_of(kubeconfig, tmp_path)
    for each in (f"sc/{CLASS}", f"volumesnapshotclass/{CLASS}", f"sms/{NAME}"):
        kubectl("wait", "--for=create", each, WITHIN)
    pods = Pods(kubectl)
    pods.create(bare_claim("data"))
    pods.ready(a_script("writer", volumes=[of_claim("v", "data")], container=mounting(v="/data")))
    for name, size in (("monday", 5), ("tuesday", 3)):
        pods.sh("writer", f"dd if=/dev/urandom of=/data/{name} bs=1M count={size} && sync")
        pods.create(a_snapshot(name, "data"))
        kubectl("wait", f"vs/{name}", "--for=jsonpath={.status.readyToUse}=true", WITHIN)
    kubectl("create", "sa", "backup")
    kubectl("create", "role", "backup", *MAY_READ)
    kubectl("create", "rolebinding", "backup", "--role=backup", "--serviceaccount=default:backup")

    who = ("-n", "default", "--kubeconfig", str(kubeconfig), "--service-account", "backup")
    for theirs, ours in (
        (("-s", "tuesday"), ("allocated-blocks", "tuesday")),
        (("-s", "tuesday", "-p", "monday"), ("changed-blocks", "--base", "monday", "tuesday")),
    ):
        told = json.loads(done("snapshot", *ours, "-o", "json", *who))
        expected = joined((each["offset"], each["size"]) for each in told["ranges"])
        assert listed(lister, *who, "--service-account-namespace", "default", *theirs) == expected
