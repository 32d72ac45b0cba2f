"""The images that Kubernetes' tests run, put together from what this machine has.

Upstream publishes them; here they are a static busybox with its applets, and beside it the program
`agnhost`, built from the sources of the release. Busybox serves for nginx, and agnhost pauses where
upstream has a program of its own for that. Each is an OCI layout in a directory, as
`mooring image import` takes it.
"""

import io
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from mooring.host.command import find_program
from tests.conformance.obtain import AGNHOST, AGNHOST_FILES, Missing, files
from tests.conformance.oci_layout import write_layout
from tests.conformance.peers import Find

_REGISTRY = "registry.k8s.io/e2e-test-images"
_DIRECTORIES = ("bin", "etc", "home", "proc", "root", "run", "sys", "tmp", "uploads", "usr", "var")
_PASSWD = "root:x:0:0:root:/root:/bin/sh\nuser-defined-in-image:x:1000:1000::/home:/bin/sh\n"
_GROUP = "root:x:0:\ngroup-defined-in-image:x:50000:user-defined-in-image\n"

# The tests run `nsenter --mount=... -- sh -c <command>` to work on the machine. By its path it is
# the machine's own shell, with its tools: a static busybox prefers those that it has inside.
_NSENTER = """#!/bin/sh
mount=$1
shift 3
exec /bin/busybox nsenter "$mount" -- /bin/sh "$@"
"""


class Recipe(msgspec.Struct, frozen=True):
    """What an image is made of, and under which names the tests ask for it."""

    names: tuple[str, ...]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ("sh",)
    programs: tuple[Path, ...] = ()  # put into the root directory
    tools: tuple[Path, ...] = ()  # of this machine, put into /usr/bin
    files: tuple[Path, ...] = ()  # beside them


def recipes(find: Find) -> tuple[Recipe, ...]:
    """Raises: Missing."""
    busybox = (f"{_REGISTRY}/busybox:1.37.0-1", f"{_REGISTRY}/busybox:1.36.1-1")
    agnhost = (f"{_REGISTRY}/agnhost:2.59", f"{_REGISTRY}/agnhost:2.55")
    nginx = (f"{_REGISTRY}/nginx:1.15-4", f"{_REGISTRY}/nginx:1.14-4")
    programs = (find(AGNHOST),)
    served = tuple(files(AGNHOST_FILES) / name for name in ("localhost.crt", "localhost.key"))
    return (
        Recipe(busybox),
        Recipe(nginx, ("httpd", "-f", "-p", "80"), ()),
        Recipe(agnhost, ("/agnhost",), ("pause",), programs, files=served),
        Recipe(("registry.k8s.io/pause:3.10.1",), ("/agnhost", "pause"), (), programs),
    )


def build(recipe: Recipe, directory: Path) -> Path:
    """An OCI layout. Raises: Missing."""
    layer = _layer(recipe.programs, recipe.tools, recipe.files)
    return write_layout(directory, [layer], recipe.entrypoint, recipe.command)


def _layer(programs: Sequence[Path], tools: Sequence[Path], beside: Sequence[Path]) -> bytes:
    busybox = find_program("busybox")
    if busybox is None:
        raise Missing("the tests' images need busybox: apt-get install busybox-static")
    applets = subprocess.run(  # noqa: S603  a program of the machine
        [busybox, "--list"], check=True, capture_output=True, text=True
    ).stdout.split()
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for name in _DIRECTORIES:
            _add(tar, name, type=tarfile.DIRTYPE, mode=0o1777 if name == "tmp" else 0o755)
        _add_file(tar, "etc/passwd", _PASSWD.encode(), 0o644)
        _add_file(tar, "etc/group", _GROUP.encode(), 0o644)
        _add_file(tar, "bin/busybox", busybox.read_bytes(), 0o755)
        _add_file(tar, "bin/nsenter", _NSENTER.encode(), 0o755)
        for applet in applets:
            if applet not in ("busybox", "nsenter"):
                _add(tar, f"bin/{applet}", type=tarfile.SYMTYPE, linkname="busybox", mode=0o777)
        for program in programs:
            _add_file(tar, program.name, program.read_bytes(), 0o755)
            _add(tar, f"{program.name}-2", type=tarfile.SYMTYPE, linkname=program.name, mode=0o777)
        for tool in tools:
            _add_file(tar, f"usr/bin/{tool.name}", tool.read_bytes(), 0o755)
        for library in sorted(
            {each for file in (*programs, *tools) for each in libraries_of(file)}
        ):
            _add_file(tar, str(library).lstrip("/"), library.read_bytes(), 0o755)
        for file in beside:
            _add_file(tar, file.name, file.read_bytes(), 0o644)
    return written.getvalue()


def libraries_of(program: Path) -> Iterator[Path]:
    """What a program that is not static loads, by the paths that it looks for."""
    asked = subprocess.run(  # noqa: S603  a program of the machine
        ["ldd", program],  # noqa: S607
        check=False,  # it fails for a static one
        capture_output=True,
        text=True,
    )
    for words in map(str.split, asked.stdout.splitlines()):
        yield from (Path(word) for word in words if word.startswith("/"))


def _add(tar: tarfile.TarFile, name: str, **fields: object) -> None:
    entry = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(entry, field, value)
    tar.addfile(entry)


def _add_file(tar: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))
