"""Packages of Debian, fetched and checked by apt in a directory of its own; root is not needed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from email import message_from_string
from pathlib import Path

import msgspec

from release.archive import Entry, entries_of

SUITE = "trixie"
MIRROR = os.environ.get("MOORING_RELEASE_MIRROR", "http://deb.debian.org")
"""Set it to a snapshot to have the packages of a day again."""

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

PACKAGES = (
    *("base-files", "libc6", "gcc-14-base", "libgcc-s1", "libstdc++6", "ca-certificates"),
    *("python3.13-minimal", "libpython3.13-minimal", "libpython3.13-stdlib"),
    *("zlib1g", "libbz2-1.0", "liblzma5", "libzstd1", "libexpat1", "libffi8", "libsqlite3-0"),
    *("libssl3t64", "libuuid1", "netbase", "tzdata"),
)
"""What Python and the wheels link to or read, and nothing else: no shell, no package manager."""

_NEEDED = ("apt-get", "dpkg-deb")


class Package(msgspec.Struct, frozen=True):
    file: Path
    name: str
    version: str
    architecture: str
    control: str  # as dpkg keeps it

    def entries(self) -> list[Entry]:
        with subprocess.Popen(  # noqa: S603  a command of this file
            ["dpkg-deb", "--fsys-tarfile", str(self.file)],  # noqa: S607  found before
            stdout=subprocess.PIPE,
        ) as unpacking:
            assert unpacking.stdout is not None
            found = entries_of(unpacking.stdout)
        if unpacking.returncode:
            sys.exit(f"release: dpkg-deb cannot read {self.file.name}")
        return found


class Archive:
    """Debian's archive for one architecture, which need not be this machine's."""

    def __init__(self, home: Path, architecture: str) -> None:
        for program in _NEEDED:
            if shutil.which(program) is None:
                sys.exit(f"release: images are made of Debian's packages: {program} is missing")
        if not KEYRING.exists():
            sys.exit("release: install debian-archive-keyring, by which packages are checked")
        self._home = home
        self._architecture = architecture

    def download(self, into: Path) -> Sequence[Package]:
        self._prepare()
        into.mkdir(parents=True)
        self._apt(self._home, "update")
        self._apt(into, "download", *PACKAGES)
        return [_package(file) for file in sorted(into.glob("*.deb"))]

    def _prepare(self) -> None:
        for name in ("lists/partial", "archives/partial", "empty"):
            (self._home / name).mkdir(parents=True)
        (self._home / "status").touch()
        signed = f"deb [signed-by={KEYRING}] {MIRROR}"
        (self._home / "sources.list").write_text(
            f"{signed}/debian {SUITE} main\n{signed}/debian-security {SUITE}-security main\n"
        )

    def _apt(self, directory: Path, *command: str) -> None:
        options = [word for option in self._options() for word in ("-o", option)]
        ran = subprocess.run(  # noqa: S603  a command of this file
            ["apt-get", "-qq", *options, *command],  # noqa: S607  found before
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            sys.exit(f"release: apt-get {command[0]} failed: {ran.stderr.strip()}")

    def _options(self) -> Iterator[str]:
        home = self._home
        yield f"APT::Architecture={self._architecture}"
        yield f"APT::Architectures={self._architecture}"
        yield "APT::Sandbox::User="
        yield f"Dir::Etc::sourcelist={home / 'sources.list'}"
        yield f"Dir::Etc::sourceparts={home / 'empty'}"
        yield f"Dir::State={home}"
        yield f"Dir::State::lists={home / 'lists'}"
        yield f"Dir::State::status={home / 'status'}"
        yield f"Dir::Cache={home}"


def _package(file: Path) -> Package:
    control = subprocess.run(  # noqa: S603  a command of this file
        ["dpkg-deb", "--field", str(file)],  # noqa: S607  found before
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    fields = message_from_string(control)
    return Package(file, fields["Package"], fields["Version"], fields["Architecture"], control)
