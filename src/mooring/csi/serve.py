"""Services on a socket: what a driver and a registrar offer."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import grpc.aio
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass

from mooring.csi.channel import LARGEST_MESSAGE
from mooring.errors import UsageError

LONGEST_PATH = 107  # bytes; the kernel takes 108, the last of which is a zero

_OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_MESSAGE),
    ("grpc.max_send_message_length", LARGEST_MESSAGE),
)


@asynccontextmanager
async def serving(
    socket: Path, services: Mapping[ServiceDescriptor, object], *, grace: float = 0.0
) -> AsyncIterator[None]:
    """Serve on `socket` inside this block; only the owner may connect.

    A servicer has one method per RPC, called like it: `async def Probe(self, request, context)`.
    What it lacks is answered with UNIMPLEMENTED. On leaving, calls get `grace` seconds to end, and
    the socket is removed. A socket that an earlier process left behind is replaced.
    Raises: UsageError when the socket cannot be had.
    """
    server = grpc.aio.server(options=_OPTIONS)
    server.add_generic_rpc_handlers(handlers_of(services))
    _listen(server, socket)
    await server.start()
    try:
        yield
    finally:
        await server.stop(grace)  # removes the socket too


def handlers_of(
    services: Mapping[ServiceDescriptor, object],
) -> tuple[grpc.GenericRpcHandler, ...]:
    """Of servicers as `serving` takes them."""
    return tuple(_handler(service, servicer) for service, servicer in services.items())


def _listen(server: grpc.aio.Server, socket: Path) -> None:
    if len(os.fsencode(socket)) > LONGEST_PATH:
        raise UsageError(f"{socket} is too long for a socket: at most {LONGEST_PATH} bytes work")
    try:
        server.add_insecure_port(f"unix:{quote(str(socket))}")
        socket.chmod(0o600)
    except (RuntimeError, OSError) as error:
        raise UsageError(f"cannot listen on {socket}: {error}") from error


def _handler(service: ServiceDescriptor, servicer: object) -> grpc.GenericRpcHandler:
    offered = {
        method.name: _method_handler(method, servicer)
        for method in service.methods
        if hasattr(servicer, method.name)
    }
    return grpc.method_handlers_generic_handler(service.full_name, offered)


def _method_handler(method: MethodDescriptor, servicer: object) -> grpc.RpcMethodHandler:
    make = (
        grpc.unary_stream_rpc_method_handler
        if method.server_streaming
        else grpc.unary_unary_rpc_method_handler
    )
    return make(
        getattr(servicer, method.name),
        request_deserializer=GetMessageClass(method.input_type).FromString,
        response_serializer=GetMessageClass(method.output_type).SerializeToString,
    )
