"""`mooring csi call`: one RPC of a driver by hand, JSON in and out, at any socket."""

import difflib
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import uvloop
from google.protobuf import json_format
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from mooring.csi.call_log import CallLog
from mooring.csi.channel import Connection, Method, target_of
from mooring.csi.outcome import TABLES, Done, Outcome
from mooring.csi.proto import csi_pb2
from mooring.csi.secrets import NO_SECRETS, Secrets
from mooring.errors import MooringError, UsageError

SECRETS = "secrets"
Take = Callable[[Mapping[str, Any]], None]


class Rpc(msgspec.Struct, frozen=True):
    service: str  # Identity, Controller, GroupController, SnapshotMetadata, Node
    name: str
    fields: tuple[str, ...]  # of the request
    streams: bool


class Asked(msgspec.Struct, frozen=True):
    socket: str
    method: str
    request: Mapping[str, Any] = {}
    secrets: Secrets = NO_SECRETS
    seconds: float = 60.0


class CallFailed(MooringError):
    """The driver, or the way to it, said no."""


def rpcs() -> tuple[Rpc, ...]:
    """Every RPC of the specification."""
    return tuple(
        Rpc(
            service.name,
            method.name,
            tuple(field.name for field in method.input_type.fields),
            method.server_streaming,
        )
        for service in csi_pb2.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    )


def run_call(asked: Asked, take: Take) -> None:
    """Each reply to `take`. Raises: UsageError, CallFailed."""

    async def run() -> None:
        async for reply in call(asked):
            take(reply)

    uvloop.run(run())


async def call(asked: Asked) -> AsyncIterator[Mapping[str, Any]]:
    """The replies, as JSON has them. Raises: UsageError, CallFailed."""
    described = find_method(asked.method)
    request = read_request(described, asked.request, asked.secrets)
    secrets = asked.secrets.merged(_secrets_in(asked.request))
    method: Method[Message, Message] = Method(
        f"/{described.containing_service.full_name}/{described.name}",
        GetMessageClass(described.input_type),
        GetMessageClass(described.output_type),
        TABLES[described.name],
    )
    _check_socket(asked.socket)
    # Not in the log of this process: nobody could read it there.
    async with Connection(asked.socket, calls=CallLog()) as connection:
        if not described.server_streaming:
            outcome = await connection.call(
                method, lambda: request, _as_json, within=asked.seconds, secrets=secrets
            )
            yield _value(described.name, outcome)
            return
        stream = connection.stream(
            method, lambda: request, _as_json, within=asked.seconds, secrets=secrets
        )
        async with aclosing(stream) as replies:
            async for each in replies:
                yield _value(described.name, each)


def find_method(name: str) -> MethodDescriptor:
    """By its name, with or without its service. Raises: UsageError."""
    last = name.replace("/", ".").rpartition(".")[2]
    for service in csi_pb2.DESCRIPTOR.services_by_name.values():
        found = service.methods_by_name.get(last)
        if found is not None and _fits(name, found):
            return found
    names = [rpc.name for rpc in rpcs()]
    near = [each for each in names if last and each.lower().startswith(last.lower())]
    near += difflib.get_close_matches(last, names, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else "see `mooring csi call SOCKET --list`"
    raise UsageError(f"CSI has no method {name}: {hint}")


def _fits(name: str, method: MethodDescriptor) -> bool:
    path = f"{method.containing_service.full_name}.{method.name}"
    asked = name.replace("/", ".").removeprefix(".")
    return path == asked or path.endswith(f".{asked}")


def read_request(
    method: MethodDescriptor, document: Mapping[str, Any], secrets: Secrets = NO_SECRETS
) -> Message:
    """Raises: UsageError, which never shows a secret."""
    message: Message = GetMessageClass(method.input_type)()
    has_secrets = SECRETS in method.input_type.fields_by_name
    given = {name: value for name, value in document.items() if name != SECRETS}
    try:
        json_format.ParseDict(given, message)
    except json_format.ParseError as error:
        why, _, listed = " ".join(str(error).split()).partition(". Available Fields")
        # of the message that the unknown field is in, which may be an inner one
        inner = [re.sub("([A-Z])", r"_\1", each).lower() for each in re.findall(r"'(\w+)'", listed)]
        known = ", ".join(inner or (field.name for field in method.input_type.fields))
        raise UsageError(f"no {method.input_type.name}: {why}; its fields: {known}") from error
    both = _secrets_in(document).merged(secrets)
    if both and not has_secrets:
        raise UsageError(f"{method.name} takes no secrets")
    if both:
        getattr(message, SECRETS).update(both.reveal())
    return message


def read_secrets(path: Path) -> Secrets:
    """A mapping of texts, in JSON or YAML. Raises: UsageError, which shows nothing of it."""
    import yaml

    try:
        found = yaml.safe_load(path.read_text())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError):
        raise UsageError(f"{path} is neither JSON nor YAML") from None
    return _secrets_of(found, str(path))


def _secrets_in(document: Mapping[str, Any]) -> Secrets:
    return _secrets_of(document.get(SECRETS, {}), SECRETS)


def _secrets_of(found: object, where: str) -> Secrets:
    if not isinstance(found, dict) or not all(
        isinstance(part, str) for pair in found.items() for part in pair
    ):
        raise UsageError(f'{where} is no mapping of texts, such as {{"password": "..."}}')
    return Secrets.of_text(found)


def _check_socket(socket: str) -> None:
    """Raises: UsageError; gRPC would try again and again."""
    target = target_of(socket)
    path = Path(socket.removeprefix("unix:").removeprefix("//"))
    if target.startswith("unix:") and not path.is_socket():
        raise UsageError(f"there is no socket at {path}: is the driver running?")


def _as_json(message: Message) -> Mapping[str, Any]:
    return json_format.MessageToDict(message)


def _value(name: str, outcome: Outcome[Mapping[str, Any]]) -> Mapping[str, Any]:
    if isinstance(outcome, Done):
        return outcome.value
    said = " ".join(outcome.message.split())
    if outcome.code is None:
        raise CallFailed(f"{name}: {said}")
    raise CallFailed(f"{name}: {outcome.code.label} ({int(outcome.code)}): {said}")
