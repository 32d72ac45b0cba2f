"""Which OCI runtime works on this machine: tried, not guessed.

A runtime may be installed and yet not work: crun refuses some mixtures of cgroup versions, and
inside another container some system calls may not be permitted. So each creates a test container,
with limits, which is never started.
"""

import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

import msgspec

from mooring.errors import CommandFailed, HostError
from mooring.host.blocking import in_thread
from mooring.host.command import find_program
from mooring.oci import bundle, capabilities, cgroups, process
from mooring.oci.contract import ContainerSpec, Limits, Owner, RunAsUser
from mooring.oci.runc import Runc, RuntimeProgram, explain
from mooring.oci.users import User

REMEDY = "install runc and conmon: apt-get install runc conmon"
AS_ROOT = "run mooring as root"
RUNTIMES = ("runc", "crun")
OLDEST_CONMON = (2, 1)
CONMON_ELSEWHERE = (
    "/usr/libexec/podman/conmon",
    "/usr/lib/podman/conmon",
    "/usr/libexec/crio/conmon",
)
_FILTERS = re.compile(rb"^libseccomp:|\+SECCOMP", re.MULTILINE)
TRIAL = "trial"  # an executable file that is never run


class NoRuntime(msgspec.Struct, frozen=True):
    """Why no container can run here, and what would help; one line."""

    reason: str


Probed: TypeAlias = RuntimeProgram | NoRuntime


async def probe(runtimes: Sequence[str] = RUNTIMES) -> Probed:
    """The first of the runtimes that works here, together with conmon."""
    conmon = await in_thread(_find_conmon)
    if conmon is None:
        return NoRuntime(f"containers cannot run: there is no conmon; {REMEDY}")
    found = await in_thread(_find_programs, runtimes)
    if not found:
        return NoRuntime(f"containers cannot run: there is no {' or '.join(runtimes)}; {REMEDY}")
    try:
        await _check_age(conmon)
        failures = []
        for name, path in found:
            program = RuntimeProgram(path=path, conmon=conmon, is_cgroup_v2=cgroups.is_v2())
            complaint = await _try(program)
            if not complaint:
                return await _with_features(program)
            failures.append(f"{name}: {complaint}")
    except HostError as error:
        return NoRuntime(f"containers cannot run: {_line(str(error))}")
    remedy = "" if os.geteuid() == 0 else f"; {AS_ROOT}"
    return NoRuntime(f"containers cannot run: {'; '.join(failures)}{remedy}")


async def _try(program: RuntimeProgram) -> str:
    """Have a container made. Returns: what the runtime complains of."""
    directory = await in_thread(partial(tempfile.TemporaryDirectory, prefix="mooring-probe-"))
    try:
        place = Path(directory.name)
        id = uuid4().hex * 2
        await in_thread(_write_bundle, place, id, is_v2=program.is_cgroup_v2)
        runc = Runc(program, place / "state", at_once=1)
        try:
            await process.check(runc.argv("create", "--bundle", str(place), id))
            return ""
        except CommandFailed as failed:
            return _line(explain(failed.output))
        finally:
            await process.finished(_clean_up(runc, id))
    finally:
        await in_thread(directory.cleanup)


def _find_programs(names: Sequence[str]) -> list[tuple[str, Path]]:
    return [(name, path) for name in names if (path := find_program(name)) is not None]


async def _clean_up(runc: Runc, id: str) -> None:
    with suppress(HostError):  # when it could not even be made
        await runc.delete(id)
    await in_thread(cgroups.remove_pod, id[:32])


def _write_bundle(place: Path, id: str, *, is_v2: bool) -> None:
    rootfs = place / "rootfs"
    rootfs.mkdir()
    (rootfs / TRIAL).touch(mode=0o755)
    spec = ContainerSpec(
        id=id,
        owner=Owner(namespace="", pod="", pod_uid=id[:32], container=TRIAL, attempt=0),
        image=None,
        args=(f"/{TRIAL}",),
        environment=(),
        working_dir="/",
        user=RunAsUser(),
        hostname=TRIAL,
        log_path=place / "log",
        limits=Limits(cpu_shares=2, cpu_quota=100_000, memory=64 * 1024 * 1024, pids=64),
    )
    around = bundle.BundleContext(
        rootfs=rootfs,
        user=User(0, 0, (0,)),
        capabilities=capabilities.available(),
        is_cgroup_v2=is_v2,
    )
    (place / "config.json").write_bytes(msgspec.json.encode(bundle.document(spec, around)))


class _Seccomp(msgspec.Struct, frozen=True):
    enabled: bool = False


class _Linux(msgspec.Struct, frozen=True):
    seccomp: _Seccomp = _Seccomp()


class _Features(msgspec.Struct, frozen=True, rename="camel"):
    mount_options: tuple[str, ...] = ()
    linux: _Linux = _Linux()


async def _with_features(program: RuntimeProgram) -> RuntimeProgram:
    """What else the runtime can do; one that does not say, for it is too old, is taken to do less.

    Filtering system calls is as old as the runtimes: one that is built for that says so with its
    version.
    """
    runtime = str(program.path)
    try:
        printed = await process.check([runtime, "features"])
        found = msgspec.json.decode(printed, type=_Features)
        reads_only, filters = "rro" in found.mount_options, found.linux.seccomp.enabled
    except (CommandFailed, msgspec.DecodeError):
        reads_only = False
        filters = _FILTERS.search(await process.check([runtime, "--version"])) is not None
    return msgspec.structs.replace(program, has_recursive_read_only=reads_only, has_seccomp=filters)


def _find_conmon() -> Path | None:
    elsewhere = (Path(path) for path in CONMON_ELSEWHERE)
    return find_program("conmon") or next((path for path in elsewhere if path.exists()), None)


async def _check_age(conmon: Path) -> None:
    """Raises: HostError for a conmon that is too old for our options."""
    printed = (await process.check([str(conmon), "--version"])).decode(errors="replace")
    found = re.search(r"version (\d+)\.(\d+)", printed)
    if found and (int(found[1]), int(found[2])) < OLDEST_CONMON:
        wanted = ".".join(map(str, OLDEST_CONMON))
        raise HostError(f"conmon {found[1]}.{found[2]} is too old; install {wanted} or newer")


def _line(text: str) -> str:
    return " ".join(text.split())
