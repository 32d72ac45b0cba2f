"""Steps of a plan, carried out in order up to the first that fails.

Writes are made at once. What a plugin does takes its time: it is started as an operation, of which
there is one at a time for an object, and which is put off after a failure.
"""

from functools import partial

from mooring.controllers.binding.context import BinderContext, OperationKey
from mooring.controllers.binding.effects.provision import ProvisionOperation
from mooring.controllers.binding.effects.reclaim import ReclaimOperations
from mooring.controllers.binding.effects.writes import Writes
from mooring.controllers.binding.metrics import DELETE, PROVISION, RECYCLE
from mooring.controllers.binding.plan import Delete, Plan, Provision, Recycle
from mooring.model.keys import Key


class Effects:
    def __init__(self, context: BinderContext) -> None:
        self._operations = context.operations
        self._provision = ProvisionOperation(context)
        self._reclaim = ReclaimOperations(context)

    async def carry_out(self, plan: Plan, writes: Writes) -> None:
        """Raises: ApiError and ConnectionLost from a write, NotNow; later steps are left out."""
        for step in plan.steps:
            match step:
                case Provision():
                    self._start_provision(step)
                case Delete():
                    self._start_delete(step)
                case Recycle():
                    self._start_recycle(step)
                case _:
                    await writes.carry_out(step, plan.because)

    def _start_provision(self, order: Provision) -> None:
        key = OperationKey(PROVISION, order.claim, order.uid)
        self._operations.start(key, partial(self._provision.run, order))

    def _start_delete(self, order: Delete) -> None:
        self._reclaim.measure_delete(order)
        if not order.is_external:  # else its own provisioner sees that it is released
            key = OperationKey(DELETE, Key("", order.volume), order.uid)
            self._operations.start(key, partial(self._reclaim.delete, order))

    def _start_recycle(self, order: Recycle) -> None:
        key = OperationKey(RECYCLE, Key("", order.volume), order.uid)
        self._operations.start(key, partial(self._reclaim.recycle, order))
