"""Timelines and CSI calls as spans of OpenTelemetry, before the library is asked for. Pure.

The ids of a trace and of its spans follow from the uids of objects: a span that is sent twice is
the same span, and the calls of a pod are in the trace of its timeline.
"""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from mooring.csi.call_record import CsiCall, Process
from mooring.csi.outcome import Code
from mooring.timeline.steps import StepState, Timeline

_NUMBERS = {code.label: int(code) for code in Code}


class Span(msgspec.Struct, frozen=True):
    name: str
    trace_id: int  # 128 bits, not zero
    span_id: int  # 64 bits, not zero
    began: datetime
    ended: datetime
    parent_id: int = 0  # 0: it has none
    attributes: Mapping[str, str | int | bool] = {}
    error: str = ""  # empty: it succeeded


def spans_of_timeline(timeline: Timeline) -> Iterator[Span]:
    """One over all of it, and one for each step whose end is known."""
    start = timeline.start
    if start is None:
        return
    trace = timeline.uid or timeline.subject
    root = _id(trace, 64)
    named = {"mooring.object": timeline.subject}
    ended = timeline.end or timeline.now
    yield Span(f"start {timeline.subject}", _id(trace, 128), root, start, ended, 0, named)
    for step in timeline.steps:
        if step.ended is None or step.state is not StepState.DONE or not timeline.counts(step):
            continue
        began = step.ended.at if step.began is None else min(step.began.at, step.ended.at)
        attributes: dict[str, str | int | bool] = {
            "mooring.object": step.object,
            "mooring.source": step.source,
            "mooring.exact": step.is_exact,
        }
        if step.tries:
            attributes["mooring.tries"] = step.tries
        own = _id(f"{trace} {step.name.value} {step.object}", 64)
        yield Span(step.name.value, _id(trace, 128), own, began, step.ended.at, root, attributes)


def span_of_call(call: CsiCall, process: Process) -> Span:
    """Of a call that has ended."""
    because = call.because
    own = f"{process.id} {call.id}"
    trace = because.uid if because is not None and because.uid else own
    attributes: dict[str, str | int | bool] = {
        "rpc.system": "grpc",
        "rpc.service": call.service,
        "rpc.method": call.method,
        "csi.driver": call.driver,
        "csi.volume": call.volume,
        "mooring.asked_by": call.asked_by,
    }
    if call.code in _NUMBERS:
        attributes["rpc.grpc.status_code"] = _NUMBERS[call.code]
    if because is not None:
        attributes["k8s.object.kind"] = because.kind
        attributes["k8s.object.name"] = because.name
        attributes["k8s.namespace.name"] = because.namespace
    known = {name: value for name, value in attributes.items() if value != ""}
    return Span(
        f"{call.service}/{call.method}",
        _id(trace, 128),
        _id(own, 64),
        call.started,
        call.ended,
        _id(trace, 64) if trace != own else 0,
        known,
        "" if call.code == "OK" else call.code,
    )


def _id(seed: str, bits: int) -> int:
    digest = hashlib.sha256(f"mooring {bits} {seed}".encode()).digest()
    return int.from_bytes(digest[: bits // 8], "big") or 1
