from pathlib import Path

import pytest

from mooring.driver.settings import NAME, TOPOLOGY_KEY, DriverSettings, checked
from mooring.errors import UsageError
from mooring.model.names import csi_driver_name, qualified_name

HERE = Path("/state")

REFUSED = {
    "no node": (DriverSettings("", HERE), "--node-id"),
    "a node that cannot be a topology": (DriverSettings("a b", HERE), "--node-id"),
    "a node with a name too long for one": (DriverSettings("n" * 64, HERE), "--node-id"),
    "a negative limit": (DriverSettings("n1", HERE, max_volumes=-1), "--max-volumes"),
    "no time to stand still": (DriverSettings("n1", HERE, freeze_seconds=0), "--freeze-seconds"),
    "a time without end": (DriverSettings("n1", HERE, freeze_seconds=601), "--freeze-seconds"),
    "no number": (DriverSettings("n1", HERE, freeze_seconds=float("nan")), "--freeze-seconds"),
    "no bytes to promise": (DriverSettings("n1", HERE, overcommit=0), "--overcommit"),
}


@pytest.mark.parametrize(("settings", "flag"), REFUSED.values(), ids=REFUSED)
def test_what_a_driver_cannot_run_with(settings: DriverSettings, flag: str) -> None:
    with pytest.raises(UsageError, match=flag):
        checked(settings)


def test_what_it_can_run_with() -> None:
    settings = DriverSettings("node-1.example", HERE, 10, 2.5)
    assert checked(settings) is settings


def test_its_names_are_names() -> None:
    assert list(csi_driver_name(NAME)) == []
    assert list(qualified_name(TOPOLOGY_KEY)) == []
