"""The kernel's NFS server, on this machine, with directories in memory."""

from pathlib import Path

from tests.vm.inside.programs import eventually, sh
from tests.vm.machine import address_of

ADDRESS = "127.0.0.1"
CLIENTS = f"{ADDRESS} {address_of(1)} {address_of(2)}"
ROOT = Path("/run/exported")
THREADS = 4
# Version 4 alone needs neither statd nor a port mapper; a restarted server waits for its grace
# before anybody may open a file, which is 90 seconds unless it is told.
SERVE = f"rpc.nfsd --no-nfs-version 3 -G 10 -L 10 {THREADS}"


class NfsServer:
    def start(self) -> None:
        sh(
            "mount -t tmpfs tmpfs /var/lib/nfs;"
            "mkdir -p /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs /run/rpcbind;"
            "touch /var/lib/nfs/etab /var/lib/nfs/rmtab;"
            "modprobe nfs && modprobe nfsd && mount -t nfsd nfsd /proc/fs/nfsd;"
            f"mkdir -p {ROOT} && mount -t tmpfs tmpfs {ROOT};"
            "rpcbind -w; rpc.mountd --no-nfs-version 3;"
            f"for who in {CLIENTS}; do exportfs "
            f"-o rw,no_root_squash,insecure,no_subtree_check,fsid=0 $who:{ROOT}; done;"
            f"{SERVE}"
        )

    def export(self, name: str) -> tuple[Path, str]:
        """A new directory: where it is, and its path for clients."""
        (ROOT / name).mkdir()
        (ROOT / name).chmod(0o777)
        return ROOT / name, f"/{name}"

    def hang(self) -> None:
        """Answer nobody any more; clients wait for as long as it takes."""
        sh("rpc.nfsd 0")
        eventually(lambda: sh("cat /proc/fs/nfsd/threads") == "0", "the server has stopped")

    def resume(self) -> None:
        sh(SERVE)
