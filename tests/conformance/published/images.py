"""The images that csi-driver-host-path's manifests name, around programs of the peers' cache.

Their registry cannot be asked from every machine, so each is put together here and imported under
the name that is published: the program as its entrypoint, and for the driver the tools that its own
image has.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mooring.host.command import find_program
from tests.conformance import obtain
from tests.conformance.e2e.images import Recipe, build
from tests.conformance.obtain import Missing
from tests.conformance.peers import Find
from tests.fakes.real_server import RealServer, command

PROGRAMS = {
    program.name: program
    for program in (obtain.CSI_HOST_PATH, obtain.NODE_DRIVER_REGISTRAR, *obtain.SIDECARS)
}
TOOLS = ("mount", "umount", "findmnt", "losetup", "blkid", "tar", "gzip", "cp", "socat")

_IMAGE = re.compile(r"^\s+image: (\S+)$", re.MULTILINE)


def named_in(manifests: Path) -> list[str]:
    """Every image that one of these files names."""
    return sorted(
        {name for file in manifests.glob("*.yaml") for name in _IMAGE.findall(_read(file))}
    )


def recipes(manifests: Path, find: Find) -> Iterator[Recipe]:
    """Those of the manifests, and the one of the pods that use the driver. Raises: Missing."""
    yield Recipe(("busybox",))
    for image in named_in(manifests):
        name = image.rpartition("/")[2].partition(":")[0]
        if name not in PROGRAMS:
            raise Missing(f"no program is known for the image {image}")
        program = find(PROGRAMS[name])
        tools = _tools() if name == obtain.CSI_HOST_PATH.name else ()
        yield Recipe((image,), (f"/{program.name}",), (), (program,), tuple(tools))


def import_all(server: RealServer, manifests: Path, find: Find, folder: Path) -> None:
    """After: they are on the server's node. Raises: Missing."""
    world = f"/proc/{server.pid}/ns"
    enter = ("nsenter", f"--mount={world}/mnt", f"--pid={world}/pid_for_children", "--")
    for number, recipe in enumerate(recipes(manifests, find)):
        layout = build(recipe, folder / f"image-{number}")
        words = ("image", "import", "--data-dir", str(server.data_dir))
        for name in recipe.names:
            subprocess.run(  # noqa: S603  our own program
                [*enter, *command(*words, name, str(layout))], check=True, capture_output=True
            )


def _tools() -> Iterator[Path]:
    for name in TOOLS:
        found = find_program(name)
        if found is None:
            raise Missing(f"the driver's image has {name}, and this machine has not")
        yield found


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")
