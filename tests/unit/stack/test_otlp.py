"""Spans by OTLP: what a collector gets, and what happens where there is none."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from mooring.clock import RealClock
from mooring.csi.call_log import CallLog
from mooring.csi.cause import asked_by
from mooring.errors import UsageError
from mooring.model.pod import Pod
from mooring.model.wire import json_decoder
from mooring.stack.otlp import ENDPOINTS, NotSent, is_configured, open_exporter
from mooring.stack.span_export import BATCH_SECONDS, CallSpans, PodSpans, span_exports
from mooring.timeline.decide import decide_timeline
from mooring.timeline.spans import Span, spans_of_timeline
from tests.fakes.clock import VirtualClock, settle
from tests.unit.timeline.pictures import a_picture

ENDPOINT = ENDPOINTS[1]


class Collector:
    """Takes what is posted, and answers with `code`."""

    def __init__(self) -> None:
        self.code = 200
        self.bodies: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                collector.bodies.append(self.rfile.read(length))
                self.send_response(collector.code)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever, args=(0.01,))
    thread.start()
    for name in ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(ENDPOINT, collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "5")
    yield collector
    collector.server.shutdown()
    thread.join()
    collector.server.server_close()


def test_the_collector_gets_every_step_with_its_times(collector: Collector) -> None:
    spans = list(spans_of_timeline(decide_timeline(a_picture())))
    open_exporter("mooring-test")(spans)
    (body,) = collector.bodies
    (resource,) = ExportTraceServiceRequest.FromString(body).resource_spans
    said = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert said["service.name"] == "mooring-test"
    got = [span for scope in resource.scope_spans for span in scope.spans]
    assert [span.name for span in got] == [span.name for span in spans]
    staged = next(span for span in got if span.name == "staged")
    assert staged.end_time_unix_nano - staged.start_time_unix_nano == 500_000_000
    assert staged.parent_span_id == got[0].span_id
    assert staged.trace_id == got[0].trace_id


def test_a_collector_that_refuses_is_an_error_in_one_line(collector: Collector) -> None:
    collector.code = 400
    with pytest.raises(NotSent, match="spans were not taken by the collector"):
        open_exporter("mooring-test")(list(spans_of_timeline(decide_timeline(a_picture()))))


@pytest.mark.parametrize(
    ("environment", "configured"),
    [
        ({}, False),
        ({ENDPOINT: ""}, False),
        ({ENDPOINT: "http://c:4318"}, True),
        ({ENDPOINTS[0]: "http://c:4318/v1/traces"}, True),
        ({ENDPOINT: "http://c:4318", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_spans_are_sent_where_somebody_is_named(
    environment: dict[str, str], *, configured: bool
) -> None:
    assert is_configured(environment) is configured
    assert bool(span_exports("mooring-test", environment)) is configured


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(UsageError, match="pip install opentelemetry-sdk opentelemetry-exporter"):
        open_exporter("mooring-test")
    assert span_exports("mooring-test", {ENDPOINT: "http://c:4318"}) == {}


async def test_calls_are_sent_in_batches_and_a_refusal_stops_nothing() -> None:
    clock, log, sent = VirtualClock(), CallLog(), list[list[str]]()
    answers = iter((NotSent("away"), None))

    def send(spans: "list[Span]") -> None:
        sent.append([span.name for span in spans])
        if (error := next(answers)) is not None:
            raise error

    def one() -> None:
        with asked_by("node"):
            call = log.begin("d", "/csi.v1.Identity/Probe", clock.now(), 0.0)
            log.end(call, "OK", 0.5)

    one()  # before: not sent
    running = asyncio.create_task(CallSpans(send, clock, log).run())  # type: ignore[arg-type]
    await settle()
    for calls in (2, 1):
        for _ in range(calls):
            one()
        await clock.advance(BATCH_SECONDS)
        async with asyncio.timeout(30):
            while len(sent) < 3 - calls:
                await asyncio.wait([running], timeout=0.01)
    running.cancel()
    await asyncio.wait([running])
    assert sent == [["csi.v1.Identity/Probe"] * 2, ["csi.v1.Identity/Probe"]]


def test_a_pod_is_sent_when_it_becomes_ready_for_the_first_time(tmp_path: Path) -> None:
    def pod(status: str, restarts: int = 0) -> Pod:
        doc = {
            "metadata": {"name": "web", "namespace": "a"},
            "spec": {"containers": []},
            "status": {
                "conditions": [{"type": "Ready", "status": status}],
                "containerStatuses": [{"name": "c", "restartCount": restarts}],
            },
        }
        return json_decoder(Pod).decode(json.dumps(doc))

    spans = PodSpans(lambda _: None, RealClock(), tmp_path / "kubeconfig")
    for before, after in (
        (None, pod("True")),
        (pod("True"), pod("True")),
        (pod("False"), None),
        (pod("False"), pod("True", restarts=1)),
    ):
        spans.changed(before, after)
    assert spans._ready.empty()
    spans.changed(pod("False"), pod("True"))
    assert spans._ready.get_nowait().name == "web"
