"""The disruption controller at work: budgets wake it, and so do the pods that they cover."""

from typing import Final

from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.controllers.disruption_budget.decide import decide, seconds_until_expiry
from mooring.controllers.disruption_budget.effects import Effects
from mooring.controllers.disruption_budget.view import BudgetView, needs_scale
from mooring.controllers.options import Options
from mooring.model.disruption_budget import DisruptionBudget
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.reconcile.informer import Informer
from mooring.reconcile.loops import Loops
from mooring.reconcile.queue import KeyedQueue
from mooring.reconcile.recorder import Recorder
from mooring.reconcile.worker import Again, Settled, Verdict, work

COMPONENT: Final = "controllermanager"
"""The reporting component of its events, as upstream has it."""

WORKERS = 2
_PODS = "disruption budget: pods by namespace"
_BUDGETS = "disruption budget: budgets by namespace"


def build(loops: Loops, _: Options) -> None:
    """Add the disruption controller to the role."""
    budgets, pods = loops.informer(DisruptionBudget), loops.informer(Pod)
    recorder = loops.recorder(COMPONENT)
    controller = Disruption(loops.client, loops.clock, recorder, budgets, pods)
    loops.add(controller.run, {controller.queue_name: controller.queue})


class Disruption:
    """The informers are shared, and run by the role."""

    queue_name: Final = "disruption"

    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: Recorder,
        budgets: Informer[DisruptionBudget],
        pods: Informer[Pod],
    ) -> None:
        self.queue: KeyedQueue[Key] = KeyedQueue(clock)
        self._clock = clock
        self._budgets = budgets
        self._pods = pods
        self._effects = Effects(client, recorder, budgets)
        budgets.add_index(_BUDGETS, lambda budget: [budget.namespace])
        pods.add_index(_PODS, lambda pod: [pod.namespace])
        budgets.on_change(self._on_budget)
        pods.on_change(self._on_pod)

    async def run(self) -> None:
        await work((self._budgets, self._pods), self.queue, self.reconcile, WORKERS)

    async def reconcile(self, key: Key) -> Verdict:
        budget = self._budgets.get(key)
        if budget is None or budget.is_deleting:
            return Settled()
        pods = tuple(p for p in self._pods.by_index(_PODS, key.namespace) if budget.covers(p))
        scales = await self._effects.find_scales(pods) if needs_scale(budget) else {}
        view = BudgetView(budget, pods, scales, self._clock.now())
        await self._effects.perform(decide(view))
        wait = seconds_until_expiry(view)
        return Settled() if wait is None else Again(wait + 1)

    def _on_budget(self, _: DisruptionBudget | None, after: DisruptionBudget | None) -> None:
        if after is not None:
            self.queue.add(after.key)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        known = after or before
        if known is None:
            return
        for budget in self._budgets.by_index(_BUDGETS, known.namespace):
            if any(pod is not None and budget.covers(pod) for pod in (before, after)):
                self.queue.add(budget.key)
