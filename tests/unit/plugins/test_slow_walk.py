"""A pod hears when giving its files to its group takes long."""

import asyncio
from pathlib import Path

from mooring.plugins.slow_walk import SlowWalk
from tests.fakes.clock import VirtualClock, settle
from tests.unit.plugins.world import Told

PATH = Path("/node/pods/u1/volumes/kubernetes.io~local-volume/pv1")
SHOWN = "u1/volumes/kubernetes.io~local-volume/pv1"


async def test_a_walk_is_slow_after_half_a_minute_and_tells_every_minute() -> None:
    told, clock = Told(), VirtualClock()
    heard = SlowWalk(told, clock, PATH, "u1")
    for seconds, entries in ((29, 1000), (1, 2000), (59, 3000), (1, 4000), (30, 5000)):
        await clock.advance(seconds)
        await asyncio.to_thread(heard, entries)
    await settle()
    assert [(kind, reason) for kind, reason, _ in told.events] == [
        ("Warning", "VolumePermissionChangeInProgress")
    ] * 2
    texts = [text for _, _, text in told.events]
    assert texts[0].startswith(
        f"Setting volume ownership for {SHOWN} is taking longer than expected, "
        "consider using OnRootMismatch - "
    )
    assert texts[1] == f"Setting volume ownership for {SHOWN}, processed 4000 files."
