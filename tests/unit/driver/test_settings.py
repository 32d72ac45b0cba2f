from pathlib import Path

import pytest

from mooring.driver.settings import NAME, TOPOLOGY_KEY, Settings, checked
from mooring.errors import UsageError
from mooring.model.names import csi_driver_name, qualified_name

HERE = Path("/state")

REFUSED = {
    "no node": (Settings("", HERE), "--node-id"),
    "a node that cannot be a topology": (Settings("a b", HERE), "--node-id"),
    "a node with a name too long for one": (Settings("n" * 64, HERE), "--node-id"),
    "a negative limit": (Settings("n1", HERE, max_volumes=-1), "--max-volumes"),
    "no time to stand still": (Settings("n1", HERE, freeze_seconds=0), "--freeze-seconds"),
    "a time without end": (Settings("n1", HERE, freeze_seconds=601), "--freeze-seconds"),
    "no number": (Settings("n1", HERE, freeze_seconds=float("nan")), "--freeze-seconds"),
    "no bytes to promise": (Settings("n1", HERE, overcommit=0), "--overcommit"),
}


@pytest.mark.parametrize(("settings", "flag"), REFUSED.values(), ids=REFUSED)
def test_what_a_driver_cannot_run_with(settings: Settings, flag: str) -> None:
    with pytest.raises(UsageError, match=flag):
        checked(settings)


def test_what_it_can_run_with() -> None:
    settings = Settings("node-1.example", HERE, 10, 2.5)
    assert checked(settings) is settings


def test_its_names_are_names() -> None:
    assert list(csi_driver_name(NAME)) == []
    assert list(qualified_name(TOPOLOGY_KEY)) == []
