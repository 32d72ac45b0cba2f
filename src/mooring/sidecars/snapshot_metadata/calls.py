"""The gRPC service `snapshotmetadata.SnapshotMetadata`: checks a call, then hands the driver on."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Protocol, TypeVar

import grpc
import msgspec
from google.protobuf.message import Message
from prometheus_client import Histogram

from mooring import log
from mooring.clock import Clock
from mooring.csi.outcome import Code, Done
from mooring.csi.proto import snapshotmetadata_pb2 as api
from mooring.csi.snapshot_metadata import Blocks, Part, SnapshotMetadata
from mooring.sidecars.snapshot_metadata.decide import check_complete
from mooring.sidecars.snapshot_metadata.effects import Questions
from mooring.sidecars.snapshot_metadata.view import Asked, CallRefused

SESSION_SECONDS = 600.0
CHECK_SECONDS = 60.0
MOST_AT_ONCE = 64  # calls of all clients together

M = TypeVar("M", bound=Message)

_log = log.get("mooring.sidecars")
_CODES = {each.value[0]: each for each in grpc.StatusCode}


class Context(Protocol):
    """The used part of gRPC's servicer context."""

    async def write(self, message: Message) -> None: ...

    async def abort(self, code: grpc.StatusCode, details: str) -> None: ...


class Limits(msgspec.Struct, frozen=True):
    session_seconds: float = SESSION_SECONDS  # of a whole call
    check_seconds: float = CHECK_SECONDS  # until the driver is asked
    most_at_once: int = MOST_AT_ONCE


class MetadataCalls:
    """The servicer. `driver` is empty as long as none has answered."""

    def __init__(
        self,
        questions: Questions,
        blocks: SnapshotMetadata,
        limits: Limits,
        seconds: Histogram,
        clock: Clock,
    ) -> None:
        self.driver = ""
        self._questions = questions
        self._blocks = blocks
        self._limits = limits
        self._seconds = seconds
        self._clock = clock
        self._running = 0

    async def GetMetadataAllocated(
        self, request: api.GetMetadataAllocatedRequest, context: Context
    ) -> None:
        asked = Asked(
            request.security_token,
            request.namespace,
            request.snapshot_name,
            starting_offset=request.starting_offset,
            max_results=request.max_results,
        )
        await self._answer("GetMetadataAllocated", asked, context, _allocated)

    async def GetMetadataDelta(
        self, request: api.GetMetadataDeltaRequest, context: Context
    ) -> None:
        asked = Asked(
            request.security_token,
            request.namespace,
            request.target_snapshot_name,
            request.base_snapshot_id,
            request.starting_offset,
            request.max_results,
        )
        await self._answer("GetMetadataDelta", asked, context, _changed)

    async def _answer(
        self, method: str, asked: Asked, context: Context, message: Callable[[Blocks], Message]
    ) -> None:
        began, code = self._clock.monotonic(), Code.CANCELLED
        try:
            async with self._admitted():
                await self._stream(asked, context, message)
            code = Code.OK
        except CallRefused as refused:
            code = refused.code
            _log.info("a call was refused", call=method, code=code.label, about=asked)
            await context.abort(_CODES[code], refused.text)
        finally:
            took = self._clock.monotonic() - began
            self._seconds.labels(method, code.label).observe(took)

    @asynccontextmanager
    async def _admitted(self) -> AsyncIterator[None]:
        """One of the calls that there may be at once, for as long as one may last."""
        if self._running >= self._limits.most_at_once:
            text = f"{self._running} calls are being answered: try again later"
            raise CallRefused(Code.RESOURCE_EXHAUSTED, text)
        self._running += 1
        limit = self._limits.session_seconds
        try:
            async with asyncio.timeout(limit):
                yield
        except TimeoutError as error:
            text = f"the call took longer than {limit:g} s: go on after the last range"
            raise CallRefused(Code.DEADLINE_EXCEEDED, text) from error
        finally:
            self._running -= 1

    async def _stream(
        self, asked: Asked, context: Context, message: Callable[[Blocks], Message]
    ) -> None:
        check_complete(asked)
        driver = self.driver
        if not driver:
            raise CallRefused(Code.UNAVAILABLE, "the CSI driver is not yet ready")
        try:
            async with asyncio.timeout(self._limits.check_seconds):
                await self._questions.admit(asked, driver)
                target = await self._questions.find_target(asked, driver)
        except TimeoutError as error:
            raise CallRefused(Code.UNAVAILABLE, "the API server does not answer") from error
        within = self._limits.session_seconds
        part = Part(asked.starting_offset, asked.max_results)
        if asked.base is None:
            stream = self._blocks.allocated(target.handle, part, target.secrets, within=within)
        else:
            stream = self._blocks.delta(
                asked.base, target.handle, part, target.secrets, within=within
            )
        async with aclosing(stream):
            async for outcome in stream:
                if not isinstance(outcome, Done):
                    raise _failed(outcome.code, outcome.message)
                await context.write(message(outcome.value))


def _failed(code: Code | None, text: str) -> CallRefused:
    """The driver's own code, unless it says nothing."""
    if code is None or code is Code.UNKNOWN:
        return CallRefused(Code.INTERNAL, f"failed to get response from CSI driver: {text}")
    return CallRefused(code, text)


def _allocated(blocks: Blocks) -> Message:
    return api.GetMetadataAllocatedResponse(
        block_metadata_type=api.BlockMetadataType.Name(int(blocks.type)),
        volume_capacity_bytes=blocks.volume_capacity_bytes,
        block_metadata=_ranges(blocks),
    )


def _changed(blocks: Blocks) -> Message:
    return api.GetMetadataDeltaResponse(
        block_metadata_type=api.BlockMetadataType.Name(int(blocks.type)),
        volume_capacity_bytes=blocks.volume_capacity_bytes,
        block_metadata=_ranges(blocks),
    )


def _ranges(blocks: Blocks) -> list[api.BlockMetadata]:
    return [
        api.BlockMetadata(byte_offset=each.byte_offset, size_bytes=each.size_bytes)
        for each in blocks.ranges
    ]
