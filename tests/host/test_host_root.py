"""Containers on the host's root: what they see of this machine, and what nobody can show them."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mooring.errors import HostError
from mooring.host.as_nobody import as_nobody
from mooring.host.mount import Mounts
from mooring.host.mountinfo import read_table
from mooring.oci import rootfs
from mooring.oci.contract import Bind, Privileges
from mooring.oci.host_root import HOST_DIRECTORY, HostRoot, put_away
from mooring.oci.records import ContainerDirectory
from tests.host.containers import World

PROMPTLY = 20  # seconds
MARK = "a-secret-of-the-host-"
# What a root has, whoever's it is; the rest are links into /usr, or programs.
OWN = {*("dev", "etc", "home", "media", "mnt", "opt", "proc"), *("root", "run", "srv", "sys")}
OWN |= {"tmp", "usr", "var"}
PROGRAMS = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"}


@pytest.fixture
def planted(needs_root: None) -> Iterator[Path]:
    """A directory among the host's programs, with files for everybody and for root alone."""
    directory = Path(f"/usr/local/share/mooring-test-{secrets.token_hex(4)}")
    directory.mkdir(mode=0o755)
    try:
        (directory / "public").write_text("public")
        (directory / "public").chmod(0o644)
        (directory / "private").write_text(MARK + "file")
        (directory / "private").chmod(0o640)
        (directory / "closed").mkdir(mode=0o700)
        (directory / "closed" / "within").write_text(MARK + "within")
        yield directory
    finally:
        shutil.rmtree(directory)


@pytest.fixture
def secret_in_etc(needs_root: None) -> Iterator[Path]:
    path = Path(f"/etc/mooring-test-{secrets.token_hex(4)}.conf")
    path.write_text(MARK + "configuration")
    try:
        yield path
    finally:
        path.unlink()


RIGHTS = {"as usual": Privileges(), "privileged": Privileges(is_privileged=True)}


@pytest.mark.parametrize("rights", RIGHTS.values(), ids=RIGHTS)
async def test_nothing_is_there_that_a_program_does_not_need(
    world: World, planted: Path, secret_in_etc: Path, rights: Privileges
) -> None:
    """Everything but /usr is read from end to end; there, what is not for everybody is tried."""
    (world.root / "node.kubeconfig").parent.mkdir(parents=True, exist_ok=True)
    (world.root / "node.kubeconfig").write_text(MARK + "kubeconfig")
    script = f"""
        set -u
        echo tops: $(ls -A /)
        echo empty: $(ls -A /root /home /tmp /var/tmp /var/lib /opt /mnt /srv /media | grep -v :$)
        for top in /*; do
            case $top in /proc|/sys|/dev|/usr) continue;; esac
            find $top -xdev -type f
        done > /tmp/.files
        echo found: $(grep -E 'shadow|sudoers|kube|ssh|\\.conf$|mooring' /tmp/.files |
            grep -vE '^/etc/(ld.so|nsswitch|host|gai|mke2fs|xattr|ca-certificates|resolv)\\.conf$' |
            grep -vE '^/etc/(fonts|ld.so.conf.d|java-[^/]*|perl|python3[^/]*)/')
        echo marked: $(xargs -d '\\n' grep -l {MARK} < /tmp/.files | grep -v .files)
        echo private: $(find /usr -xdev -type f ! -perm -004 -readable)
        cat {planted}/public {planted}/private {planted}/closed/within 2>&1
        chmod 777 {planted}/private {planted}/closed; chown 7 {planted}/private
        ln {planted}/private /usr/link
        mv {planted}/private /usr/moved
        mv {planted}/closed /usr/open
        cat /usr/link /usr/moved /usr/open/within {planted}/private {planted}/closed/within 2>&1
    """
    code, output = await world.run(world.script(script, image=None, privileges=rights))
    lines = dict(line.partition(":")[::2] for line in output.splitlines()[:5])
    assert set(lines["tops"].split()) - PROGRAMS == OWN
    assert {name: lines[name].strip() for name in ("empty", "found", "marked", "private")} == {
        "empty": "",
        "found": "",
        "marked": "",
        "private": "",
    }
    assert output.splitlines()[5].startswith("public")
    assert MARK not in "".join(output.splitlines()[5:])
    assert code == 1


