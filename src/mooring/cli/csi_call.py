"""`mooring csi call`: one RPC of a CSI driver by hand."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mooring.errors import UsageError

if TYPE_CHECKING:
    from mooring.csi.secrets import Secrets


def _complete_method(incomplete: str) -> list[str]:
    from mooring.stack.csi_call import rpcs

    return [rpc.name for rpc in rpcs() if rpc.name.lower().startswith(incomplete.lower())]


SocketPath = Annotated[
    str,
    typer.Argument(
        metavar="SOCKET", help="Path of the driver's socket, or unix:///path, or host:port."
    ),
]
MethodName = Annotated[
    str,
    typer.Argument(
        metavar="METHOD",
        help="NodePublishVolume, or Node.NodePublishVolume.",
        show_default=False,
        autocompletion=_complete_method,
    ),
]
Document = Annotated[
    str,
    typer.Argument(
        metavar="[JSON|-|@FILE]",
        help="The request: JSON, @FILE with JSON, or - for standard input.",
        show_default=False,
    ),
]
SecretsFile = Annotated[
    Path | None,
    typer.Option(
        help="JSON or YAML with the request's secrets, a mapping of texts.", show_default=False
    ),
]
Timeout = Annotated[str, typer.Option(help="How long to wait for the answer.")]
ListThem = Annotated[bool, typer.Option("--list", help="List all methods and their fields.")]


def call(
    socket: SocketPath,
    method: MethodName = "",
    request: Document = "",
    secrets_file: SecretsFile = None,
    timeout: Timeout = "60s",
    list_methods: ListThem = False,  # noqa: FBT002  a flag of the command line
) -> None:
    """Call a method of a CSI driver, and print its reply as JSON.

    Every RPC of the services Identity, Controller, GroupController, SnapshotMetadata and Node.
    Fields are spelt volume_id or volumeId. Each message of a stream is a line. Secrets are given
    in a file, never on the command line, which every user of this machine can read.

    Example: mooring csi call /run/csi.sock ListVolumes '{"max_entries": 5}'
    """
    from mooring.csi.call_query import read_duration
    from mooring.stack.csi_call import Asked, find_method, read_secrets, run_call

    if list_methods:
        _print_methods()
        return
    if not method:
        raise UsageError("which method? Give one of `mooring csi call SOCKET --list`")
    seconds = read_duration("--timeout", timeout)
    if seconds <= 0:
        raise UsageError("--timeout 0: give a duration such as 30s")
    secrets: Secrets | None = None if secrets_file is None else read_secrets(secrets_file)
    asked = Asked(socket, method, _read(request), seconds=seconds)
    if secrets is not None:
        import msgspec

        asked = msgspec.structs.replace(asked, secrets=secrets)
    run_call(asked, _print_line if find_method(method).server_streaming else _print_whole)


def _read(text: str) -> Mapping[str, Any]:
    """Raises: UsageError."""
    import json

    given, where = text or "{}", "the request"
    try:
        if text == "-":
            given, where = sys.stdin.read(), "standard input"
        elif text.startswith("@"):
            given, where = Path(text[1:]).read_text(), text[1:]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {text[1:] or text}: {error}") from error
    try:
        found = json.loads(given)
    except ValueError as error:
        raise UsageError(f"{where} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{where} is no JSON object, such as {{}}")
    if where == "the request" and "secrets" in found:
        raise UsageError("secrets on the command line can be read by others: use --secrets-file")
    return found


def _print_methods() -> None:
    from mooring.stack.csi_call import rpcs

    rows = [("SERVICE", "METHOD", "REQUEST")]
    rows += [(rpc.service, rpc.name, ",".join(rpc.fields) or "-") for rpc in rpcs()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        typer.echo("  ".join(padded).rstrip())


def _print_whole(reply: Mapping[str, Any]) -> None:
    import json

    typer.echo(json.dumps(reply, indent=2))


def _print_line(reply: Mapping[str, Any]) -> None:
    import json

    typer.echo(json.dumps(reply))
