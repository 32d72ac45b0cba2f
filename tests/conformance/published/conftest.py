"""A `mooring up` whose node's root is /var/lib/kubelet, as published manifests expect it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.host.command import find_program
from mooring.host.loop_device import detach
from tests.clients.containers import loop_devices
from tests.clients.csi import need_loop_devices
from tests.clients.kubectl import Kubectl
from tests.clients.nodes import NODE
from tests.conformance.csi.clusters import kubectl_of
from tests.fakes.real_server import RealServer

KUBELET = "/var/lib/kubelet"
DRIVER = "hostpath.csi.k8s.io"


class AsKubelet(RealServer):
    """`mooring up` in a world of its own, whose /var/lib is a directory of the test.

    Its mounts and processes end with it.
    """

    own_flags = (
        *("--node-name", NODE, "--root-dir", KUBELET, "--no-pull-images"),
        *("--no-host-rootfs", "--no-sidecars-for", DRIVER),
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "data")
        self.var_lib = folder / "lib"
        self.var_lib.mkdir()
        self.prefix = (
            *("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c"),
            *('mount --bind "$0" /var/lib && exec "$@"', str(self.var_lib)),
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AsKubelet]:
    need_loop_devices()
    for program in ("runc", "conmon", "unshare", "nsenter"):
        if find_program(program) is None:
            pytest.skip(f"no pods of others without {program}: apt-get install runc conmon")
    folder = tmp_path_factory.mktemp("published")
    running = AsKubelet(folder)
    try:
        running.start()
        yield running
    finally:
        running.kill()
        for device in loop_devices(folder):
            detach(device)


@pytest.fixture
def kubectl(server: AsKubelet, tmp_path: Path) -> Kubectl:
    return kubectl_of(server.kubeconfig, tmp_path)
