"""A machine with Debian's stock kernel, by software emulation, on this machine's own root.

The root is shared over 9p, read-only, below an overlay in memory: all that is installed here is
there, under the same paths, and whatever is written there is gone with the machine.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "cpio": "cpio", "busybox": "busybox-static"}
EARLY_MODULES = (  # what the root file system needs; some are built in, or gone, in some kernels
    *(f"drivers/virtio/virtio{part}" for part in ("", "_ring", "_pci_modern_dev")),
    *(f"drivers/virtio/virtio{part}" for part in ("_pci_legacy_dev", "_pci")),
    "net/9p/9pnet",
    "net/9p/9pnet_virtio",
    "fs/netfs/netfs",
    "fs/fscache/fscache",
    "fs/9p/9p",
    "fs/overlayfs/overlay",
)
ENDED = "the tests in the machine ended with"
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
cd /modules
for turn in 1 2 3; do for m in *.ko; do insmod $m 2>/dev/null; done; done  # finds their order
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=262144,cache=loose root /below
mount -t tmpfs -o size=70% memory /above
mkdir -p /above/upper /above/work
mount -t overlay -o lowerdir=/below,upperdir=/above/upper,workdir=/above/work overlay /root
for d in proc sys dev; do mount --move /$d /root/$d; done
exec switch_root /root /bin/bash {start}
"""
START = """export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t tmpfs tmpfs /run; mkdir -p /dev/pts /dev/shm /run/lock
mount -t devpts devpts /dev/pts; mount -t tmpfs tmpfs /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup; ip link set lo up; hostname mooring-vm
mkdir -p /lib/modules; ln -sfn {modules} /lib/modules/{version}; depmod -a 2>/dev/null
cd {tree}
{command}
echo "{ended} $?"
echo o > /proc/sysrq-trigger; sleep 60
"""


class Size(msgspec.Struct, frozen=True):
    cpus: int = 2
    megabytes: int = 4096
    seconds: int = 3600


class CannotBoot(Exception):
    """The text says what is missing."""


def check_programs() -> None:
    """Raises: CannotBoot."""
    missing = [package for name, package in PROGRAMS.items() if not shutil.which(name)]
    if missing:
        raise CannotBoot(f"install {' '.join(missing)}")


def fetch_kernel(cache: Path) -> str:
    """The version of the kernel that is unpacked in `cache`; fetched once. Raises: CannotBoot."""
    cache.mkdir(parents=True, exist_ok=True)
    if not list(cache.glob("boot/vmlinuz-*")):
        told = _run(["apt-cache", "depends", "linux-image-amd64"], cache)
        names = [line.split()[-1] for line in told.splitlines() if "Depends: linux-image-" in line]
        if not names:
            raise CannotBoot("apt knows no linux-image-amd64")
        _run(["apt-get", "download", "-qq", names[0]], cache)
        package = next(cache.glob(f"{names[0]}_*.deb"))
        _run(["dpkg-deb", "-x", str(package), str(cache)], cache)
        package.unlink()
    return next(cache.glob("boot/vmlinuz-*")).name.removeprefix("vmlinuz-")


def boot(cache: Path, tree: Path, command: str, size: Size) -> Iterator[str]:
    """Run a shell command in `tree` as root; yields the lines of the console."""
    check_programs()
    version = fetch_kernel(cache)
    modules = cache / "lib/modules" / version
    start = cache / "start.sh"
    start.write_text(
        START.format(modules=modules, version=version, tree=tree, command=command, ended=ENDED)
    )
    initrd = _pack(cache, modules, INIT.replace("{start}", str(start)))
    qemu = _qemu(cache / f"boot/vmlinuz-{version}", initrd, size)
    with subprocess.Popen(  # noqa: S603  our own words
        ["timeout", str(size.seconds), *qemu],  # noqa: S607
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as machine:
        try:
            for line in machine.stdout or ():
                yield line.decode(errors="replace").rstrip("\r\n")
        finally:
            machine.terminate()


def _qemu(kernel: Path, initrd: Path, size: Size) -> Sequence[str]:
    root = "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"
    return (
        *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max"),
        *("-smp", str(size.cpus), "-m", str(size.megabytes), "-nographic", "-no-reboot"),
        *("-kernel", str(kernel), "-initrd", str(initrd), "-nic", "none"),
        *("-append", "console=ttyS0 quiet panic=-1", "-virtfs", root),
    )


def _pack(cache: Path, modules: Path, init: str) -> Path:
    """What the kernel starts with: busybox, and the modules that its root needs."""
    place = cache / "initrd"
    shutil.rmtree(place, ignore_errors=True)
    for name in ("bin", "modules", "proc", "sys", "dev", "below", "above", "root"):
        (place / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "", place / "bin/busybox")
    for module in EARLY_MODULES:
        found = modules / "kernel" / f"{module}.ko"
        if found.exists():
            shutil.copy(found, place / "modules")
    (place / "init").write_text(init)
    (place / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(place)) for path in sorted(place.rglob("*")))
    packed = subprocess.run(
        ["cpio", "-o", "-H", "newc", "--quiet"],  # noqa: S607
        input=names.encode(),
        cwd=place,
        stdout=subprocess.PIPE,
        check=True,
    )
    image = cache / "initrd.cpio"
    image.write_bytes(packed.stdout)
    return image


def _run(command: Sequence[str], directory: Path) -> str:
    try:
        ran = subprocess.run(  # noqa: S603  our own words
            command,
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"LC_ALL": "C"},
        )
    except OSError as error:
        raise CannotBoot(f"{command[0]}: {error.strerror}") from error
    if ran.returncode:
        raise CannotBoot(f"{' '.join(command)}: {ran.stderr.strip()}")
    return ran.stdout
