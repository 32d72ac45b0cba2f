"""Probe workers: one per probe of every running container, from its start to its end."""

import asyncio
from collections.abc import Callable
from functools import partial

from mooring.clock import Clock
from mooring.node.pods.pod_run import PodRun
from mooring.node.pods.probes import ProbedContainer, Probes, first_health, has_probes
from mooring.node.pods.view import Health, View
from mooring.oci.contract import State
from mooring.reconcile.worker import lasting


class ProbeWorkers:
    def __init__(self, probes: Probes, clock: Clock, changed: Callable[[PodRun], None]) -> None:
        self._probes = probes
        self._clock = clock
        self._changed = changed

    def look(self, run: PodRun, view: View, tasks: asyncio.TaskGroup) -> None:
        """Begin and end probing as the view says."""
        if view.is_ending or view.is_overdue:
            self.stop(run)
            return
        running = set()
        for container in run.pod.spec.all_containers:
            found = view.newest(container.name)
            if found is None or found.state is not State.RUNNING or not has_probes(container):
                continue
            running.add(found.id)
            if found.id not in run.probing and container.name not in view.busy:
                health = run.health.setdefault(found.id, first_health(container))
                subject = ProbedContainer(run.pod, container, found, found.id in run.adopted)
                task = tasks.create_task(self._watch(run, subject, health))
                run.probing[found.id] = task
        for id in run.probing.keys() - running:
            run.probing.pop(id).cancel()

    def stop(self, run: PodRun) -> None:
        for task in run.probing.values():
            task.cancel()
        run.probing.clear()

    async def _watch(self, run: PodRun, subject: ProbedContainer, health: Health) -> None:
        report = partial(self._report, run, subject.found.id)
        watch = partial(self._probes.watch, subject, health, report)
        await lasting("probes", self._clock, watch, run.pod.key)

    def _report(self, run: PodRun, id: str, health: Health) -> None:
        run.health[id] = health
        self._changed(run)
