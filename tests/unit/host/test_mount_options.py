"""The words of mount(8) become what the kernel takes."""

import pytest

from mooring.host.mount_options import (
    MountFlag,
    bind_flags,
    bind_words,
    needs_program,
    server_source,
    translate,
)

NONE = MountFlag(0)
TRANSLATIONS = {
    "nothing": ((), NONE, ""),
    "read-only is a flag": (("ro",), MountFlag.RDONLY, ""),
    "the later word wins": (("ro", "rw"), NONE, ""),
    "the later word wins, the other way": (("exec", "noexec"), MountFlag.NOEXEC, ""),
    "what the kernel does not know is data": (("size=1", "mode=700"), NONE, "size=1,mode=700"),
    "flags and data apart": (("size=1", "nosuid", "noswap"), MountFlag.NOSUID, "size=1,noswap"),
    "several in one element": (
        ("nodev,size=1", "ro"),
        MountFlag.NODEV | MountFlag.RDONLY,
        "size=1",
    ),
    "quoted commas stay together": (('context="a:b,c"',), NONE, 'context="a:b,c"'),
    "words for fstab vanish": (("defaults", "nofail", "_netdev", "x-systemd.automount"), NONE, ""),
    "a user's mount is not trusted": (
        ("user",),
        MountFlag.NOSUID | MountFlag.NODEV | MountFlag.NOEXEC,
        "",
    ),
    "unless told": (("user", "exec"), MountFlag.NOSUID | MountFlag.NODEV, ""),
    "empty options are nothing": (("", ","), NONE, ""),
}


@pytest.mark.parametrize(("options", "flags", "data"), TRANSLATIONS.values(), ids=TRANSLATIONS)
def test_translation(options: tuple[str, ...], flags: MountFlag, data: str) -> None:
    translated = translate(options)
    assert (translated.flags, translated.data) == (flags, data)


def test_a_bind_takes_only_what_a_mount_of_its_own_can_have() -> None:
    options = ("bind", "remount", "ro", "noatime", "sync", "nfsvers=4.1", "_netdev")
    assert bind_flags(options) == MountFlag.RDONLY | MountFlag.NOATIME


def test_the_words_told_of_a_bind_hold_no_secret() -> None:
    assert bind_words(("bind", "remount", "ro", "password=hunter2", "noexec")) == ("ro", "noexec")


PROGRAM = {
    "tmpfs goes to the kernel": ("tmpfs", "tmpfs", ("size=1",), False),
    "ext4 goes to the kernel": ("ext4", "/dev/sda", ("ro", "defaults", "uid=12"), False),
    "hugetlbfs goes to the kernel": ("hugetlbfs", "nodev", ("pagesize=2Mi",), False),
    "nfs has a helper": ("nfs", "server:/path", (), True),
    "fuse has one": ("fuse.sshfs", "me@host:/", (), True),
    "no type: mount(8) finds out": ("", "/dev/sda", (), True),
    "a label is looked up": ("ext4", "LABEL=data", (), True),
    "a file becomes a loop device": ("ext4", "/disk.img", ("loop",), True),
    "propagation is a call of its own": ("ext4", "/dev/sda", ("rshared",), True),
    "a directory to be made": ("ext4", "/dev/sda", ("X-mount.mkdir",), True),
    "the name of a user": ("vfat", "/dev/sda", ("uid=nobody",), True),
}


@pytest.mark.parametrize(("fs_type", "source", "options", "is_so"), PROGRAM.values(), ids=PROGRAM)
def test_what_only_mount_8_can_do(
    fs_type: str,
    source: str,
    options: tuple[str, ...],
    is_so: bool,  # noqa: FBT001  a column
) -> None:
    assert needs_program(fs_type, source, options) is is_so


SOURCES = {
    "a host name": ("server.example", "server.example:/path"),
    "IPv4": ("10.0.0.1", "10.0.0.1:/path"),
    "IPv6 in brackets": ("fd00::1", "[fd00::1]:/path"),
    "IPv6 already in brackets": ("[fd00::1]", "[fd00::1]:/path"),
}


@pytest.mark.parametrize(("server", "source"), SOURCES.values(), ids=SOURCES)
def test_the_source_on_a_server(server: str, source: str) -> None:
    assert server_source(server, "/path") == source
