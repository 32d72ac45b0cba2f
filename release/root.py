"""The files of an image: Debian's, those of the wheels that Mooring needs, and Mooring's own."""

import hashlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

import msgspec

from release.archive import Entry, below, directory, link
from release.debian import Package

PYTHON = "3.13"
SITE = f"usr/local/lib/python{PYTHON}/dist-packages/"
USER = 65532  # as images without a distribution have it

_LEFT_OUT = (
    *("boot", "home", "media", "mnt", "opt", "srv", "usr/games", "usr/include", "usr/src"),
    *("usr/share/man", "usr/share/locale", "usr/share/lintian", "usr/share/binfmts"),
    *("usr/share/base-files", "usr/share/python3", "usr/share/bug", "etc/update-motd.d"),
    *("usr/lib/binfmt.d", "usr/share/applications", "usr/share/pixmaps", "etc/skel"),
)
_MERGED = ("bin", "lib", "lib64", "sbin")  # what Debian links into /usr when it is installed
_CERTIFICATES = "usr/share/ca-certificates/mozilla/"
_START = f"#!/usr/bin/python{PYTHON}\nfrom mooring.__main__ import main\n\nmain()\n"
_PASSWD = (
    "root:x:0:0:root:/root:/usr/sbin/nologin\n"
    f"mooring:x:{USER}:{USER}:Mooring:/tmp:/usr/sbin/nologin\n"
)


class Architecture(msgspec.Struct, frozen=True):
    name: str  # as Debian and images call it
    machine: str  # as wheels do


ARCHITECTURES = (Architecture("amd64", "x86_64"), Architecture("arm64", "aarch64"))


class Wheel(msgspec.Struct, frozen=True):
    """A Python package in the image."""

    name: str
    version: str
    license: str
    needs: tuple[str, ...]


class Root(msgspec.Struct, frozen=True):
    architecture: Architecture
    system: tuple[Entry, ...]
    libraries: tuple[Entry, ...]
    own: tuple[Entry, ...]
    packages: tuple[Package, ...]
    wheels: tuple[Wheel, ...]

    @property
    def layers(self) -> tuple[tuple[Entry, ...], ...]:
        """The lowest first: what changes least."""
        return self.system, self.libraries, self.own


def assemble(
    architecture: Architecture, packages: Sequence[Package], wheel: Path, here: Path
) -> Root:
    """Raises: SystemExit when a wheel is missing for that architecture."""
    site = here / "site"
    _install(architecture, wheel, site)
    files = below(site, SITE)
    own = [entry for entry in files if _is_own(entry.name)]
    start = Entry("usr/local/bin/mooring", _START.encode(), 0o755)
    libraries = [entry for entry in files if not _is_own(entry.name)]
    return Root(
        architecture,
        tuple(_system(packages)),
        (*_folders(SITE), *libraries),
        (*_folders(SITE), *_folders("usr/local/bin/"), *own, start),
        tuple(packages),
        tuple(_wheels(site)),
    )


def _is_own(name: str) -> bool:
    return name.removeprefix(SITE).startswith(("mooring/", "mooring-")) or name == f"{SITE}mooring"


def _folders(path: str) -> Iterator[Entry]:
    parts = path.rstrip("/").split("/")
    for depth in range(1, len(parts) + 1):
        yield directory("/".join(parts[:depth]))


def _install(architecture: Architecture, wheel: Path, site: Path) -> None:
    """The newest release of each wheel that fits; none is built here."""
    platforms = (f"--platform=manylinux_2_{minor}_{architecture.machine}" for minor in (34, 28, 17))
    subprocess.run(  # noqa: S603  a command of this file
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--only-binary=:all:", "--no-compile", "--implementation=cp"),
            *(f"--python-version={PYTHON}", f"--target={site}", *platforms, str(wheel)),
        ],
        check=True,
    )
    for unwanted in ("bin", "include"):
        for file in sorted((site / unwanted).rglob("*"), reverse=True):
            file.unlink()
        if (site / unwanted).is_dir():
            (site / unwanted).rmdir()
    for record in [*site.glob("*.dist-info/direct_url.json"), *site.glob("*.dist-info/RECORD")]:
        record.unlink()  # they tell of the building machine, and of files that were left out


def _system(packages: Sequence[Package]) -> Iterator[Entry]:
    found: dict[str, Entry] = {}
    for package in packages:
        found |= {entry.name: entry for entry in package.entries() if not _is_left_out(entry.name)}
        status = f"var/lib/dpkg/status.d/{package.name}"  # where scanners look
        found[status] = Entry(status, package.control.encode())
    authorities = b"".join(
        entry.content for name, entry in sorted(found.items()) if name.startswith(_CERTIFICATES)
    )
    for entry in (
        *(link(name, f"usr/{name}") for name in _MERGED),
        *(link(f"usr/bin/{name}", f"python{PYTHON}") for name in ("python3", "python")),
        *(Entry("etc/passwd", _PASSWD.encode()), directory("tmp", 0o1777)),
        Entry("etc/group", f"root:x:0:\nmooring:x:{USER}:\n".encode()),
        Entry("etc/ssl/certs/ca-certificates.crt", authorities),
        directory("var/lib/dpkg/status.d"),
    ):
        found[entry.name] = entry
    yield from found.values()


def _is_left_out(name: str) -> bool:
    if name.startswith("usr/share/doc/") and not name.endswith("/copyright"):
        return "/" in name.removeprefix("usr/share/doc/")
    return any(name == prefix or name.startswith(f"{prefix}/") for prefix in _LEFT_OUT)


def _wheels(site: Path) -> Iterator[Wheel]:
    for found in sorted(distributions(path=[str(site)]), key=lambda one: one.name.lower()):
        names = {requirement.split(";")[0] for requirement in found.requires or ()}
        needs = sorted({_bare(name) for name in names})
        yield Wheel(found.name, found.version, _license(found), tuple(needs))


def _bare(requirement: str) -> str:
    """The name in `aiohttp[speedups]>=3.12`."""
    end = next((at for at, c in enumerate(requirement) if not (c.isalnum() or c in "-_.")), None)
    return requirement[:end].lower().replace("_", "-")


def _license(found: Distribution) -> str:
    return str(found.metadata["License-Expression"] or "")


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
