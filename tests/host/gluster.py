"""A GlusterFS server of its own: the management daemon, and one brick; on free ports of loopback.

The brick is started by hand, since the daemon's own bricks would look for it at its usual port.
"""

import asyncio
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from tests.fakes.waiting import until

ADDRESS = "127.0.0.2"  # a volume must not name 127.0.0.1
VOLUME = "v1"
SECONDS_TO_START = 20.0
TOOLS = ("glusterd", "glusterfsd", "gluster", "mount.glusterfs")


class Gluster(msgspec.Struct, frozen=True):
    port: int  # of the daemon that tells what a volume is made of
    brick: Path  # the files, as they are on the server


@contextmanager
def running() -> Iterator[Gluster]:
    # Not in pytest's directory: the name of a socket is too long there.
    place = Path(tempfile.mkdtemp(prefix="gluster-"))
    (place / "brick").mkdir()
    port, brick_port = free_port(), free_port()
    (place / "glusterd.vol").write_text(MANAGEMENT.format(place=place, port=port))
    (place / "brick.vol").write_text(BRICK.format(place=place, port=brick_port))
    log = ("--log-file", str(place / "server.log"))
    programs = []
    try:
        for name in ("glusterd", "glusterfsd"):
            volfile = place / ("glusterd.vol" if name == "glusterd" else "brick.vol")
            pid_file = ("--pid-file", str(place / f"{name}.pid"))
            argv = (name, "--no-daemon", "--volfile", str(volfile), *pid_file, *log)
            programs.append(subprocess.Popen(argv))  # noqa: S603  a test's own words
        create_volume(place)
        for name in (f"trusted-{VOLUME}.tcp-fuse.vol", f"{VOLUME}.tcp-fuse.vol"):
            (place / "state/vols" / VOLUME / name).write_text(CLIENT.format(port=brick_port))
        wait_for(brick_port)
        yield Gluster(port, place / "brick")
    finally:
        for program in programs:
            program.terminate()
        for program in programs:
            try:
                program.wait(10)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
        shutil.rmtree(place)


def create_volume(place: Path) -> None:
    asked = f"--glusterd-sock={place}/glusterd.sock"
    create = ("volume", "create", VOLUME, f"{ADDRESS}:{place}/brick", "force")
    argv = ("gluster", "--mode=script", asked, *create)

    def is_made() -> bool:
        made = subprocess.run(argv, capture_output=True, check=False)  # noqa: S603  a test's words
        return made.returncode == 0

    asyncio.run(until(is_made, SECONDS_TO_START))


def wait_for(port: int) -> None:
    def is_listening() -> bool:
        with suppress(OSError), socket.create_connection((ADDRESS, port), 1):
            return True
        return False

    asyncio.run(until(is_listening, SECONDS_TO_START))


def free_port() -> int:
    with socket.create_server((ADDRESS, 0)) as server:
        return int(server.getsockname()[1])


MANAGEMENT = """
volume management
  type mgmt/glusterd
  option working-directory {place}/state
  option run-directory {place}/run
  option transport-type socket
  option transport.address-family inet
  option transport.socket.bind-address 127.0.0.2
  option transport.socket.listen-port {port}
  option glusterd-sockfile {place}/glusterd.sock
end-volume
"""
BRICK = """
volume files
  type storage/posix
  option directory {place}/brick
end-volume
volume brick
  type features/locks
  subvolumes files
end-volume
volume server
  type protocol/server
  option transport-type tcp
  option transport.socket.bind-address 127.0.0.2
  option transport.socket.listen-port {port}
  option auth.addr.brick.allow *
  subvolumes brick
end-volume
"""
CLIENT = """
volume v1
  type protocol/client
  option transport-type tcp
  option remote-host 127.0.0.2
  option remote-port {port}
  option remote-subvolume brick
end-volume
"""
