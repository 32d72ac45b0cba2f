"""Programs are started while drivers are being called: gRPC must keep out of that."""

import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

SCRIPT = """
import asyncio, os, pathlib, sys
import mooring
import grpc
from mooring.csi.channel import Connection
from mooring.csi.identity import Identity
from tests.fakes.csi_driver import FakeCsiDriver

async def main(socket):
    async with FakeCsiDriver(pathlib.Path(socket)), Connection(socket) as connection:
        calls = [asyncio.create_task(Identity(connection).probe(within=20)) for _ in range(50)]
        for _ in range(20):
            await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            child = os.fork()
            if not child:
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        await asyncio.gather(*calls)

asyncio.run(main(sys.argv[1]))
"""


async def test_grpc_takes_no_part_in_a_fork(tmp_path: Path) -> None:
    """With its fork support on, gRPC complains here, and children die now and then."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        SCRIPT,
        str(tmp_path / "csi.sock"),
        cwd=ROOT,
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await process.communicate()
    assert (process.returncode, errors.decode()) == (0, "")
