"""Asking FlexVolume drivers now and then whether what they attached still is.

Somebody else may have detached it. Then it is attached again, for the pods that want it; what no
pod wants any more is left to be detached. A driver that cannot say, or fails, changes nothing.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from mooring import log
from mooring.clock import Clock
from mooring.controllers.attachment.desired import Desired
from mooring.controllers.attachment.flex import FlexAttachments
from mooring.controllers.attachment.resolve import AttachableVolume
from mooring.plugins.flex.names import FlexName

_log = log.get("mooring.attachment")

PERIOD_SECONDS: Final = 60.0
AT_ONCE = 32  # drivers that run


class FlexVerification:
    def __init__(
        self, clock: Clock, desired: Desired, flex: FlexAttachments, wake: Callable[[str], None]
    ) -> None:
        self._clock = clock
        self._desired = desired
        self._flex = flex
        self._wake = wake
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        while True:
            await self._clock.sleep(PERIOD_SECONDS)
            pairs = [(volume, node) for volume, node in self._desired.pairs() if volume.flex]
            await asyncio.gather(*(self._verify(volume, node) for volume, node in pairs))

    async def _verify(self, volume: AttachableVolume, node: str) -> None:
        name, use = volume.csi, volume.flex
        if not isinstance(name, FlexName) or use is None:
            return
        async with self._turns:
            is_gone = await self._flex.is_gone(name, use, node)
        if is_gone:
            _log.warning("volume is not attached any more", volume=volume.label, node=node)
            self._wake(volume.name)