async def test_there_is_no_cover_that_could_be_taken_away(world: World) -> None:
    seen = "/usr/* /root/* /var/lib/* /etc/shadow* /*/"
    script = f"umount -l /usr; for each in {seen}; do echo $each; done"
    rights = Privileges(is_privileged=True)
    code, output = await world.run(world.script(script, image=None, privileges=rights))
    lines = output.splitlines()
    assert (code, lines[:4]) == (0, ["/usr/*", "/root/*", "/var/lib/*", "/etc/shadow*"])
    assert {line.strip("/") for line in lines[4:]} - PROGRAMS == OWN


async def test_a_file_that_becomes_private_later_is_private_at_once(
    world: World, planted: Path
) -> None:
    waits = f"while test -r {planted}/public; do sleep 0.02; done; cat {planted}/public"
    id = await world.start(world.script(f"{waits}; exit 7", image=None))
    (planted / "public").chmod(0o600)
    assert (await world.end_of(id)).exit_code == 7
    await world.containers.remove(id)


async def test_what_it_writes_is_its_own_everywhere(world: World, planted: Path) -> None:
    script = (
        "echo mine > /var/of-container && echo mine > /usr/of-container && "
        f"echo more >> {planted}/public && rm -r {planted}/closed; "
        "cat /var/of-container /usr/of-container; adduser --version > /dev/null; id -un"
    )
    code, output = await world.run(world.script(script, image=None))
    assert (code, output) == (0, "mine\nmine\nroot\n")
    assert "of-container" not in {*os.listdir("/var"), *os.listdir("/usr")}
    assert (planted / "public").read_text() == "public"
    assert (planted / "closed" / "within").exists()


async def test_volumes_are_mounted_where_the_host_has_nothing(world: World, place: Path) -> None:
    volume = place / "volume"
    volume.mkdir()
    bind = Bind(volume, "/usr/share/nowhere/deep")
    spec = world.script("echo kept > /usr/share/nowhere/deep/file", image=None, binds=(bind,))
    assert (await world.run(spec))[0] == 0
    assert (volume / "file").read_text() == "kept\n"
    assert "nowhere" not in os.listdir("/usr/share")


async def test_a_root_that_is_read_only_is_so_below_too_and_volumes_are_not(
    world: World, place: Path
) -> None:
    volume = place / "volume"
    volume.mkdir()
    script = "touch /usr/x || touch /etc/x || touch /usr/bin/x || touch /usr/share/v/file"
    script += " && ls /usr/share/v"
    for rights in RIGHTS.values():
        spec = world.script(
            script,
            image=None,
            binds=(Bind(volume, "/usr/share/v"),),
            privileges=Privileges(can_write_root=False, is_privileged=rights.is_privileged),
        )
        assert await world.run(spec) == (0, "file\n")


async def test_our_own_data_among_the_programs_is_not_there(world: World, planted: Path) -> None:
    """Also if everybody may read it."""
    world.own_paths = (planted,)
    await world.stop()
    async with world.running():
        script = f"ls {planted}; ls -d {planted.parent}"
        assert await world.run(world.script(script, image=None)) == (0, f"{planted.parent}\n")


@pytest.fixture
def other_machine(needs_root: None) -> Iterator[Path]:
    """A directory that everybody can enter, unlike those of tests."""
    with tempfile.TemporaryDirectory(prefix="mooring-test-") as place:
        Path(place).chmod(0o755)
        yield Path(place)


