"""Spans of a running process: its CSI calls, and in `mooring up` the start of every pod.

What cannot be sent is dropped and said: a collector that is away costs nobody anything else.
"""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from mooring import log
from mooring.client.connect import connect
from mooring.client.contract import EVERYTHING
from mooring.clock import Clock, RealClock
from mooring.csi.call_log import CALLS, CallLog
from mooring.csi.call_query import shown
from mooring.errors import MooringError, UsageError
from mooring.host.blocking import in_thread, within_own
from mooring.model.condition import is_condition_true
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.reconcile.reflector import Reflector
from mooring.reconcile.worker import lasting
from mooring.stack.otlp import NotSent, Send, is_configured, open_exporter
from mooring.stack.timeline import Subject, read_picture
from mooring.timeline.decide import decide_timeline
from mooring.timeline.spans import Span, span_of_call, spans_of_timeline

BATCH_SECONDS = 2.0  # from the first news to the sending of a batch
MOST_AT_ONCE = 512  # spans of a batch
MOST_PODS = 1000  # that became ready and are not sent yet; more are not sent

_log = log.get("mooring.spans")

Run = Callable[[], Awaitable[None]]


def span_exports(
    service: str, environment: Mapping[str, str], kubeconfig: Path | None = None
) -> dict[str, Run]:
    """What is to run beside the roles, by name; nothing where nobody wants spans.

    With `kubeconfig`, that of this process's own API server, also the starts of pods.
    """
    if not is_configured(environment):
        return {}
    try:
        send = open_exporter(service)
    except UsageError as error:
        _log.warning("no spans are sent", because=error)
        return {}
    clock = RealClock()
    runs: dict[str, Run] = {"spans of calls": CallSpans(send, clock).run}
    if kubeconfig is not None:
        runs["spans of pods"] = PodSpans(send, clock, kubeconfig).run
    return {name: partial(lasting, name, clock, run) for name, run in runs.items()}


async def _send(send: Send, spans: Sequence[Span]) -> None:
    if not spans:
        return
    try:
        with within_own("OpenTelemetry"):
            await in_thread(send, spans)
    except (NotSent, MooringError) as error:
        _log.warning("spans were dropped", because=error)


class CallSpans:
    """The log of calls is the queue: what it no longer keeps is not sent."""

    def __init__(self, send: Send, clock: Clock, calls: CallLog = CALLS) -> None:
        self._send = send
        self._clock = clock
        self._calls = calls
        self._sent = calls.finished

    async def run(self) -> None:
        news = asyncio.Event()
        forget = self._calls.subscribe(news.set)
        try:
            while True:
                await news.wait()
                await self._clock.sleep(BATCH_SECONDS)
                news.clear()
                while batch := self._calls.done(self._sent)[:MOST_AT_ONCE]:
                    self._sent = batch[-1].number
                    process = self._calls.process
                    spans = [span_of_call(shown(call, 0.0), process) for call in batch]
                    await _send(self._send, spans)
        finally:
            forget()


class PodSpans:
    """The timeline of each pod that becomes ready for the first time."""

    def __init__(self, send: Send, clock: Clock, kubeconfig: Path) -> None:
        self._send = send
        self._clock = clock
        self._kubeconfig = kubeconfig
        self._ready: asyncio.Queue[Key] = asyncio.Queue(MOST_PODS)

    async def run(self) -> None:
        rng = random.Random()  # noqa: S311  spreads retries
        async with connect(self._kubeconfig, self._clock) as client, asyncio.TaskGroup() as tasks:
            pods = Reflector(client, Pod, EVERYTHING, self._clock, rng)
            pods.on_change(self.changed)
            tasks.create_task(pods.run())
            while True:
                key = await self._ready.get()
                await self._clock.sleep(BATCH_SECONDS)  # its events are written by then
                subject = Subject("pod", key.name, key.namespace)
                try:
                    picture = await read_picture(client, subject, self._clock)
                except MooringError as error:  # it is gone by now
                    _log.info("no spans of a pod", pod=key, because=error)
                    continue
                await _send(self._send, list(spans_of_timeline(decide_timeline(picture))))

    def changed(self, before: Pod | None, after: Pod | None) -> None:
        """For a Reflector. Pods that were ready when it began are not sent."""
        if before is None or after is None or _is_ready(before) or not _is_ready(after):
            return
        if any(status.restart_count for status in after.status.container_statuses):
            return  # it was ready before
        if not self._ready.full():
            self._ready.put_nowait(after.key)


def _is_ready(pod: Pod) -> bool:
    return is_condition_true(pod.status.conditions, "Ready")


def exports_of(service: str, kubeconfig: Path | None = None) -> dict[str, Run]:
    """By the environment of this process."""
    return span_exports(service, os.environ, kubeconfig)
