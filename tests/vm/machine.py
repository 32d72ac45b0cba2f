"""A machine with Debian's stock kernel, by software emulation, on this machine's own root.

The root is shared over 9p, read-only, below an overlay in memory: all that is installed here is
there, under the same paths, and whatever is written there is gone with the machine. Two machines
meet on a wire, and share one directory that both can write to.
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
WIRED = """modprobe virtio_net; ip link set eth0 up; ip address add {address}/24 dev eth0
mkdir -p {shared}; mount -t 9p -o trans=virtio,version=9p2000.L,cache=none shared {shared}
"""
SHARED = Path("/run/shared")  # in both machines
START = """export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t tmpfs tmpfs /run; mkdir -p /dev/pts /dev/shm /run/lock
mount -t devpts devpts /dev/pts; mount -t tmpfs tmpfs /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup; ip link set lo up; hostname mooring-vm
mkdir -p /lib/modules; ln -sfn {modules} /lib/modules/{version}; depmod -a 2>/dev/null
{wired}cd {tree}
{command}
echo "{ended} $?"
echo o > /proc/sysrq-trigger; sleep 60
"""


class Size(msgspec.Struct, frozen=True):
    cpus: int = 2
    megabytes: int = 4096
    seconds: int = 5400


class Wire(msgspec.Struct, frozen=True):
    """What joins two machines: a directory of this machine, with the wire's socket in it."""

    directory: Path
    number: int  # of the machine, which is also the end of its address: 1 or 2

    @property
    def address(self) -> str:
        return address_of(self.number)

    @property
    def flags(self) -> tuple[str, ...]:
        """The first machine has to be started first."""
        end = "on" if self.number == 1 else "off"
        place = f"addr.type=unix,addr.path={self.directory / 'wire'}"
        card = f"virtio-net-pci,netdev=wire,mac=52:54:00:12:34:0{self.number}"
        files = f"local,path={self.directory / 'shared'},mount_tag=shared,security_model=none"
        return (
            *("-netdev", f"stream,id=wire,server={end},{place}", "-device", card),
            *("-virtfs", files),
        )


def address_of(number: int) -> str:
    return f"10.11.12.{number}"


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


class Machine:
    """One that boots, and runs a shell command in `tree` as root."""

    def __init__(self, cache: Path, tree: Path, command: str, size: Size, wire: Wire) -> None:
        check_programs()
        version = fetch_kernel(cache)
        modules = cache / "lib/modules" / version
        own = cache / f"machine-{wire.number}"
        own.mkdir(exist_ok=True)
        start = own / "start.sh"
        words = {"modules": modules, "version": version, "tree": tree, "ended": ENDED}
        wired = WIRED.format(address=wire.address, shared=SHARED)
        start.write_text(START.format(command=command, wired=wired, **words))
        initrd = _pack(own, modules, INIT.replace("{start}", str(start)))
        qemu = (*_qemu(cache / f"boot/vmlinuz-{version}", initrd, size), *wire.flags)
        self._process = subprocess.Popen(  # noqa: S603  our own words
            ["timeout", str(size.seconds), *qemu],  # noqa: S607
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def lines(self) -> Iterator[str]:
        """Of its console; afterwards it is gone."""
        with self._process:
            try:
                for line in self._process.stdout or ():
                    yield line.decode(errors="replace").rstrip("\r\n")
            finally:
                self.pull_the_plug()

    def pull_the_plug(self) -> None:
        """QEMU ends at once; what runs inside is told nothing."""
        self._process.terminate()


def _qemu(kernel: Path, initrd: Path, size: Size) -> Sequence[str]:
    root = "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"
    return (
        *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max"),
        *("-smp", str(size.cpus), "-m", str(size.megabytes), "-nographic", "-no-reboot"),
        *("-kernel", str(kernel), "-initrd", str(initrd), "-nic", "none"),
        *("-append", "console=ttyS0 quiet loglevel=1 panic=-1", "-virtfs", root),
    )


def _pack(own: Path, modules: Path, init: str) -> Path:
    """What the kernel starts with: busybox, and the modules that its root needs."""
    place = own / "initrd"
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
    image = own / "initrd.cpio"
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