def test_it_is_made_once_anew_when_accounts_change_and_put_away(
    mounts: Mounts, place: Path, other_machine: Path
) -> None:
    host, directory = other_machine, place / HOST_DIRECTORY
    for name in ("usr/bin", "etc"):
        (host / name).mkdir(parents=True)
    (host / "bin").symlink_to("usr/bin")
    (host / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    offered = HostRoot(mounts, directory, (), host)
    with offered.shown() as shown:
        first = read_table().find(directory)
        assert [part.name for part in shown.parts] == ["usr"]
        assert os.readlink(shown.root / "bin") == "usr/bin"
    with offered.shown():
        assert read_table().find(directory) == first
    (host / "etc/passwd").write_text("root:x:0:0::/root:/bin/bash\n")
    os.utime(host / "etc/passwd", ns=(1, 1))
    with offered.shown() as shown:
        assert "bash" in (shown.root / "etc/passwd").read_text()
    # A process that was killed has left it; the next one makes its own.
    with HostRoot(mounts, directory, (), host).shown() as shown:
        assert (shown.root / "etc/passwd").exists()
    assert len(read_table().below(directory)) == 2
    put_away(mounts, directory)
    put_away(mounts, directory)
    assert read_table().below(directory) == ()


def test_nobody_reads_what_is_private_and_the_caller_still_may(planted: Path) -> None:
    groups = os.getgroups()
    with pytest.raises(PermissionError):
        as_nobody((planted / "private").read_text)
    assert as_nobody((planted / "public").read_text) == "public"
    assert (planted / "private").read_text().startswith(MARK)
    assert os.getgroups() == groups


def test_rights_that_cannot_be_laid_down_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "pdp11")
    with pytest.raises(HostError, match="cannot be seen as nobody sees them on pdp11"):
        as_nobody(lambda: None)


def test_who_is_just_mounting_it_does_not_lose_it(
    mounts: Mounts, place: Path, other_machine: Path
) -> None:
    (other_machine / "usr/bin").mkdir(parents=True)
    (other_machine / "etc").mkdir()
    (other_machine / "etc/passwd").write_text("old")
    offered = HostRoot(mounts, place / HOST_DIRECTORY, (), other_machine)

    def read() -> str:
        with offered.shown() as shown:
            return (shown.root / "etc/passwd").read_text()

    with ThreadPoolExecutor() as others:
        with offered.shown() as shown:
            (other_machine / "etc/passwd").write_text("new")
            os.utime(other_machine / "etc/passwd", ns=(1, 1))
            waiting = others.submit(read)
            assert (shown.root / "etc/passwd").read_text() == "old"
        assert waiting.result(PROMPTLY) == "new"
    put_away(mounts, place / HOST_DIRECTORY)


def test_on_an_old_kernel_the_hosts_programs_can_only_be_read(
    mounts: Mounts, place: Path, other_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rootfs, "kernel_version", lambda: (5, 4))
    for name in ("usr", "etc"):
        (other_machine / name).mkdir()
    (other_machine / "usr/program").write_text("runs")
    offered = HostRoot(mounts, place / HOST_DIRECTORY, (), other_machine)
    container = ContainerDirectory(place / "containers" / "1")
    container.make()
    rootfs.mount_host(mounts, container, offered)
    assert (container.rootfs / "usr/program").read_text() == "runs"
    with pytest.raises(OSError, match="Read-only"):
        (container.rootfs / "usr/program").chmod(0o777)
    rootfs.take_away(mounts, container)
    assert not container.directory.exists()
    put_away(mounts, place / HOST_DIRECTORY)


def test_where_the_hosts_root_is_an_overlay_its_programs_can_only_be_read(
    mounts: Mounts, place: Path, other_machine: Path
) -> None:
    layers = [other_machine / name for name in ("upper", "lower")]
    for directory in (*layers, other_machine / "usr", other_machine / "etc"):
        directory.mkdir()
    (layers[1] / "program").write_text("runs")
    (layers[1] / "program").chmod(0o755)
    lower = ":".join(map(str, layers))
    mounts.mount("overlay", other_machine / "usr", "overlay", ("ro", f"lowerdir={lower}"))
    try:
        offered = HostRoot(mounts, place / HOST_DIRECTORY, (), other_machine)
        container = ContainerDirectory(place / "containers" / "1")
        container.make()
        assert rootfs.mount_host(mounts, container, offered) == ("/usr",)
        assert (container.rootfs / "usr/program").read_text() == "runs"
        (container.rootfs / "etc/of-container").write_text("mine")
        with pytest.raises(OSError, match="Read-only"):
            (container.rootfs / "usr/of-container").write_text("mine")
        rootfs.take_away(mounts, container)
        assert not container.directory.exists()
        put_away(mounts, place / HOST_DIRECTORY)
    finally:
        mounts.unmount(other_machine / "usr")
