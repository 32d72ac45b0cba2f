"""An image of Ceph on a machine that is only a tree of files."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from mooring.errors import HostError
from mooring.host.command import Finished
from mooring.host.contract import MountOps
from mooring.model.meta import ObjectMeta
from mooring.model.storage_terms import AccessMode, VolumeMode
from mooring.model.volume import Volume, VolumeSpec
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Plugin
from mooring.plugins.rbd.attach import RbdImages
from mooring.plugins.rbd.plugin import Rbd
from mooring.plugins.volume_host import Host
from tests.unit.plugins.iscsi.world import AttachedWorld, HurriedClock, no_format
from tests.unit.plugins.objects import a_full_api
from tests.unit.plugins.world import VolumeWorld

FREE = "Watchers: none\n"
WATCHED = "Watchers:\n\twatcher=10.0.0.9:0/1 client.4 cookie=1\n"


class FakeCeph:
    """`rbd` and `modprobe`, with the kernel's list of what is mapped."""

    def __init__(self) -> None:
        self.mapped: list[tuple[str, str]] = []
        self.calls: list[tuple[str, ...]] = []
        self.keyrings: list[tuple[str, int]] = []
        self.statuses: list[str] = []  # one after the other; then it is free
        self.refuses: dict[str, str] = {}  # by the verb: what it says
        self.leaves_no_device = False
        self.maps_all_the_same = False  # and says that it has failed
        self.has_nbd = False
        self.has_udev = True  # its machine
        self.by_nbd: list[tuple[str, str]] = []

    def __call__(self, *argv: str) -> Finished:
        self.calls.append(argv)
        if "-k" in argv:
            file = Path(argv[argv.index("-k") + 1])
            if file.exists():
                self.keyrings.append((file.read_text(), file.stat().st_mode & 0o777))
        verb = argv[1]
        if argv[0] == "rbd-nbd":
            return self._nbd(argv)
        if verb == "map" and self.maps_all_the_same:
            self.map(*argv[2].split("/"))
        if verb in self.refuses:
            return Finished(argv, 1, self.refuses[verb])
        if verb == "status":
            return Finished(argv, 0, self.statuses.pop(0) if self.statuses else FREE)
        if verb == "map" and not self.leaves_no_device:
            self.map(*argv[2].split("/"))
        if verb == "unmap":
            del self.mapped[int(argv[2].removeprefix("/dev/rbd"))]
        return Finished(argv, 0, "")

    def _nbd(self, argv: tuple[str, ...]) -> Finished:
        if not self.has_nbd:
            raise HostError("rbd-nbd: executable file not found in $PATH")
        match argv[1]:
            case "map" if "nbd" in self.refuses:
                return Finished(argv, 1, self.refuses["nbd"])
            case "map":
                pool, image = argv[2].split("/")
                self.by_nbd.append((pool, image))
            case "unmap":
                del self.by_nbd[int(argv[2].removeprefix("/dev/nbd"))]
            case _:
                assert argv[1] == "--version"
        return Finished(argv, 0, "")

    def map(self, pool: str, image: str) -> None:
        self.mapped.append((pool, image))

    def find(self, pool: str, image: str) -> str:
        wanted = (pool, image)
        if wanted in self.by_nbd:
            return f"/dev/nbd{self.by_nbd.index(wanted)}"
        return f"/dev/rbd{self.mapped.index(wanted)}" if wanted in self.mapped else ""

    def verbs(self) -> list[str]:
        return [argv[1] for argv in self.calls]


def claimed(
    *modes: AccessMode, mode: VolumeMode = VolumeMode.FILESYSTEM, **fields: object
) -> VolumeUse:
    source = {"monitors": ["10.0.0.1:6789", "10.0.0.2"], "image": "disk", **fields}
    spec = VolumeSpec(rbd=source, access_modes=modes, volume_mode=mode)
    return VolumeUse(volume=Volume(metadata=ObjectMeta(name="pv1"), spec=spec))


def an_rbd_plugin(ceph: FakeCeph) -> Callable[[Host], Plugin]:
    def make(host: Host) -> Plugin:
        host = replace(host, objects=a_full_api(), clock=HurriedClock())
        return Rbd(host, RbdImages(host, ceph, ceph.find, lambda: ceph.has_udev), no_format)

    return make


def an_rbd_image(root: Path, mounts: MountOps) -> VolumeWorld:
    ceph = FakeCeph()
    use = claimed(secretRef={"name": "ceph", "namespace": "default"})
    return AttachedWorld(root, mounts, an_rbd_plugin(ceph), use)
