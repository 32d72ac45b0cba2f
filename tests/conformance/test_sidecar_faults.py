"""The test of `tests/clients/test_sidecar_faults.py` with every code of gRPC, in many orders."""

from random import Random

import pytest

from mooring.csi.outcome import Code
from tests.clients.csi import short_directory, sidecar_process
from tests.clients.faults import CALL_SECONDS, Life, a_driver, every_fault
from tests.fakes.csi_driver import Behaviour
from tests.fakes.real_server import RealServer, own_server  # noqa: F401  a fixture

COUNT = 80
CODES = [code for code in Code if code is not Code.OK]
PATIENCE = 1200.0  # seconds: what is infeasible is tried again after minutes


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(3))
async def test_every_code_in_every_call_loses_and_leaks_nothing(
    own_server: RealServer,  # noqa: F811  the fixture
    seed: int,
) -> None:
    def faults(rpc: str) -> list[Behaviour]:
        found = every_fault(CODES)
        Random(f"{seed} {rpc}").shuffle(found)  # noqa: S311  not for secrets
        return found

    with short_directory() as place:
        async with a_driver(place / "csi.sock") as driver:
            flags = ("all", "--timeout", str(CALL_SECONDS), "--no-leader-elect")
            kubeconfig = own_server.data_dir / "kubeconfig"
            with sidecar_process(driver.socket, kubeconfig, *flags, "--retry-interval-max", "5"):
                await Life(own_server, driver, COUNT, PATIENCE).run(faults)
