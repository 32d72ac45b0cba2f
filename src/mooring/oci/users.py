"""The user and groups of a container: numbers, or names in its own /etc/passwd and /etc/group."""

import os
import stat
from pathlib import Path

import msgspec

from mooring.host import no_follow
from mooring.host.refusal import refusals
from mooring.oci.contract import Owner, RunAsUser, RuntimeRefused

FILE_LIMIT = 16 * 1024 * 1024  # bytes; a longer one is no list of users
HIGHEST_ID = 2**31 - 1


class User(msgspec.Struct, frozen=True):
    uid: int
    gid: int
    groups: tuple[int, ...] = ()  # the gid among them


class Accounts(msgspec.Struct, frozen=True):
    """The text of the two files; a missing one is empty."""

    passwd: str = ""
    group: str = ""


class _Account(msgspec.Struct, frozen=True):
    name: str
    uid: int
    gid: int


class _Group(msgspec.Struct, frozen=True):
    name: str
    gid: int
    members: tuple[str, ...]


def refuse_root(wish: RunAsUser, owner: Owner) -> None:
    """Enforce `runAsNonRoot`, with the kubelet's text.

    Raises: RuntimeRefused for root, and for a user name, which may stand for root.
    """
    if not wish.must_not_be_root:
        return
    whose = f'(pod: "{owner.pod}_{owner.namespace}({owner.pod_uid})", container: {owner.container})'
    if wish.uid is not None:
        if wish.uid == 0:
            raise RuntimeRefused(f"container's runAsUser breaks non-root policy {whose}")
        return
    name = wish.image_user.partition(":")[0]
    if name and not name.isdecimal():
        raise RuntimeRefused(
            f"container has runAsNonRoot and image has non-numeric user ({name}), "
            f"cannot verify user is non-root {whose}"
        )
    if not name or int(name) == 0:
        raise RuntimeRefused(f"container has runAsNonRoot and image will run as root {whose}")


def resolve(wish: RunAsUser, accounts: Accounts) -> User:
    """Raises: RuntimeRefused for a name that the files do not have."""
    known = _accounts(accounts.passwd)
    name, _, group = wish.image_user.partition(":")
    if wish.uid is not None:
        group = ""  # the image's group is that of the image's user
        uid, account = wish.uid, _with_uid(known, wish.uid)
    elif not name or name.isdecimal():
        uid = int(name or "0")
        account = _with_uid(known, uid)
    else:
        account = next((each for each in known if each.name == name), None)
        if account is None:
            raise RuntimeRefused(f"unable to find user {name}: no matching entries in passwd file")
        uid = account.uid
    groups = _groups(accounts.group)
    gid = wish.gid if wish.gid is not None else _gid(group, groups, account)
    of_image = (
        [each.gid for each in groups if account.name in each.members]
        if account is not None and wish.with_image_groups
        else []
    )
    user = User(uid, gid, tuple(dict.fromkeys((gid, *of_image, *wish.groups))))
    if not all(0 <= number <= HIGHEST_ID for number in (user.uid, *user.groups)):
        raise RuntimeRefused(f"uids and gids must be in range 0-{HIGHEST_ID}")
    return user


def read_accounts(rootfs: Path) -> Accounts:
    """The files of the root file system at `rootfs`, through no link that leads out of it.

    Raises: HostError; RuntimeRefused for what is no list of users.
    """
    with refusals(f"open {rootfs}"):
        root = os.open(rootfs, no_follow.DIRECTORY)
    try:
        return Accounts(_read(root, "etc/passwd"), _read(root, "etc/group"))
    finally:
        os.close(root)


def _read(root: int, name: str) -> str:
    try:
        # Without waiting: a FIFO of that name would have us wait for ever.
        opened = no_follow.open_in_root(root, name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return ""  # none, or none that can be read: no name is found in it
    with os.fdopen(opened, "rb") as file:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_LIMIT:
            raise RuntimeRefused(f"/{name} of the image is no file that could be a list of users")
        return file.read(FILE_LIMIT).decode(errors="replace")


def _gid(group: str, groups: list[_Group], account: _Account | None) -> int:
    if group.isdecimal():
        return int(group)
    if group:
        found = next((each for each in groups if each.name == group), None)
        if found is None:
            raise RuntimeRefused(f"unable to find group {group}: no matching entries in group file")
        return found.gid
    return account.gid if account is not None else 0


def _with_uid(accounts: list[_Account], uid: int) -> _Account | None:
    return next((each for each in accounts if each.uid == uid), None)


def _accounts(text: str) -> list[_Account]:
    """Lines that are no accounts are passed over, as the C library does."""
    found = []
    for line in text.splitlines():
        match line.split(":"):
            case [name, _, uid, gid, *_] if uid.isdecimal() and gid.isdecimal():
                found.append(_Account(name, int(uid), int(gid)))
            case _:
                pass
    return found


def _groups(text: str) -> list[_Group]:
    found = []
    for line in text.splitlines():
        match line.split(":"):
            case [name, _, gid, members, *_] if gid.isdecimal():
                names = tuple(member.strip() for member in members.split(",") if member.strip())
                found.append(_Group(name, int(gid), names))
            case _:
                pass
    return found
