"""Real kubectl binaries, old and new: the one on PATH, and those that Debian's suites package.

A machine without kubectl gets one here, into the git-ignored `.cache`; nothing is installed
outside of it. `python -m tests.clients.find_kubectl` says what this machine has to offer.
"""

import fcntl
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

import msgspec

CACHE = Path(__file__).parents[2] / ".cache" / "kubectl"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
DOWNLOAD_SECONDS = 120
FIRST_WORD_SECONDS = 30
VERSION = re.compile(r"v(\d+)\.(\d+)\.\d+")


class Age(Enum):
    """Which kubectl a test runs: what they send differs (OpenAPI v2 or v3, JSON or protobuf)."""

    OLD = "old"
    USUAL = "usual"
    NEW = "new"


class Package(msgspec.Struct, frozen=True):
    """Where Debian keeps a kubectl."""

    suite: str
    name: str


PACKAGES = {
    Age.OLD: Package("bookworm", "kubernetes-client"),  # 1.20
    Age.USUAL: Package("trixie", "kubectl"),  # 1.32
    Age.NEW: Package("forky", "kubectl"),  # 1.36 and later
}


class Binary(msgspec.Struct, frozen=True):
    path: Path
    version: tuple[int, int]


class Missing(Exception):
    """This kubectl cannot be had here; the text says why."""


def find_kubectl(age: Age) -> Binary:
    """The one on PATH serves as the usual one; others come from Debian, once. Raises Missing."""
    if age is Age.USUAL and (on_path := shutil.which("kubectl")):
        return _asked_for_its_version(Path(on_path))
    package = PACKAGES[age]
    target = CACHE / package.suite / "kubectl"
    with _locked(CACHE):
        if not target.exists():
            _unpack(package, target)
    return _asked_for_its_version(target)


def _asked_for_its_version(path: Path) -> Binary:
    said = _run([str(path), "version", "--client"], FIRST_WORD_SECONDS)
    found = VERSION.search(said)
    if found is None:
        raise Missing(f"{path} does not tell its version but {said!r}")
    return Binary(path, (int(found[1]), int(found[2])))


def _unpack(package: Package, target: Path) -> None:
    """Download the package with apt and take the binary out of it."""
    source = f"deb{_signature()} {_archive()} {package.suite} main\n"
    state = target.parent / "apt"
    shutil.rmtree(state, ignore_errors=True)
    for part in ("lists/partial", "cache/archives/partial", "parts", "unpacked"):
        (state / part).mkdir(parents=True)
    (state / "status").touch()  # so that what is installed here has no say
    (state / "sources.list").write_text(source)
    apt = ["apt-get", "--quiet", *_options(state)]
    _run([*apt, "update"], DOWNLOAD_SECONDS)
    _run([*apt, "download", package.name], DOWNLOAD_SECONDS, state)
    downloaded = next(state.glob("*.deb"))
    _run(["dpkg-deb", "-x", str(downloaded), str(state / "unpacked")], DOWNLOAD_SECONDS)
    (state / "unpacked/usr/bin/kubectl").rename(target)
    shutil.rmtree(state)


def _options(state: Path) -> Iterator[str]:
    """apt settings that keep it inside `state` and away from what a binary does not need."""
    settings = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": state / "parts",
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "Acquire::http::Timeout": 20,
        "Acquire::https::Timeout": 20,
    }
    for name, value in settings.items():
        yield "-o"
        yield f"{name}={value}"


def _archive() -> str:
    """The Debian archive that this machine itself uses."""
    try:
        about = platform.freedesktop_os_release()
    except OSError:
        about = {}
    if about.get("ID") != "debian" or not shutil.which("apt-get"):
        raise Missing("it is fetched from Debian's archive, and this machine is none of Debian's")
    shown = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    targets = _run(
        ["apt-get", "indextargets", "--format", shown, "Created-By: Packages"], FIRST_WORD_SECONDS
    )
    for line in targets.splitlines():
        address, _, rest = line.partition(" ")
        if rest == f"{about.get('VERSION_CODENAME')} main":
            return address
    raise Missing("apt is not set up with a Debian archive")


def _signature() -> str:
    return f" [signed-by={KEYRING}]" if KEYRING.exists() else ""


def _run(command: list[str], seconds: float, directory: Path | None = None) -> str:
    try:
        ran = subprocess.run(  # noqa: S603  commands of this file
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            cwd=directory,
            env=os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{' '.join(command[:3])}: {error}") from error
    if ran.returncode:
        raise Missing(f"{' '.join(command)}: {ran.stderr.strip() or ran.stdout.strip()}")
    return ran.stdout


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """One process at a time: test workers start together and want the same binary."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _main() -> None:
    for age in Age:
        try:
            found = find_kubectl(age)
            answer = f"{found.path} ({found.version[0]}.{found.version[1]})"
        except Missing as reason:
            answer = f"not to be had: {reason}"
        sys.stdout.write(f"{age.value}: {answer}\n")


if __name__ == "__main__":
    _main()
