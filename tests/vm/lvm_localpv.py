"""OpenEBS' LVM-LocalPV for a machine that has no network: its manifests, and the images they name.

The driver's own is put together around its program, with the tools of this machine that it calls.
Upstream's sidecars cannot be built everywhere: Mooring's image stands in for each, under the name
and with the flags that the manifests have.
"""

import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mooring.host.command import find_program
from release.archive import Entry, directory, link, tar
from release.debian import Archive
from release.root import ARCHITECTURES, PYTHON, SITE, assemble
from tests.conformance.e2e.images import libraries_of
from tests.conformance.obtain import LVM_LOCALPV, Missing, files, obtain
from tests.conformance.oci_layout import write_layout
from tests.conformance.published.bundles import BUNDLES
from tests.conformance.published.images import named_in

TREE = Path(__file__).parents[2]
BUNDLE = BUNDLES["LVM-LocalPV"]
SAMPLES = ("sample/fio.yaml", "sample/lvmsnapclass.yaml")
PLACE = "lvm-localpv"  # its name among what both machines share
NAMES = "names"  # the file with a line per image: its name, and its directory
MISSING = "missing"  # the file that says why there is nothing else
DRIVER = "lvm-driver"
TOOLS = (
    *("lvm", "fsadm", "bash", "mount", "umount", "blkid", "blockdev", "wipefs", "lsblk"),
    *("mke2fs", "e2fsck", "fsck", "resize2fs", "tune2fs"),
    *("cut", "find", "head", "stat", "xargs"),  # of coreutils and findutils, which fsadm calls
)
LINKS = {
    "lvm": ("lvcreate", "lvremove", "lvextend", "lvs", "vgs", "pvs", "pvscan"),
    "mke2fs": ("mkfs.ext4",),
    "e2fsck": ("fsck.ext4",),
    "busybox": (
        "sh",
        "rm",
        "cat",
        "grep",
        "readlink",
        "date",
        "mkdir",
        "rmdir",
        "df",
        "sleep",
        "env",
    ),
}
# As Alpine's lvm, which is in the published image: it leaves no device to udev to make, which it
# would look for where a container has nothing of it. Debian's does so when it is told.
START = ("/usr/bin/env", "DM_DISABLE_UDEV=1", f"/{DRIVER}")
SIDECARS = {
    "csi-provisioner": ("sidecar", "provisioner"),
    "csi-resizer": ("sidecar", "resizer"),
    "csi-snapshotter": ("sidecar", "snapshotter"),
    "csi-node-driver-registrar": ("sidecar", "registrar"),
    "snapshot-controller": ("controllers", "--controllers", "snapshots"),
}
# Flags of upstream's that Mooring has in other words, or does anyway.
_START = f"""#!/usr/bin/python{PYTHON}
import sys
from mooring.__main__ import main
done_anyway = ("--v=", "--leader-election", "--enable-capacity", "--feature-gates=Topology=true")
given = [word for word in sys.argv[1:] if not word.startswith(done_anyway)]
sys.argv[1:] = [word.removesuffix("=true") for word in given]
main()
"""

Say = Callable[[str], None]


def bring(place: Path, say: Say) -> None:
    """After: `place` is there, whole; it holds what was made, or says what is missing."""
    unfinished = place.with_suffix(".unfinished")
    unfinished.mkdir()
    try:
        _make(unfinished, say)
    except (Missing, SystemExit, subprocess.CalledProcessError) as reason:
        (unfinished / MISSING).write_text(str(reason))
    unfinished.rename(place)


def _make(place: Path, say: Say) -> None:
    """Raises: Missing, and as what makes a release does."""
    manifests = files(BUNDLE.source)
    program = obtain(LVM_LOCALPV, say)
    for words in (*BUNDLE.applied, SAMPLES):
        for name in words:
            shutil.copy(manifests / name, place)
    own, ours = [_driver(program)], _mooring(say)
    lines = []
    for image in named_in(manifests):
        name = image.rpartition("/")[2].partition(":")[0]
        if name != DRIVER and name not in SIDECARS:
            raise Missing(f"nothing is known for the image {image}")
        role = SIDECARS.get(name, ())
        start = ("/usr/bin/sidecar", *role) if role else START
        write_layout(place / name, ours if role else own, start)
        lines.append(f"{image} {name}\n")
    (place / NAMES).write_text("".join(lines))


def _driver(program: Path) -> bytes:
    """A layer."""
    entries = {entry.name: entry for entry in _driver_entries(program)}
    return tar(entries.values(), epoch=0)


def _driver_entries(program: Path) -> Iterator[Entry]:
    for name in ("etc", "proc", "run", "sys", "tmp", "usr", "usr/bin", "var", "var/lib"):
        yield directory(name)
    for name in ("bin", "sbin", "usr/sbin"):
        yield link(name, "/usr/bin")
    yield Entry(DRIVER, program.read_bytes(), 0o755)
    for tool in (*TOOLS, "busybox"):
        found = find_program(tool)
        if found is None:
            raise Missing(f"the driver's image has {tool}, and this machine has not")
        yield Entry(f"usr/bin/{tool}", found.read_bytes(), 0o755)
        yield from (link(f"usr/bin/{name}", tool) for name in LINKS.get(tool, ()))
        for library in libraries_of(found):
            yield from map(directory, reversed([*map(str, library.relative_to("/").parents)][:-1]))
            yield Entry(str(library).lstrip("/"), library.read_bytes(), 0o755)


def _mooring(say: Say) -> Sequence[bytes]:
    """The layers of the image that is released, and on them what upstream's sidecars look like."""
    say("assembling Mooring's image from this tree")
    with tempfile.TemporaryDirectory(prefix="mooring-vm-image-") as made:
        here = Path(made)
        architecture = ARCHITECTURES[0]
        wheel = _wheel(here / "wheel")
        debs = Archive(here / "apt", architecture.name).download(here / "debs")
        root = assemble(architecture, debs, wheel, here)
        plain = [tar(entries, epoch=0) for entries in root.layers]
        compiled = _compiled(plain, here / "root")
    return [*plain, tar([*_beside(), *compiled], epoch=0)]


def _compiled(layers: Sequence[bytes], root: Path) -> list[Entry]:
    """What Python would compile anew in each container, by a Python of the image itself."""
    for layer in layers:
        with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
            archive.extractall(root, filter="fully_trusted")  # noqa: S202  made here
    python = ("chroot", str(root), f"/usr/bin/python{PYTHON}", "-m", "compileall", "-q")
    how = ("--invalidation-mode", "unchecked-hash")  # the times of files are not kept
    places = (f"/usr/lib/python{PYTHON}", f"/{SITE}")
    subprocess.run([*python, *how, *places], check=False)  # noqa: S603  some are not to be compiled
    return [
        Entry(str(path.relative_to(root)), path.read_bytes())
        for place in places
        for path in (root / place.lstrip("/")).rglob("*.pyc")
    ]


def _beside() -> Iterator[Entry]:
    """How upstream's sidecars are started, and what their containers call."""
    shell = find_program("busybox")
    if shell is None:
        raise Missing("the registrar's container calls a shell: apt-get install busybox-static")
    yield Entry("usr/bin/sidecar", _START.encode(), 0o755)
    yield Entry("usr/bin/busybox", shell.read_bytes(), 0o755)
    yield from (link(f"usr/bin/{name}", "busybox") for name in LINKS["busybox"])


def _wheel(place: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, "--no-deps", "-w", str(place), str(TREE)], check=True)  # noqa: S603  ours
    (wheel,) = place.glob("*.whl")
    return wheel
