"""Sending spans by OTLP, with the library of OpenTelemetry: the extra `otel`.

Configured by the library's own variables: OTEL_EXPORTER_OTLP_ENDPOINT and its relatives. Nothing of
it is imported before it is used.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from mooring import __version__
from mooring.errors import MooringError, UsageError
from mooring.timeline.spans import Span

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
REMEDY = "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"

Send = Callable[[Sequence[Span]], None]
"""Blocks; raises: NotSent."""


class NotSent(MooringError):
    """The collector did not take the spans."""


def is_configured(environment: Mapping[str, str]) -> bool:
    """Whether somebody is named who wants spans."""
    is_off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not is_off and any(environment.get(name) for name in ENDPOINTS)


def open_exporter(service: str) -> Send:
    """Raises: UsageError when the library is not installed, or its variables make no sense."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.trace.export import SpanExportResult
        from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
    except ImportError as error:
        raise UsageError(f"spans need the library of OpenTelemetry: {REMEDY}") from error
    try:
        exporter = OTLPSpanExporter()
        name = os.environ.get("OTEL_SERVICE_NAME") or service
        resource = Resource.create({SERVICE_NAME: name, SERVICE_VERSION: __version__})
    except ValueError as error:
        raise UsageError(f"the variables of OpenTelemetry cannot be used: {error}") from error
    sampled = TraceFlags(TraceFlags.SAMPLED)

    def context(trace_id: int, span_id: int) -> SpanContext:
        return SpanContext(trace_id, span_id, is_remote=False, trace_flags=sampled)

    def made(span: Span) -> ReadableSpan:
        parent = context(span.trace_id, span.parent_id) if span.parent_id else None
        status = Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.OK)
        is_call = "rpc.system" in span.attributes
        return ReadableSpan(
            span.name,
            context(span.trace_id, span.span_id),
            parent,
            resource,
            dict(span.attributes),
            kind=SpanKind.CLIENT if is_call else SpanKind.INTERNAL,
            status=status,
            start_time=_nanoseconds(span.began),
            end_time=_nanoseconds(span.ended),
        )

    def send(spans: Sequence[Span]) -> None:
        if exporter.export([made(span) for span in spans]) is not SpanExportResult.SUCCESS:
            raise NotSent(f"{len(spans)} spans were not taken by the collector")

    return send


def _nanoseconds(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return since // timedelta(microseconds=1) * 1000
