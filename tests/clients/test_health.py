"""A volume whose file is damaged, and a pool that is full: seen with kubectl, and healed again."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.driver.objects import CLASS
from mooring.driver.settings import NAME
from mooring.host.mount import Mounts
from tests.clients.csi import bare_claim, need_loop_devices, short_directory
from tests.clients.kubectl import Kubectl
from tests.clients.nodes import NODE, ServerWithNode, server_with_node
from tests.clients.pods import WITHIN, Pods, a_script, mounting, of_claim
from tests.fakes.waiting import until

POOL = 128 << 20


@pytest.fixture(scope="module")
def server(needs_runtime: None) -> Iterator[ServerWithNode]:
    """Its driver's pool is a little disk of its own; it looks at health every second."""
    need_loop_devices()
    with short_directory() as place:
        pool, mounts = place / "d" / "driver", Mounts()
        try:
            with server_with_node(place / "d", "--volume-stats-agg-period", "1") as running:
                running.stop()
                mounts.mount("tmpfs", pool, "tmpfs", (f"size={POOL}",))
                running.start()
                yield running
        finally:
            if mounts.is_mount_point(pool):
                mounts.unmount(pool)


def image_of_only_volume(server: ServerWithNode) -> Path:
    (image,) = (server.data_dir / "driver").glob("**/image")
    return image


async def test_a_damaged_volume_and_a_full_pool_are_seen_and_go(
    kubectl: Kubectl, server: ServerWithNode
) -> None:
    pods = Pods(kubectl)
    kubectl("wait", "--for=create", f"sc/{CLASS}", WITHIN)
    pods.create(bare_claim("data", "32Mi"))
    pods.ready(
        a_script("web", volumes=[of_claim("data", "data")], container=mounting(data="/data"))
    )
    image = image_of_only_volume(server)
    aside = image.with_name("aside")

    image.rename(aside)
    at = "{.status.volumeHealth[0].healthConditions[0].reason}"
    kubectl("wait", f"--for=jsonpath={at}=ImageMissing", "pod/web", WITHIN)
    assert kubectl.field(".status.volumeHealth[0].name", "pod", "web") == "data"
    assert "its image is missing" in kubectl("events", "--for", "pod/web", "--types=Warning")
    aside.rename(image)
    events = ("get", "events", "--field-selector", "reason=VolumeConditionNormal")
    at = ".status.volumeHealth[0].healthConditions"
    await until(lambda: kubectl.field(at, "pod", "web") in ("", "[]"))
    assert "healthy" in kubectl(*events)

    filler = server.data_dir / "driver" / "filler"
    with filler.open("wb") as file:
        free = os.statvfs(filler)
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_bsize)
    of_node = f"csinode/{NODE}"
    at = "{.status.storageHealth[0].healthConditions[0].reason}"
    kubectl("wait", f"--for=jsonpath={at}=PoolFull", of_node, WITHIN)
    assert kubectl.field(".status.storageHealth[0].name", "csinode", NODE) == NAME
    filler.unlink()
    await until(lambda: kubectl.field(".status.storageHealth", "csinode", NODE) in ("", "[]"))
