"""Upstream's sidecars as processes, each with its own ServiceAccount and rights."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from tests.clients.kubectl import Kubectl
from tests.conformance import obtain
from tests.conformance.csi import accounts
from tests.conformance.csi.accounts import Account, become
from tests.conformance.csi.drivers import Running
from tests.conformance.obtain import Program
from tests.conformance.peers import Find, running

Process = subprocess.Popen[bytes]

GROUPS = "--feature-gates=CSIVolumeGroupSnapshot=true"
SOON = "2s"  # between looks at the health of volumes


class Api(msgspec.Struct, frozen=True):
    """An API server, and its administrator's way to it."""

    url: str
    ca_file: Path
    kubeconfig: Path


class Sidecar(msgspec.Struct, frozen=True):
    """A program, who it is, and its flags beyond the usual ones."""

    program: Program
    account: Account
    flags: tuple[str, ...] = ()
    needs_driver: bool = True

    def command(self, binary: Path, kubeconfig: Path, driver: Running) -> Sequence[str]:
        where = (f"--csi-address={driver.socket}",) if self.needs_driver else ()
        return [
            *(str(binary), f"--kubeconfig={kubeconfig}", "--leader-election", "--v=3"),
            *(f"--leader-election-namespace={self.account.namespace}", *where, *self.flags),
        ]


PROVISIONER = Sidecar(
    obtain.CSI_PROVISIONER,
    accounts.PROVISIONER,
    ("--extra-create-metadata", "--enable-capacity", "--capacity-ownerref-level=-1"),
)
ATTACHER = Sidecar(obtain.CSI_ATTACHER, accounts.ATTACHER)
RESIZER = Sidecar(obtain.CSI_RESIZER, accounts.RESIZER)
SNAPSHOTTER = Sidecar(
    obtain.CSI_SNAPSHOTTER, accounts.SNAPSHOTTER, (GROUPS, "--extra-create-metadata")
)
SNAPSHOT_CONTROLLER = Sidecar(
    obtain.SNAPSHOT_CONTROLLER, accounts.SNAPSHOT_CONTROLLER, (GROUPS,), needs_driver=False
)
HEALTH_MONITOR = Sidecar(
    obtain.HEALTH_MONITOR,
    accounts.HEALTH_MONITOR,
    tuple(
        f"--{name}-interval={SOON}"
        for name in ("monitor", "list-volumes", "volume-list-add", "node-list-add")
    ),
)
EVERY = (PROVISIONER, ATTACHER, RESIZER, SNAPSHOTTER, SNAPSHOT_CONTROLLER, HEALTH_MONITOR)


@contextmanager
def upstream(
    sidecars: Sequence[Sidecar], find: Find, api: Api, kubectl: Kubectl, driver: Running
) -> Iterator[dict[Path, Process]]:
    """They run, by their logs. Raises Missing."""
    place = driver.socket.parent.parent
    with ExitStack() as parts:
        going = {}
        for each in sidecars:
            binary = find(each.program)
            name = place / each.program.name
            kubeconfig = name.with_suffix(".kubeconfig")
            become(each.account, kubectl, api.url, api.ca_file).write(kubeconfig)
            command = each.command(binary, kubeconfig, driver)
            variables = {"NAMESPACE": each.account.namespace, "POD_NAME": each.program.name}
            process = parts.enter_context(running(command, name, variables))
            going[name.with_suffix(".log")] = process
        yield going
