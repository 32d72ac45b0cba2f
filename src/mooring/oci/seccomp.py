"""Which system calls a container may make: the default profile, and those of the node's owner."""

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

import msgspec

from mooring.host import no_follow
from mooring.host.refusal import reason
from mooring.model.document import Doc
from mooring.oci import seccomp_calls as calls
from mooring.oci.contract import Confinement, RuntimeRefused, SeccompKind

PROFILE_LIMIT: Final = 1024 * 1024  # bytes; the default one has 10 KB

_ALLOW, _REFUSE = "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"
_NO_SUCH_CALL = 38  # ENOSYS
_ADMIN = "CAP_SYS_ADMIN"
# Namespaces of every kind but time, whose bit clone(2) uses for something else.
_NEW_NAMESPACES = 0x7E020000
_AF_ALG, _AF_VSOCK = 38, 40
_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)  # Linux, 32 bit, as asked


class Profile(msgspec.Struct, frozen=True, rename="camel"):
    """As much of a profile as must be right for it to confine anything."""

    default_action: str
    syscalls: tuple[msgspec.Raw, ...] = ()


def default(capabilities: Collection[str], machine: str) -> Doc:
    """The profile of `RuntimeDefault`: what containerd's lets a container with these call. Pure.

    Raises: RuntimeRefused for a kind of machine that it has not been written for.
    """
    architectures = calls.ARCHITECTURES.get(machine)
    if architectures is None:
        raise RuntimeRefused(f"there is no default seccomp profile for {machine}")
    allowed = {*calls.ALWAYS, *calls.OF_MACHINE[machine]}
    for capability in capabilities:
        allowed.update(calls.WITH_CAPABILITY.get(capability, ()))
    return {
        "defaultAction": _REFUSE,
        "architectures": list(architectures),
        "syscalls": [
            {"names": sorted(allowed), "action": _ALLOW},
            *_with_arguments(is_admin=_ADMIN in capabilities),
        ],
    }


def _with_arguments(*, is_admin: bool) -> Iterator[Doc]:
    # Every family but those of the kernel's cryptography and of virtual machines' hosts. Each
    # range is a rule of its own: the runtime takes two conditions on one argument for "or".
    yield _if("socket", 0, _AF_ALG, "SCMP_CMP_LT")
    yield _if("socket", 0, _AF_ALG + 1, "SCMP_CMP_EQ")
    yield _if("socket", 0, _AF_VSOCK, "SCMP_CMP_GT")
    for personality in _PERSONALITIES:
        yield _if("personality", 0, personality, "SCMP_CMP_EQ")
    if not is_admin:
        yield _if("clone", 0, _NEW_NAMESPACES, "SCMP_CMP_MASKED_EQ", 0)
        # Its flags are in memory, where no filter sees them. A C library falls back to clone.
        yield {"names": ["clone3"], "action": _REFUSE, "errnoRet": _NO_SUCH_CALL}


def _if(name: str, index: int, value: int, op: str, second: int | None = None) -> Doc:
    argument: Doc = {"index": index, "value": value, "op": op}
    if second is not None:
        argument["valueTwo"] = second
    return {"names": [name], "action": _ALLOW, "args": [argument]}


def load(directory: Path, name: str) -> msgspec.Raw:
    """A profile of the node's owner: the file `name` below `directory`; blocks.

    Links are followed, and lead nowhere out of `directory`.
    Raises: RuntimeRefused when there is none, or it is none.
    """
    path = directory / name
    try:
        content = _read(directory, name)
    except OSError as error:
        why = f"open {path}: {reason(error.errno or 0)}"
        raise RuntimeRefused(f'cannot load seccomp profile "{path}": {why}') from error
    try:
        msgspec.json.decode(content, type=Profile)
    except msgspec.DecodeError as error:
        raise RuntimeRefused(f'cannot load seccomp profile "{path}": {error}') from error
    return msgspec.Raw(content)


def _read(directory: Path, name: str) -> bytes:
    root = os.open(directory, no_follow.DIRECTORY)
    try:
        # Without waiting: a FIFO of that name would have us wait for ever.
        opened = no_follow.open_in_root(root, name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    finally:
        os.close(root)
    with os.fdopen(opened, "rb") as file:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode) or found.st_size > PROFILE_LIMIT:
            raise RuntimeRefused(
                f'cannot load seccomp profile "{directory / name}": no file of at most '
                f"{PROFILE_LIMIT} bytes"
            )
        return file.read(PROFILE_LIMIT)


def profile(
    wish: Confinement, directory: Path, capabilities: Collection[str], machine: str
) -> Doc | msgspec.Raw | None:
    """What goes into the bundle; None: nothing is filtered. Raises: RuntimeRefused."""
    match wish.seccomp:
        case SeccompKind.UNCONFINED:
            return None
        case SeccompKind.DEFAULT:
            return default(capabilities, machine)
        case SeccompKind.LOCALHOST:
            return load(directory, wish.seccomp_profile)
