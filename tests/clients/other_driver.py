"""Somebody else's CSI driver: `python -m tests.clients.other_driver SOCKET [RPC ...]`.

It forgets everything when it is killed, and hangs in the RPCs that are named.
"""

import asyncio
import sys
from pathlib import Path

from mooring.csi.capability import PluginService
from mooring.testing.csi_state import CsiState
from tests.fakes.csi_driver import FakeCsiDriver, run

TOPOLOGY = {"topology.fake.csi.mooring.dev/rack": "r1"}

if __name__ == "__main__":
    state = CsiState(topology=TOPOLOGY)
    state.plugin.add(PluginService.GROUP_CONTROLLER_SERVICE)
    driver = FakeCsiDriver(Path(sys.argv[1]), state)
    asyncio.run(run(driver, sys.argv[2:]))
