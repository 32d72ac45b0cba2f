"""`mooring sidecar all` with a driver that hangs and fails: no volume and no snapshot is lost.

Every code of gRPC, many times over: `tests/conformance/test_sidecar_faults.py`.
"""

from mooring.csi.outcome import Code
from tests.clients.csi import short_directory, sidecar_process
from tests.clients.faults import CALL_SECONDS, Life, a_driver, every_fault
from tests.fakes.real_server import RealServer

COUNT = 10
CODES = (Code.INTERNAL, Code.ABORTED, Code.UNAVAILABLE)  # others are tried again in minutes


async def test_calls_that_hang_or_fail_lose_and_leak_nothing(own_server: RealServer) -> None:
    server = own_server
    with short_directory() as place:
        async with a_driver(place / "csi.sock") as driver:
            flags = ("all", "--timeout", str(CALL_SECONDS), "--no-leader-elect")
            kubeconfig = server.data_dir / "kubeconfig"
            with sidecar_process(driver.socket, kubeconfig, *flags):
                life = Life(server, driver, COUNT, seconds=15.0)
                await life.run(lambda _: every_fault(CODES))
