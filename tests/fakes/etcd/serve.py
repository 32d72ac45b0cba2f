"""The fake etcd on a port, for clients that speak gRPC."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeAlias

import grpc
import grpc.aio

from mooring.apiserver.store.etcd.failure import Failed
from mooring.apiserver.store.etcd.proto.etcd_pb2 import WatchRequest, WatchResponse
from mooring.apiserver.store.etcd.wire import (
    COMPACT,
    LEASE_GRANT,
    RANGE,
    TXN,
    Method,
)
from tests.fakes.etcd.data import Data
from tests.fakes.etcd.member import FakeMember

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


@asynccontextmanager
async def serving_etcd(data: Data) -> AsyncIterator[str]:
    """Its address."""
    member = FakeMember(data)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(tuple(_Handlers(member).generic()))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await member.close()
        await server.stop(0)


class _Handlers:
    def __init__(self, member: FakeMember) -> None:
        self._member = member

    def generic(self) -> "list[grpc.GenericRpcHandler]":
        watching = grpc.stream_stream_rpc_method_handler(
            self._watch,
            request_deserializer=WatchRequest.FromString,
            response_serializer=WatchResponse.SerializeToString,
        )
        by_service: dict[str, dict[str, Any]] = {"etcdserverpb.Watch": {"Watch": watching}}
        for method in (RANGE, TXN, COMPACT, LEASE_GRANT):
            service, name = method.path[1:].split("/")
            by_service.setdefault(service, {})[name] = self._answering(method)
        return [
            grpc.method_handlers_generic_handler(service, methods)
            for service, methods in by_service.items()
        ]

    def _answering(self, method: Method[Any, Any]) -> Any:
        async def answer(request: Any, context: Context) -> Any:
            try:
                return await self._member.call(method, request, 0)
            except Failed as failed:
                await context.abort(failed.code, failed.text)

        return grpc.unary_unary_rpc_method_handler(
            answer,
            request_deserializer=method.request.FromString,
            response_serializer=method.reply.SerializeToString,
        )

    async def _watch(
        self, requests: AsyncIterator[WatchRequest], _: Context
    ) -> AsyncIterator[WatchResponse]:
        stream = self._member.watch()

        async def listen() -> None:
            async for request in requests:
                await stream.send(request)

        listening = asyncio.create_task(listen())
        try:
            with suppress(Failed):
                while True:
                    yield await stream.receive()
        finally:
            listening.cancel()
            stream.close()


@contextmanager
def etcd_process() -> Iterator[str]:
    """The address of one in a process of its own; it ends with the block."""
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().decode().strip()
        finally:
            process.stdin.close()
            process.wait(20)


async def _main() -> None:
    async with serving_etcd(Data()) as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main())
