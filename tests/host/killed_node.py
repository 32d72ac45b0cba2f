"""Nodes that are killed in the middle of their work: each a process of its own.

Run as a program it is a server of `killing`.
"""

import asyncio

import msgspec

from tests.host.killing import KilledMounts, Steps, serve
from tests.host.node_life import Life, Scene

MARKER = "marker"


class Order(msgspec.Struct, frozen=True):
    """Bring the pod its volume; or bring it in peace, and then put it away."""

    scene: Scene
    is_leaving: bool
    cut: int  # before which change to die; 0: none


async def live(order: Order) -> int:
    """How many changes it took."""
    steps = Steps(order.scene.root, order.cut, is_armed=not order.is_leaving)
    life = Life(order.scene, KilledMounts(steps))
    async with life.running(has_pod=True):
        files = await life.bring()
        if order.is_leaving:
            if files is not None and order.scene.kind.is_kept:
                (files / MARKER).write_text("kept")
            steps.is_armed = True
            await life.put_away()
        steps.is_armed = False
    return steps.count


if __name__ == "__main__":
    serve(Order, lambda order: asyncio.run(live(order)))
