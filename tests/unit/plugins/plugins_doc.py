"""`python -m tests.unit.plugins.plugins_doc`: write docs/plugins.md."""

from pathlib import Path
from typing import cast

from mooring.client.contract import Client
from mooring.plugins.csi.drivers import Drivers
from mooring.plugins.csi.plugin import CsiPlugin
from mooring.plugins.csi.services import DriverObjects
from mooring.plugins.registry import Registry, built_in
from mooring.plugins.table import render
from mooring.plugins.volume_host import Host
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.world import a_host

FILE = Path(__file__).parents[3] / "docs" / "plugins.md"


def registry_of(host: Host) -> Registry:
    """As a node has it; nobody is asked for anything."""
    nobody = object()
    csi = CsiPlugin(host, cast(Client, nobody), cast(Drivers, nobody), cast(DriverObjects, nobody))
    return built_in(host, csi=csi)


if __name__ == "__main__":
    FILE.write_text(render(registry_of(a_host(Path("/nowhere"), FakeMounts()))))
